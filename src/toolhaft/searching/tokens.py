r"""A valid regular expression of the dialect, cut into its tokens: enough to rewrite classes and to weigh repetitions.

The Rust crate has parsed the pattern before, so nothing here checks syntax. Two classes of token hold more than one
element: a bracket with all that is nested in it, and an escape such as `\p{Greek}`.
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""\\[pP]\{[^}]*\} | \\[pP]. | \\[xuU]\{[^}]*\} | \\x.. | \\u.... | \\U........ | \\b\{[^}]*\} | \\.
      | \(\?P?<[^>]*> | \(\?[a-zA-Z-]*[:)] | \{[^}]*\} | .""",
    re.DOTALL | re.VERBOSE,
)


def tokens(pattern: str) -> Iterator[str]:
    r"""Give the tokens of `pattern`, which together are the pattern.

    >>> list(tokens(r"(?:a|[^]\]x[:alpha:]]){2,3}\p{L}"))
    ['(?:', 'a', '|', '[^]\\]x[:alpha:]]', ')', '{2,3}', '\\p{L}']
    """
    at = 0
    while at < len(pattern):
        end = _bracket_end(pattern, at) if pattern[at] == "[" else _TOKEN.match(pattern, at).end()  # pyright: ignore
        yield pattern[at:end]
        at = end


def largest_repeat(pattern: str) -> int:
    """Give how many elements the largest counted repetition stands for: 6 for `(ab){3}`, 0 where none is counted."""
    largest = 0
    sizes = [[0]]  # for each open group the sizes of its elements so far
    for token in tokens(pattern):
        counted = re.fullmatch(r"\{(\d+)(?:,(\d*))?\}", token)
        if counted:
            sizes[-1][-1] *= max(int(counted[1]), int(counted[2] or 0))
            largest = max(largest, sizes[-1][-1])
        elif token == ")":
            inside = sum(sizes.pop())
            sizes[-1].append(inside)
        elif token.startswith("(") and not token.endswith(")"):
            sizes.append([0])
        elif token not in ("?", "*", "+", "|", "^", "$"):
            sizes[-1].append(1)
    return largest


def _bracket_end(pattern: str, at: int) -> int:
    depth = 0
    while True:
        if pattern[at] == "\\":
            at += 2
        elif pattern[at] == "[":
            depth += 1
            at = re.compile(r"\[\^?-*\]?").match(pattern, at).end()  # pyright: ignore  # a `]` in first place is literal
        elif pattern[at] == "]":
            depth, at = depth - 1, at + 1
            if depth == 0:
                return at
        else:
            at += 1
