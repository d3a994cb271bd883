r"""Bash source to runs, read as bash reads it: words, redirections, here-documents, comments, operators.

The grammar of tree-sitter-bash reads the structure of a script well and its words loosely (`r\<newline>m` is two words
to it, `rm$IFS-rf$IFS/` ends at the wrong place, `${x#$(id)}` hides a command). So words are read here, and `syntax`
shows the grammar a skeleton in which every simple command is `w`: what it cannot take in is not understood.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .environment import matters
from .expansions import Facts, WordReader
from .options import names
from .words import NotBashError, Redirect, Word, plain

MAX_ITEMS = 20_000
MAX_BRACKETS = 100

_ENDS = r"(?=[ \t\n;|&()<>]|\Z)"
_ITEM = re.compile(
    rf"""[ \t]*+(?:\\\n[ \t]*+)*+(?:\#[^\n]*+)?(?:
 (?P<plain>(?!\d*[<>])[A-Za-z0-9_./:@%+,^!=-][A-Za-z0-9_./:@%+,^!=\#-]*+){_ENDS}
|(?P<raw>'[^']*+'){_ENDS}
|(?P<double>"[^"\\$`]*+"){_ENDS}
|"\$(?P<variable>[A-Za-z_]\w*+)"{_ENDS}
|(?P<redirect>(?:\d+|\{{[A-Za-z_]\w*\}})?(?:<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())|&>>|&>)(?:[ \t]+|\\\n)*
|(?P<operator>\n|&&|\|\||\|&|;;&|;;|;&|;|&|\||\(|\))
|(?P<end>\Z)
)?""",
    re.X | re.A,
)
_SPACES = re.compile(r"(?:[ \t\n]+|\\\n)*")
_TEST_OPERATOR = re.compile(r"&&|\|\||[()]|[<>](?!\()")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:\[(?P<index>[^\]\n]*)\])?\+?=", re.A)
_ARITHMETIC = re.compile(r"\(\(((?:[^()'\"`\\{}\n]|\$\{\w+\}|\([^()'\"`\\{}\n]*\))*)\)\)", re.A)
_COUNTING = re.compile(r"\s+in(?:[ \t]+(?:-?\d+|\{-?\d+\.\.-?\d+\}))+[ \t]*[;\n]", re.A)
_NUMBER = re.compile(r"-?\d+", re.A)
# A value that bash has computed: a number, whatever it was made from.
_COMPUTED = re.compile(r"(?P<quote>\"?)(?:\$\(\([^()]*\)\)|\$\{#\w+\}|\$[#?])(?P=quote)", re.A)
# A word behind one of these is again the name of a command, or a keyword.
_STARTERS = names("if then else elif do while until { ! function")
_RESERVED = _STARTERS | names("for fi done case esac select }")
_OPENERS, _CLOSERS = names("{ if while until for"), names("} fi done")
_PLAIN_KEYWORDS = _RESERVED - {"case", "function"}
_OWN = names("HOME PWD IFS")
_NEVER_FIRST = frozenset(("in", "]]"))
_SPECIAL = _RESERVED | _NEVER_FIRST
_NAMES_NEXT = frozenset(("for", "select", "function"))
_CASES_END = frozenset((";;", ";&", ";;&"))


class Run:
    """What stands between two operators or keywords: the words, assignments and redirections of a simple command."""

    __slots__ = ("assignments", "redirects", "words")

    def __init__(self, *words: Word) -> None:
        self.words: list[Word] = [*words]
        self.assignments: list[tuple[str, tuple[Word, ...]]] = []
        self.redirects: list[Redirect] = []


Items = list["str | Run"]


class _Document(NamedTuple):
    """A here-document whose body comes after the line."""

    delimiter: str
    quoted: bool
    tabs: bool
    run: Run
    place: int


class Lexer(WordReader):
    """Reads all of `source`; what was read before an error stays in `read`."""

    def __init__(self, source: str, facts: Facts) -> None:
        super().__init__(source, facts)
        self.read: Items = []

    def items(self) -> Items:
        """Operators and keywords as they are, and what stands between as runs; raises NotBashError."""
        return self._items(self.read, closed=False)

    def commands(self) -> Items:
        """The items up to the `)` that closes a substitution; `at` is left behind it."""
        return self._items([], closed=True)

    def nested_source(self, source: str) -> Items:
        """The items of a text that bash reads on its own (the inside of backticks)."""
        self.deeper()
        items = Lexer(source, self.facts).items()
        self.facts.depth -= 1
        return items

    def printed(self, commands: Items) -> str | None:
        """What `$(echo ...)` prints: good enough to recognise what is refused, never to call something safe."""
        run = commands[0] if len(commands) == 1 else None
        if not isinstance(run, Run) or not run.words or run.words[0].text not in ("echo", "printf"):
            return None
        return " ".join(
            word.text for word in run.words[1:] if not word.text.startswith("-") or word.text[1:2] not in "neE"
        )

    def _items(self, items: Items, *, closed: bool) -> Items:
        source, item, depth, groups, starts = self.source, _ITEM.match, 0, 0, True
        run: Run | None = None
        last = ""  # the operator or keyword before, `w` behind a word
        documents: list[_Document] = []
        while True:
            match = item(source, self.at)
            assert match is not None  # every part of the expression is optional
            kind = match.lastgroup
            if kind == "plain":
                text = match[kind]
                # the common cases: neither a keyword nor an assignment can stand here, or a plain keyword must
                if text not in _SPECIAL and last not in _NAMES_NEXT and not (starts and "=" in text):
                    self.at = match.end()
                    if run is None:
                        items.append(run := Run())
                    run.words.append(plain(text))
                    starts, last = False, "w"
                    continue
                if starts and text in _PLAIN_KEYWORDS:
                    self.at = match.end()
                    items.append(text)
                    run, starts, last = None, text in _STARTERS, text
                    groups += (text in _OPENERS) - (text in _CLOSERS)
                    if groups > MAX_BRACKETS or len(items) > MAX_ITEMS:
                        raise NotBashError("more keywords than are read")
                    continue
            elif kind == "operator":
                text = match[kind]
                if text == "(" and (starts or last == "for") and self._arithmetic(items, match.start(kind), last):
                    # what follows `for ((...))` is `do`
                    run, starts = (None, True) if last == "for" else (self._new(items, Word("((")), False)
                    last = "w"
                    continue
                self.at = match.end()
                depth += (text == "(") - (text == ")")
                if closed and depth < 0:
                    break
                if depth > MAX_BRACKETS or len(items) > MAX_ITEMS:
                    raise NotBashError("more operators or brackets than are read")
                items.append(text)
                run = None
                starts = text not in _CASES_END and not (text == "\n" and not starts and last == "in")
                last = last if text == "\n" and last in ("in", *_CASES_END) else text
                if documents and text == "\n":
                    self._documents(documents)
                continue
            elif (kind == "raw" or kind == "double") and last not in _NAMES_NEXT:
                self.at = match.end()
                if run is None:
                    items.append(run := Run())
                run.words.append(Word(match[kind][1:-1], quoted=True))
                starts, last = False, "w"
                continue
            elif kind == "variable" and match[kind] not in _OWN and last not in _NAMES_NEXT:
                self.at = match.end()
                if run is None:
                    items.append(run := Run())
                text = self.facts.values.get(match[kind], "$" + match[kind])
                run.words.append(Word(text, known=False, open=True, quoted=True))
                starts, last = False, "w"
                continue
            elif kind == "redirect":
                self.at = match.end()
                if run is None:
                    items.append(run := Run())
                self._redirect(match[kind].lstrip("0123456789"), run, documents)
                continue
            elif kind == "end":
                break
            else:
                self.at = match.end()
            if kind in ("plain", "raw", "double"):
                self.at = match.start(kind)
            elif kind == "variable":
                self.at = match.start(kind) - 2
            run, starts, last = self._word(items, run, starts=starts, last=last, nested=closed)
        if documents or (closed and depth >= 0):
            raise NotBashError("an unfinished $( or here-document")
        return items

    def _word(
        self, items: Items, run: Run | None, *, starts: bool, last: str, nested: bool
    ) -> tuple[Run | None, bool, str]:
        """Read a keyword, an assignment or a word; answers the run it is in, whether a command may follow, its kind."""
        source, before = self.source, self.at
        if starts and source.startswith("[[", before) and source[before + 2 : before + 3] in (" ", "\t", "\n"):
            run = run or self._new(items)
            run.words += self._test()
            return run, False, "w"
        if starts and (assignment := _ASSIGNMENT.match(source, before)):
            run = run or self._new(items)
            run.assignments.append(self._assignment(assignment))
            return run, True, "w"
        words = self.word()
        text = source[before : self.at]
        if starts and text in _NEVER_FIRST:
            raise NotBashError(f"{text!r} where bash expects a command")
        if text == "in" and len(items) > 1 and items[-2] in ("for", "case", "select"):
            items.append("in")
            return None, False, "in"
        if text in _RESERVED and (starts or last in _CASES_END or last == "\n"):
            if text == "case" and nested:
                raise NotBashError("case inside $(...)")
            items.append(text)
            return None, text in _STARTERS, text
        if last in ("for", "select") and words:
            if matters(words[0].text):
                self.facts.problems.append(f"a loop that sets {words[0].text}")
            counts = _COUNTING.match(source, self.at)
            (self.facts.numbers if counts else self.facts.not_numbers).add(words[0].text)
        run = run or self._new(items)
        run.words += words or (Word("", known=False, splits=True),)
        return run, last == "function", "w"

    @staticmethod
    def _new(items: Items, *words: Word) -> Run:
        items.append(run := Run(*words))
        return run

    def _assignment(self, match: re.Match[str]) -> tuple[str, tuple[Word, ...]]:
        self.at = match.end()
        name = match["name"]
        if match["index"] is not None:
            self.subscript(match["index"])
        if self.source.startswith("(", self.at):
            value = self._array()
        elif self.at < len(self.source) and self.source[self.at] not in " \t\n;|&)<>":
            value = tuple(self.word(braces=False))
        else:
            value = (Word(""),)
        known = len(value) == 1 and value[0].known
        if known:
            self.facts.values[name] = value[0].text
        else:
            self.facts.values.pop(name, None)
        number = (known and _NUMBER.fullmatch(value[0].text)) or _COMPUTED.fullmatch(self.source, match.end(), self.at)
        (self.facts.numbers if number else self.facts.not_numbers).add(name)
        return name, value

    def _skip(self, spaces: re.Pattern[str] = _SPACES) -> None:
        if match := spaces.match(self.source, self.at):
            self.at = match.end()

    def _array(self) -> tuple[Word, ...]:
        self.at += 1
        words: list[Word] = []
        while True:
            self._skip()
            if self.source.startswith(")", self.at):
                self.at += 1
                return tuple(words)
            if self.source[self.at : self.at + 1] in ("", "(", "|", "&", ";", "#", "[", "<", ">"):
                raise NotBashError("an array that is not a plain list of words")
            words += self.word()

    def _arithmetic(self, items: Items, start: int, last: str) -> bool:
        if not self.source.startswith("((", start):
            return False
        match = _ARITHMETIC.match(self.source, start)
        if not match:
            self.facts.problems.append("(( ... )) that may be arithmetic or commands")
            return False
        self.at = match.end()
        for expression in match[1].split(";"):
            self.facts.evaluates(expression)
        if last == "for":
            items += (Run(Word("((")), "in", Run(Word("0")))
        return True

    def _test(self) -> list[Word]:
        """All words of `[[ ... ]]`."""
        self.at += 2
        words, depth = [Word("[[")], 0
        while True:
            self._skip()
            pattern = words[-1].text in ("=~", "==", "=", "!=")
            if not pattern and (operator := _TEST_OPERATOR.match(self.source, self.at)):
                depth += (operator.group() == "(") - (operator.group() == ")")
                self.at = operator.end()
                words.append(Word(operator.group()))
                if depth >= 0:
                    continue
            before = self.at
            words += self.word(braces=False, regex=pattern) or [Word("")]
            if self.at == before or depth < 0:
                raise NotBashError("a [[ ]] that bash does not know")
            if words[-1].text == "]]" and not words[-1].quoted and depth == 0:
                return words

    def _redirect(self, operator: str, run: Run, documents: list[_Document]) -> None:
        if operator.startswith("{"):
            self.facts.problems.append(f"{operator} gives a variable another value")
            operator = operator.partition("}")[2]
        before = self.at
        fields = self.word()
        if self.at == before or not fields or self.source[before] == "#":
            raise NotBashError(f"a redirection {operator!r} without its target")
        if operator in ("<<", "<<-"):
            if not fields[0].known or len(fields) > 1:
                raise NotBashError("a here-document whose end is not a plain word")
            place = len(run.redirects)
            documents.append(_Document(fields[0].text, fields[0].quoted, operator == "<<-", run, place))
            operator = "<<"
        run.redirects += [Redirect(operator, word) for word in fields]

    def _documents(self, documents: list[_Document]) -> None:
        """Read the bodies of the here-documents that the line just ended has opened."""
        for document in documents:
            lines: list[str] = []
            while (line := self._line(document)) != document.delimiter:
                joined = not document.quoted and line.endswith("\\")
                if joined and self.source.startswith(document.delimiter, self.at):
                    raise NotBashError("a here-document whose end is joined to the line before")
                lines.append(line + "\n")
            body = "".join(lines)
            word = Word(body, quoted=True) if document.quoted else Lexer(body, self.facts).document()
            document.run.redirects[document.place] = Redirect("<<", word)
        documents.clear()

    def _line(self, document: _Document) -> str:
        if self.at >= len(self.source):
            raise NotBashError(f"a here-document without its end {document.delimiter!r}")
        end = self.source.find("\n", self.at) + 1 or len(self.source) + 1
        line, self.at = self.source[self.at : end - 1], end
        return line.lstrip("\t") if document.tabs else line
