"""Bash source to simple commands, each with what bash would pass it and what it is fed from.

`parse` is the way in. Words come from `lexer`, structure from tree-sitter-bash, which sees a skeleton: one `w` for
every simple command, operators and keywords as they are. Both have to agree; where they do not, the text is not
understood and `Script.problems` says so. The commands found are listed all the same, because the worst of them decides.
"""

from __future__ import annotations

import posixpath
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .expansions import Facts
from .lexer import Items, Lexer, Run
from .words import NotBashError, Redirect, Word

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_CHARACTERS = 100_000
MAX_COMMANDS = 2_000


class Command(NamedTuple):
    """A simple command: `a=1 name word > file`. A redirection of a group, or a loop's words, is one without words."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, tuple[Word, ...]], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    upstream: tuple[Command, ...] = ()  # the commands whose output it reads
    inner: tuple[Command, ...] = ()  # the commands in its substitutions
    functions: tuple[str, ...] = ()  # the functions it is part of
    concurrent: bool = False  # in a pipe or in the background
    folder: str | None = ""  # where `cd` has led; None: unknown
    is_function: bool = False  # it calls a function that the text has certainly defined before
    data: tuple[Word, ...] = ()  # the words of a `for` list or a `case`: not run, but known

    @property
    def text(self) -> str:
        """The words with their quotes removed, one blank between: what blocked patterns are matched with."""
        return " ".join(word.text for word in self.words)


class Script(NamedTuple):
    """All simple commands of a text, those inside substitutions included, and what was not understood."""

    commands: tuple[Command, ...]
    problems: tuple[str, ...]


def parse(source: str) -> Script:
    """The simple commands of `source`; never raises, what is not bash is told in `problems`.

    >>> [command.text for command in parse("r'm' x && ls").commands]
    ['rm x', 'ls']
    """
    facts = Facts()
    reader = _Reader()
    if "\0" in source:
        facts.problems.append("a NUL character")
    if len(source) > MAX_CHARACTERS:
        return Script((), (f"{len(source)} characters, more than {MAX_CHARACTERS}",))
    lexer = Lexer(source, facts)
    try:
        reader.read(lexer.items())
    except (NotBashError, RecursionError) as error:
        facts.problems.append(str(error))
        reader = _Reader()
        reader.guess(lexer.read)
    return Script(tuple(reader.commands), tuple(facts.doubts()))


_DATA = frozenset(("word", "variable_name", "extglob_pattern"))
_LEAVES = _DATA | {"command", "file_redirect"}
_JOINTS = frozenset((";", "&&", "||", "|"))
_CASE_ENDS = frozenset((";;", ";&", ";;&"))
_CLOSERS = frozenset(("}", ")", "fi", "done", "esac"))


@cache
def _grammar() -> tuple[type[Parser], Language]:
    """What parses, loaded when the first command is read: whoever only attaches tools does not pay for it."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser, tree_sitter.Language(tree_sitter_bash.language())


