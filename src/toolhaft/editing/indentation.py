"""How a block is indented in the file, seen from how a model indented it: one rule for all its lines, or none.

Either every line has the same blanks more, or the same blanks less, or one unit stands for another: tabs for spaces,
four spaces for two. Only then can new lines be indented alike.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction

__all__ = ["indent_of", "indent_rule"]

Rule = Callable[[str], str | None]
LIKELY_WIDTHS = (4, 2, 8, 3)


def indent_of(line: str) -> str:
    """The blanks and tabs that `line` begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def indent_rule(pairs: Iterable[tuple[str, str]]) -> Rule | None:
    """The rule that leads from each first line to the indentation of its second; None where no one rule does.

    The rule gives a line re-indented alike, or None for an indentation that it does not cover.

    >>> rule = indent_rule([("if x:", "    if x:"), ("  y", "      y")])
    >>> rule and rule("  z")
    '      z'
    """
    indents = list(dict.fromkeys((indent_of(wanted), indent_of(found)) for wanted, found in pairs if wanted.strip()))
    if not indents:
        return lambda line: line
    wanted, found = indents[0]
    if found.endswith(wanted):
        more = found[: len(found) - len(wanted)]
        if all(there == more + here for here, there in indents):
            return lambda line: more + line if line.strip() else line
    if wanted.endswith(found):
        less = wanted[: len(wanted) - len(found)]
        if all(here == less + there for here, there in indents):
            return lambda line: _dedented(line, less)
    return _unit_rule(indents)


def _dedented(line: str, less: str) -> str | None:
    if not line.strip():
        return line
    return line[len(less) :] if line.startswith(less) else None


def _unit_rule(indents: list[tuple[str, str]]) -> Rule | None:
    """One kind of blank for another, or the same kind in other steps: found = steps * wanted + offset."""
    wanted_kind, found_kind = (_only_kind(side) for side in zip(*indents, strict=True))
    if wanted_kind is None or found_kind is None:
        return None
    sizes = [(len(wanted), len(found)) for wanted, found in indents]
    steps = _steps(sizes, wanted_kind, found_kind)
    offset = sizes[0][1] - steps * sizes[0][0]
    if steps <= 0 or any(found != steps * wanted + offset for wanted, found in sizes):
        return None

    def rule(line: str) -> str | None:
        indent = indent_of(line)
        if not line.strip():
            return line
        if indent.strip(wanted_kind):
            return None
        size = steps * len(indent) + offset
        if size < 0 or (size.denominator > 1 and found_kind == " "):
            return None
        rest = (size - int(size)) / steps  # what is less than a tab stays spaces
        return found_kind * int(size) + " " * int(rest) + line[len(indent) :]

    return rule


def _only_kind(indents: Iterable[str]) -> str | None:
    kinds = set("".join(indents))
    return kinds.pop() if len(kinds) == 1 else None


def _steps(sizes: list[tuple[int, int]], wanted_kind: str, found_kind: str) -> Fraction:
    """How many blanks in the file one blank of the model stands for."""
    distinct = sorted(set(sizes))
    if len(distinct) > 1 and distinct[0][0] != distinct[-1][0]:
        return Fraction(distinct[-1][1] - distinct[0][1], distinct[-1][0] - distinct[0][0])
    wanted, found = distinct[0]
    if wanted_kind == " " and found_kind == "\t":
        widths = [width for width in LIKELY_WIDTHS if found * width == wanted]
        return Fraction(1, (widths or LIKELY_WIDTHS)[0])
    if wanted_kind == "\t" and found_kind == " ":
        widths = [width for width in LIKELY_WIDTHS if wanted * width == found]
        return Fraction((widths or LIKELY_WIDTHS)[0])
    return Fraction(1)
