"""A small XML file, read safely: elements that know their line, and faults that name it.

Nothing is fetched, no entity is resolved and no DTD is loaded. A file with a DOCTYPE is refused, as it could declare
entities; so is one over a megabyte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree as _etree  # pyright: ignore[reportUnknownVariableType, reportMissingTypeStubs, reportAttributeAccessIssue]

from toolhaft.exceptions import ToolDefinitionError

LIMIT_BYTES = 1_000_000

etree: Any = _etree  # pyright: ignore[reportUnknownVariableType] - lxml has no types


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
    data = _read(file)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ToolDefinitionError(f"the prompt {file}, line {error.lineno or 1}, is no XML: {error.msg}.") from error
    if root.getroottree().docinfo.doctype:
        raise ToolDefinitionError(
            f"the prompt {file}, line 1, has a DOCTYPE, which could declare entities. Remove it, and write them out."
        )
    return _element(root, file)


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


def _element(node: Any, file: Path) -> Element:
    tag = etree.QName(node).localname
    return Element(
        tag=tag if node.prefix is None else f"{node.prefix}:{tag}",
        attributes=dict(node.attrib),
        content=tuple(_content(node, file)),
        file=file,
        line=node.sourceline or 1,
    )


def _content(node: Any, file: Path) -> Iterator[str | Element]:
    if node.text:
        yield node.text
    for child in node:
        yield _element(child, file)
        if child.tail:
            yield child.tail