class _Reader:
    """Walks the structure; what a command is fed from, and the folder it runs in, are passed down."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.names: set[str] = set()
        self.folder: str | None = ""
        self.nested = 0

    def read(self, runs: Items, *, upstream: tuple[Command, ...] = (), functions: tuple[str, ...] = ()) -> None:
        """Read one list of runs; raises NotBashError when the grammar rejects its structure."""
        if len(runs) == 1 and isinstance(runs[0], Run):
            self.emit(runs[0], upstream, functions)
            return
        if (pipelines := _flat(runs)) is not None:
            self._run_all(pipelines, upstream, functions)
            return
        skeleton: list[str] = []
        places: dict[int, Run] = {}
        offset = 0
        for index, run in enumerate(runs):
            if isinstance(run, str):
                shape = run
            else:
                places[offset] = run
                before = runs[index - 1] if index else ""
                trailing = not run.words and not run.assignments and isinstance(before, str) and before in _CLOSERS
                shape = ">w" if trailing else "w"
            skeleton.append(shape)
            offset += len(shape) + 1
        parser, language = _grammar()
        root = parser(language).parse(" ".join(skeleton).encode()).root_node
        walk = _Walk(self, places, functions, outermost=not self.nested)
        if root.has_error or not walk.covers(root, upstream):
            raise NotBashError("not a command that bash can read")

    def _run_all(self, pipelines: list[list[Run]], upstream: tuple[Command, ...], functions: tuple[str, ...]) -> None:
        for pipeline in pipelines:
            if len(pipeline) == 1:
                self.emit(pipeline[0], upstream, functions)
                continue
            fed, folder = upstream, self.folder
            for run in pipeline:
                start = len(self.commands)
                self.emit(run, fed, functions, concurrent=True)
                self.folder = folder
                fed = (*fed, *self.commands[start:])

    def guess(self, runs: Items) -> None:
        """List what look like commands in a text that was not understood."""
        upstream: tuple[Command, ...] = ()
        before = ""
        for run in runs:
            if isinstance(run, str):
                before = run
                continue
            start = len(self.commands)
            if start >= MAX_COMMANDS:
                return
            try:
                self.emit(run, upstream if before in ("|", "|&") else (), ())
            except NotBashError:
                self.commands.append(Command(tuple(run.words), tuple(run.assignments), tuple(run.redirects)))
            upstream = (*upstream, *self.commands[start:]) if before in ("|", "|&") else tuple(self.commands[start:])

    def emit(
        self,
        run: Run,
        upstream: tuple[Command, ...],
        functions: tuple[str, ...],
        *,
        concurrent: bool = False,
        data: bool = False,
    ) -> None:
        """List the command of one run, those in its substitutions before it."""
        if len(self.commands) >= MAX_COMMANDS:
            raise NotBashError(f"more than {MAX_COMMANDS} commands")
        words, redirects = tuple(run.words), tuple(run.redirects)
        command = Command(
            () if data else words,
            tuple(run.assignments),
            redirects,
            upstream,
            (),
            functions,
            concurrent,
            self.folder,
            bool(words) and not data and words[0].known and words[0].text in self.names,
            words if data else (),
        )
        if nested := _nested(run):
            start, folder = len(self.commands), self.folder
            self.nested += 1
            for runs in nested:
                self.read(runs, upstream=(*upstream, command), functions=functions)
                self.folder = folder
            self.nested -= 1
            command = command._replace(inner=tuple(self.commands[start:]))
        self.commands.append(command)
        # `unset name` takes a function away where no variable has that name
        if self.names and any("unset" in word.text for word in words):
            self.names.clear()
        if command.words and command.words[0].text in ("cd", "pushd", "popd"):
            self.folder = _changed(self.folder, command.words)


class _Walk:
    """One pass over the grammar's tree of one list of runs."""

    def __init__(self, reader: _Reader, places: dict[int, Run], functions: tuple[str, ...], *, outermost: bool) -> None:
        self.reader, self.places, self.functions, self.outermost = reader, places, functions, outermost
        self.claimed = 0

    def covers(self, root: Node, upstream: tuple[Command, ...]) -> bool:
        """Read the whole tree; False when the grammar has left out a simple command."""
        self.node(root, upstream, concurrent=False)
        return self.claimed == len(self.places)

    def node(self, node: Node, upstream: tuple[Command, ...], *, concurrent: bool) -> None:
        kind = node.type
        if kind in _LEAVES:
            self._leaf(node, upstream, concurrent=concurrent)
            return
        match kind:
            case "pipeline":
                self._pipeline(node, upstream)
            case "subshell":
                folder = self.reader.folder
                self._children(node, upstream, concurrent=concurrent)
                self.reader.folder = folder
            case "function_definition":
                self._function(node, upstream)
            case "redirected_statement":
                self._redirected(node, upstream, concurrent=concurrent)
            case _:
                self._children(node, upstream, concurrent=concurrent)

    def _children(self, node: Node, upstream: tuple[Command, ...], *, concurrent: bool) -> None:
        before: Node | None = None
        in_case = node.type == "case_item"
        for child in node.children:
            if child.is_named:
                if before is not None:
                    self.node(before, upstream, concurrent=concurrent)
                before = child
                continue
            operator = child.type
            if operator == "&" and before is not None:
                self.node(before, upstream, concurrent=True)
                before = None
            elif operator in _CASE_ENDS and not in_case:
                raise NotBashError(f"{operator} outside of case")
        if before is not None:
            self.node(before, upstream, concurrent=concurrent)

    def _leaf(self, node: Node, upstream: tuple[Command, ...], *, concurrent: bool) -> None:
        run = self.places.get(node.start_byte)
        if run is None or node.end_byte - node.start_byte > 2:
            raise NotBashError("a keyword or a bracket where bash expects a command")
        self.claimed += 1
        self.reader.emit(run, upstream, self.functions, concurrent=concurrent, data=node.type in _DATA)
        if node.type in ("variable_name", "extglob_pattern"):  # the loop's variable, a pattern of `case`: no path
            self.reader.commands[-1] = self.reader.commands[-1]._replace(data=())

    def _pipeline(self, node: Node, upstream: tuple[Command, ...]) -> None:
        commands, folder = self.reader.commands, self.reader.folder
        for child in node.children:
            if child.is_named:
                start = len(commands)
                self.node(child, upstream, concurrent=True)
                self.reader.folder = folder
                upstream = (*upstream, *commands[start:])

    def _redirected(self, node: Node, upstream: tuple[Command, ...], *, concurrent: bool) -> None:
        commands = self.reader.commands
        start = len(commands)
        for child in node.children:
            if child.type == "file_redirect":
                self.node(child, upstream, concurrent=concurrent)
        upstream = (*upstream, *commands[start:])
        for child in node.children:
            if child.is_named and child.type != "file_redirect":
                self.node(child, upstream, concurrent=concurrent)

    def _function(self, node: Node, upstream: tuple[Command, ...]) -> None:
        name, *rest = [child for child in node.children if child.is_named]
        run = self.places.get(name.start_byte)
        if run is None or len(run.words) != 1:
            raise NotBashError("a function without a plain name")
        body = _Walk(self.reader, self.places, (*self.functions, run.words[0].text), outermost=False)
        folder = self.reader.folder
        for child in rest:
            body.node(child, upstream, concurrent=False)
        self.claimed += body.claimed + 1
        self.reader.folder = folder
        parent, after = node.parent, node.next_sibling
        certain = parent is not None and parent.type == "program" and not (after and after.type == "&")
        if certain and self.outermost:
            self.reader.names.add(run.words[0].text)


