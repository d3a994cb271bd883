"""Reads one word of bash source: quotes, `$...`, `${...}`, `$(...)`, backticks, braces, `~` and globs.

Expansions that can run code without naming a command (arithmetic and array subscripts evaluate what a variable holds,
`${!x}` and `${x@P}` likewise) are noted as problems: nothing that contains one is safe.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

from .environment import matters
from .words import NotBashError, Word, ansi_c, expand_braces, plain

MAX_DEPTH = 12


class Facts:
    """What reading one command text has found so far; shared by everything nested in it."""

    __slots__ = ("depth", "evaluated", "not_numbers", "numbers", "problems", "values")

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.values: dict[str, str] = {}  # variables given a literal value, the last one
        self.evaluated: set[str] = set()  # names that arithmetic evaluates
        self.numbers: set[str] = set()  # names given a number
        self.not_numbers: set[str] = set()  # names given something else than a number
        self.depth = 0

    def doubts(self) -> list[str]:
        """Everything found for which the text cannot be called safe."""
        if not self.evaluated:
            return self.problems
        unsure = sorted(self.evaluated - (self.numbers - self.not_numbers))
        return self.problems + [f"arithmetic evaluates whatever ${name} holds" for name in unsure]

    def evaluates(self, expression: str) -> None:
        """Note that bash evaluates `expression` as arithmetic, and so the value of every name in it."""
        if not _ARITHMETIC.fullmatch(expression):
            self.problems.append(f"arithmetic {expression.strip()!r} can run code")
        if found := next((name for name in _NAME.findall(expression) if matters(name)), None):
            self.problems.append(f"arithmetic that may set {found}")
        self.numbers.update(_SETS.findall(expression))
        self.evaluated.update(_NAME.findall(expression))


_ARITHMETIC = re.compile(r"(?:\w+|[\s+*/%<>=!&|^~?:,()-]|\$\w+|\$\{\w+\}|\$[#?$])*", re.A)
_SETS = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)", re.A)
_NAME = re.compile(r"(?<![\w])[A-Za-z_]\w*", re.A)

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^!=-][A-Za-z0-9_./:@%+,^!=#-]*(?=[ \t\n;|&()<>]|\Z)")
_DOLLAR = r"""
 (?P<arithmetic>\$\(\((?:[^()'"`$\\;{}\n]|\$\w+|\$\{\w+\}|\((?:[^()'"`$\\;{}\n]|\$\w+|\$\{\w+\})*\))*\)\))
|(?P<command>\$\()
|(?P<backtick>`(?:[^`\\]|\\[\s\S])*`)
|(?P<length>\$\{\#\w*\})
|(?P<variable>\$(?:[A-Za-z_]\w*|[0-9@*\#?$!-])|\$\{(?:[A-Za-z_]\w*|[0-9@*?$!-]|[0-9]+)\})
|(?P<expansion>\$\{)
|(?P<old>\$\[)
"""
_BACKSLASHES = r"|(?P<join>\\\n)|(?P<escape>\\[\s\S])"
_PIECE = re.compile(
    rf"""(?P<plain>[^ \t\n|&;()<>\\'"$`{{}}~*?\[\]]+){_BACKSLASHES}
|(?P<raw>'[^']*')|(?P<ansi>\$'(?:[^'\\]|\\[\s\S])*')|(?P<double>\$?")|{_DOLLAR}
|(?P<process>[<>]\()|(?P<dollar>\$(?!'))|(?P<glob>[*?\[\]])|(?P<curly>[{{}}])|(?P<tilde>~)""",
    re.X | re.A,
)
_QUOTED = re.compile(
    rf"""(?P<plain>[^"\\$`]+)|(?P<join>\\\n)|(?P<escape>\\[$`"\\])|(?P<backslash>\\)|(?P<end>")|{_DOLLAR}|(?P<dollar>\$)""",
    re.X | re.A,
)
_DOCUMENT = re.compile(
    rf"""(?P<plain>[^\\$`]+)|(?P<join>\\\n)|(?P<escape>\\[$`\\])|(?P<backslash>\\)|{_DOLLAR}|(?P<dollar>\$)""",
    re.X | re.A,
)
_PARAMETER = re.compile(r"(?P<indirect>[!])?(?P<name>[A-Za-z_]\w*|[0-9]+|[@*#?$!-])", re.A)
_SUBSCRIPT = re.compile(r"\[([^\]]*)\]")
_OFFSET = re.compile(r":(?![-=?+])([^}]*)\}")
_IN_BRACES = re.compile(
    rf"""(?P<plain>[^\\'"$`}}{{<>]+){_BACKSLASHES}|(?P<process>[<>]\()|(?P<ansi>\$'(?:[^'\\]|\\[\s\S])*')|(?P<raw>'[^']*')|(?P<double>")|(?P<end>\}})|{_DOLLAR}|(?P<other>\$(?!')|[{{<>])""",
    re.X | re.A,
)
_NUMBERS = frozenset("#?$")
_EMPTY = frozenset("@*123456789")


class Field:
    """A word while it grows."""

    __slots__ = ("globs", "home", "known", "nested", "open", "parts", "quoted", "splits")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.nested: list[Any] = []
        self.known, self.splits, self.globs, self.home, self.open, self.quoted = True, False, False, False, False, False

    def unknown(self, text: str, *, quoted: bool, may_open: bool = True) -> None:
        self.open = self.open or (may_open and not any(self.parts))
        self.known = False
        self.splits = self.splits or not quoted
        self.parts.append(text)

    def word(self) -> Word:
        text = "".join(self.parts)
        return Word(
            text,
            self.known,
            self.splits,
            self.globs,
            self.home,
            self.open or (self.globs and text[0] in "*?["),
            self.quoted,
            tuple(self.nested),
        )


class WordReader(ABC):
    """Reads words from `source`, starting at `at`; `commands` reads the inside of a substitution."""

    def __init__(self, source: str, facts: Facts) -> None:
        self.source = source
        self.facts = facts
        self.at: int = 0

    @abstractmethod
    def commands(self) -> list[Any]:
        """The items up to the `)` that closes a substitution."""

    @abstractmethod
    def printed(self, commands: list[Any]) -> str | None:
        """What a substitution prints, where it is a plain `echo` that can be foreseen."""

    @abstractmethod
    def nested_source(self, source: str) -> list[Any]:
        """The items of a text that bash reads on its own, as it does the inside of backticks."""

    def word(self, *, braces: bool = True, regex: bool = False) -> list[Word]:
        """The fields that the word at `at` stands for: one, or more by `{a,b}` and `$IFS`, or none."""
        if match := _PLAIN.match(self.source, self.at):
            self.at = match.end()
            return [plain(match.group())]
        start, curly, fields = self.at, False, [Field()]
        while piece := _PIECE.match(self.source, self.at):
            self.at = piece.end()
            kind = piece.lastgroup or ""
            curly = curly or kind == "curly"
            self._piece(kind, piece.group(), fields)
        if regex:
            self._regex(fields)
        if self.source[self.at : self.at + 1] in ("'", '"', "`", "\\", "$"):
            raise NotBashError(f"an unfinished quotation {self.source[self.at : self.at + 20]!r}")
        if curly and braces:
            raw = self.source[start : self.at]
            words = expand_braces(raw)
            if words != [raw]:
                return [field for word in words for field in self._again(word)]
        return [field.word() for field in fields if field.parts or field.quoted]

    def _again(self, raw: str) -> list[Word]:
        return type(self)(raw, self.facts).word(braces=False)

    def _regex(self, fields: list[Field]) -> None:
        """The operand of `=~` or `==` inside [[ ]]: there ( ) | are text."""
        while self.at < len(self.source) and self.source[self.at] not in " \t\n":
            if self.source[self.at] in "()|<>&;":
                fields[-1].parts.append(self.source[self.at])
                self.at += 1
                continue
            piece = _PIECE.match(self.source, self.at)
            if not piece:
                raise NotBashError("an unfinished pattern in [[ ]]")
            self.at = piece.end()
            self._piece(piece.lastgroup or "", piece.group(), fields)

    def _piece(self, kind: str, text: str, fields: list[Field]) -> None:
        field = fields[-1]
        match kind:
            case "plain" | "curly" | "dollar":
                field.parts.append(text)
            case "join":
                pass
            case "escape":
                field.parts.append(text[1])
                field.quoted = True
            case "raw":
                field.parts.append(text[1:-1])
                field.quoted = True
            case "ansi":
                field.parts.append(ansi_c(text[2:-1]))
                field.quoted = True
            case "double":
                field.quoted = True
                self._quoted(field, _QUOTED)
            case "glob":
                field.globs = field.globs or text in "*?" or (text == "]" and "[" in "".join(field.parts))
                field.parts.append(text)
            case "tilde":
                self._tilde(field)
            case "variable" if text.strip("${}") == "IFS":
                fields.append(Field())
            case "process":
                field.nested.append(self._commands())
                field.unknown(f"{text}...)", quoted=True, may_open=False)
            case "expansion" if self.source.startswith("IFS", self.at):
                self._expansion(Field(), quoted=False)
                fields.append(Field())
                self.facts.problems.append("a word cut by a changed $IFS")
            case _:
                self._dollar(kind, text, field, quoted=False)

    def _tilde(self, field: Field) -> None:
        if field.parts or field.quoted:
            field.parts.append("~")
            return
        following = self.source[self.at : self.at + 1]
        field.parts.append("~")
        if following in ("+", "-"):
            field.known, field.open = False, False
        else:
            field.home, field.known = True, False

    def _quoted(self, field: Field, pieces: re.Pattern[str]) -> None:
        """Double-quoted text up to its end, or a here-document up to the end of the source."""
        while piece := pieces.match(self.source, self.at):
            self.at = piece.end()
            match piece.lastgroup:
                case "end":
                    return
                case "join":
                    pass
                case "escape":
                    field.parts.append(piece.group()[1])
                case "plain" | "backslash" | "dollar":
                    field.parts.append(piece.group())
                case kind:
                    self._dollar(kind or "", piece.group(), field, quoted=True)
        if pieces is _QUOTED:
            raise NotBashError('an unfinished quotation "')

    def document(self) -> Word:
        """The whole source as the body of a here-document whose expansions bash makes."""
        field = Field()
        self._quoted(field, _DOCUMENT)
        return field.word()

    def _dollar(self, kind: str, text: str, field: Field, *, quoted: bool) -> None:
        match kind:
            case "variable":
                self._variable(text.strip("${}") or "$", text, field, quoted=quoted)
            case "length":
                field.unknown("0", quoted=True, may_open=False)
            case "arithmetic":
                self.facts.evaluates(text[3:-2])
                field.unknown("0", quoted=True)
            case "command":
                if self.source.startswith("(", self.at):
                    self.facts.problems.append("$(( ... )) that may be arithmetic or commands")
                field.nested.append(self._commands())
                field.unknown(self.printed(field.nested[-1]) or "$(...)", quoted=quoted)
            case "backtick":
                inner = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", text[1:-1])
                field.nested.append(self.nested_source(inner))
                field.unknown(self.printed(field.nested[-1]) or "$(...)", quoted=quoted)
            case "expansion":
                self._expansion(field, quoted=quoted)
            case _:
                self.facts.problems.append(f"{text} is arithmetic of an old kind")
                field.unknown(text, quoted=quoted)

    def _variable(self, name: str, text: str, field: Field, *, quoted: bool) -> None:
        first = not any(field.parts)
        if name == "HOME" and first:
            field.home, field.known = True, False
            field.splits = field.splits or not quoted
            field.parts.append("~")
        elif name == "PWD" and first:
            field.unknown(".", quoted=quoted, may_open=False)
        elif name in _NUMBERS:
            field.unknown("0", quoted=True, may_open=False)
        elif name in _EMPTY:
            field.unknown("", quoted=quoted)
        else:
            field.unknown(self.facts.values.get(name, text), quoted=quoted)

    def _expansion(self, field: Field, *, quoted: bool) -> None:
        """`${...}` beyond a plain name; `at` stands behind the opening brace."""
        start, problems = self.at, self.facts.problems
        parameter = _PARAMETER.match(self.source, self.at)
        if not parameter:
            raise NotBashError(f"an expansion that bash does not know: {self.source[start - 2 : start + 12]!r}")
        if parameter["indirect"]:
            problems.append("${!...} evaluates what a variable holds")
        self.at = parameter.end()
        if subscript := _SUBSCRIPT.match(self.source, self.at):
            self.subscript(subscript[1])
        if offset := _OFFSET.match(self.source, subscript.end() if subscript else self.at):
            self.facts.evaluates(offset[1].replace("-", " "))
        if self.source.startswith("@", subscript.end() if subscript else self.at):
            problems.append("${...@...} can expand what a variable holds")
        self._rest_of_expansion(field, quoted=quoted)
        field.unknown(self.source[start - 2 : self.at], quoted=quoted)

    def subscript(self, inner: str) -> None:
        """Note an array subscript: bash evaluates it."""
        if inner not in ("@", "*"):
            self.facts.evaluates(inner)

    def _rest_of_expansion(self, field: Field, *, quoted: bool) -> None:
        ignored = Field()
        while piece := _IN_BRACES.match(self.source, self.at):
            self.at = piece.end()
            kind = piece.lastgroup or ""
            if kind == "end":
                field.nested += ignored.nested
                return
            if kind in ("raw", "ansi") and quoted:
                self.facts.problems.append("a single quote inside a quoted ${...}")
            if kind == "double":
                self._quoted(ignored, _QUOTED)
            elif kind == "process":
                if quoted:
                    self.facts.problems.append("<( inside a quoted ${...}")
                else:
                    ignored.nested.append(self._commands())
            elif kind in ("plain", "join", "escape", "raw", "ansi", "other"):
                continue
            else:
                self._dollar(kind, piece.group(), ignored, quoted=quoted)
        raise NotBashError("an unfinished ${")

    def _commands(self) -> list[Any]:
        self.deeper()
        tokens = self.commands()
        self.facts.depth -= 1
        return tokens

    def deeper(self) -> None:
        """Count one more level of nesting; raises NotBashError beyond MAX_DEPTH."""
        self.facts.depth += 1
        if self.facts.depth > MAX_DEPTH:
            raise NotBashError(f"commands nested more than {MAX_DEPTH} deep")
