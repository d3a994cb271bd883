"""What a prompt file may hold, and what it then means.

The text of a description is taken to the letter, with one exception. White space around it is dropped; where it begins
on a line of its own, the indentation that all its lines share is dropped too, as that belongs to the XML file. Elements
inside it stay, as tags: `a <b>c</b> d` reads so for the model too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from toolhaft.prompts.document import Element, read_document

JSON_TYPES = {
    "string": "string",
    "str": "string",
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "dict": "object",
}
"""The words for types that a prompt may use, and the JSON type that each means."""


class PromptParameter(NamedTuple):
    """What a prompt says of one parameter; None where it says nothing."""

    name: str
    description: str | None
    required: bool | None
    type: str | None
    enum: tuple[str, ...]
    where: str
    """File and line, for errors."""


class Prompt(NamedTuple):
    """The prompt of one tool, as its file says it."""

    file: Path
    description: str
    parameters: tuple[PromptParameter, ...] | None
    """None where the file has no `<parameters>`, and so says nothing about them."""


def load_prompt(file: Path) -> Prompt:
    """The prompt in a file. Raises `ToolDefinitionError`, naming file and line, for any fault in it."""
    root = read_document(file)
    if root.tag != "tool_prompt":
        raise root.fault(f"the outermost element is <{root.tag}>. Let it be <tool_prompt>")
    parts = _parts(root, once=("description", "parameters"))
    if "description" not in parts:
        raise root.fault("there is no <description>. Say in it what the tool does")
    description = _description(parts["description"][0])
    if not description:
        raise parts["description"][0].fault("the <description> is empty. Say in it what the tool does")
    parameters = tuple(_parameters(parts["parameters"][0])) if "parameters" in parts else None
    return Prompt(file=file, description=description, parameters=parameters)


def _parameters(element: Element) -> Iterator[PromptParameter]:
    seen: set[str] = set()
    for child in _parts(element, many=("parameter",)).get("parameter", []):
        parameter = _parameter(child)
        if parameter.name in seen:
            raise child.fault(f"the parameter {parameter.name!r} comes twice. Remove one")
        seen.add(parameter.name)
        yield parameter


def _parameter(element: Element) -> PromptParameter:
    name = element.attributes.get("name", "").strip()
    if not name:
        raise element.fault('a <parameter> has no name. Write <parameter name="...">')
    parts = _parts(element, once=("description", "type"), many=("enum",), attributes=("name", "required"))
    enum = tuple(value.text for value in parts.get("enum", []))
    if len(set(enum)) < len(enum):
        raise element.fault(f"the parameter {name!r} has the same <enum> twice. Remove one")
    return PromptParameter(
        name=name,
        description=_description(parts["description"][0]) or None if "description" in parts else None,
        required=_required(element),
        type=_type(parts["type"][0]) if "type" in parts else None,
        enum=enum,
        where=f"{element.file}, line {element.line}",
    )


def _required(element: Element) -> bool | None:
    written = element.attributes.get("required")
    if written is None:
        return None
    if written.strip().lower() not in ("true", "false"):
        raise element.fault(f"required={written!r} is neither true nor false. Write one of them")
    return written.strip().lower() == "true"


def _type(element: Element) -> str:
    if element.text not in JSON_TYPES:
        raise element.fault(f"the type {element.text!r} is unknown. Use one of {', '.join(JSON_TYPES)}")
    return JSON_TYPES[element.text]


def _parts(
    element: Element,
    *,
    once: tuple[str, ...] = (),
    many: tuple[str, ...] = (),
    attributes: tuple[str, ...] = (),
) -> dict[str, list[Element]]:
    """The child elements by name. Anything else in the element is a fault."""
    for name in element.attributes:
        if name not in attributes:
            raise element.fault(f"the attribute {name!r} is unknown in <{element.tag}>. Remove it")
    for text in element.content:
        if isinstance(text, str) and text.strip():
            raise element.fault(f"the text {text.strip()[:40]!r} stands alone in <{element.tag}>. Move it")
    found: dict[str, list[Element]] = {}
    for child in element.children:
        if child.tag not in once + many:
            known = ", ".join(f"<{name}>" for name in once + many)
            raise child.fault(f"<{child.tag}> is unknown in <{element.tag}>. Use {known}")
        if child.tag in once and child.tag in found:
            raise child.fault(f"<{child.tag}> comes twice in <{element.tag}>. Remove one")
        found.setdefault(child.tag, []).append(child)
    return found


def _description(element: Element) -> str:
    written = "".join(_written(element))
    begins_on_its_own_line = written.lstrip(" \t").startswith("\n")
    return (dedent(written) if begins_on_its_own_line else written).strip()


def _written(element: Element) -> Iterator[str]:
    """The content as it reads: texts to the letter, elements as tags."""
    for part in element.content:
        if isinstance(part, str):
            yield part
            continue
        attributes = "".join(f' {name}="{value}"' for name, value in part.attributes.items())
        yield f"<{part.tag}{attributes}"
        yield from (">", *_written(part), f"</{part.tag}>") if part.content else ("/>",)