def _flat(runs: Items) -> list[list[Run]] | None:
    """The pipelines of what has no structure but pipelines in a row, as most commands do; None for all else.

    The grammar would find the same in it, and takes half of the time to.
    """
    pipelines: list[list[Run]] = []
    may_join = wants_more = pipes = False  # an operator may come; a command must come; it is fed by the one before
    for run in runs:
        if isinstance(run, Run):
            if may_join:
                return None
            if pipes:
                pipelines[-1].append(run)
            else:
                pipelines.append([run])
            may_join, wants_more, pipes = True, False, False
        elif run == "\n":
            may_join = False
        elif may_join and run in _JOINTS:
            may_join, wants_more, pipes = False, run != ";", run == "|"
        else:
            return None
    return None if wants_more else pipelines


def _nested(run: Run) -> list[Items]:
    """The substitutions in all words of a run."""
    found = [runs for word in run.words if word.nested for runs in word.nested]
    for _, words in run.assignments:
        found += [runs for word in words for runs in word.nested]
    for redirect in run.redirects:
        found += redirect.target.nested
    return found


def _changed(folder: str | None, words: tuple[Word, ...]) -> str | None:
    operands = [word for word in words[1:] if not word.text.startswith("-") or word.text == "-"]
    target = operands[0] if operands else Word("~", home=True)
    if (
        words[0].text != "cd"
        or len(operands) > 1
        or target.text == "-"
        or not (target.known or target.text in ("~", "."))
    ):
        return None
    if folder is None and not target.text.startswith(("/", "~")):
        return None
    return target.text if target.text.startswith("~") else posixpath.normpath(posixpath.join(folder or "", target.text))
