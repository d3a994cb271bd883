"""A small XML file, read safely: elements that know their line, and faults that name it.

A file with a DOCTYPE is refused, as it could declare entities: so none is resolved and nothing is fetched. So is a file
over a megabyte. The parser is the one of the standard library, which pydantic-ai has loaded already.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from toolhaft.exceptions import ToolDefinitionError

LIMIT_BYTES = 1_000_000
_MOST_DEPTH = 200


class Element(NamedTuple):
    """One XML element."""

    tag: str
    attributes: Mapping[str, str]
    content: tuple[str | Element, ...]
    """Texts and elements, in their order."""
    file: Path
    line: int

    @property
    def children(self) -> list[Element]:
        return [part for part in self.content if isinstance(part, Element)]

    @property
    def text(self) -> str:
        """All text of the element and what is in it, without tags and white space around it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.content).strip()

    def fault(self, what: str) -> ToolDefinitionError:
        """An error about this element, for its author."""
        return ToolDefinitionError(f"the prompt {self.file}, line {self.line}: {what}.")


def read_document(file: Path) -> Element:
    """The outermost element of an XML file. Raises `ToolDefinitionError`, which names file and line."""
    return _Reader(file).read()


class _Reader:
    """Makes elements of one file: those that are open stand in a stack, each with what was read of it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._open: list[tuple[str, Mapping[str, str], int, list[str | Element]]] = [("", {}, 1, [])]
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def read(self) -> Element:
        try:
            self._parser.Parse(_read(self._file), True)
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two of an encoding
            raise self._fault(f"is no XML: {error}") from error
        (root,) = self._open[0][3]
        assert isinstance(root, Element)
        return root

    def _doctype(self, *_: object) -> None:
        raise self._fault("has a DOCTYPE, which could declare entities. Remove it, and write them out")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) > _MOST_DEPTH:
            raise self._fault(f"is no XML of a prompt: its elements are more than {_MOST_DEPTH} deep")
        own = {name: value for name, value in attributes.items() if name.partition(":")[0] != "xmlns"}
        self._open.append((tag, own, self._parser.CurrentLineNumber, []))

    def _end(self, _tag: str) -> None:
        tag, attributes, line, content = self._open.pop()
        element = Element(tag=tag, attributes=attributes, content=tuple(content), file=self._file, line=line)
        self._open[-1][3].append(element)

    def _text(self, text: str) -> None:
        self._open[-1][3].append(text)

    def _fault(self, what: str) -> ToolDefinitionError:
        return ToolDefinitionError(f"the prompt {self._file}, line {self._parser.CurrentLineNumber}, {what}.")


def _read(file: Path) -> bytes:
    try:
        if file.exists() and not file.is_file():
            raise ToolDefinitionError(f"the prompt {file} is not a file. Is the path right?")
        with file.open("rb") as stream:
            data = stream.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise ToolDefinitionError(f"the prompt {file} cannot be read: {error.strerror}. Is the path right?") from error
    if len(data) > LIMIT_BYTES:
        raise ToolDefinitionError(f"the prompt {file} is over {LIMIT_BYTES:,} bytes. Shorten it.")
    return data
