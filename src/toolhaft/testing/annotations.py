"""What an annotation of a tool means to a model."""

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic_ai import BinaryContent, ToolReturn
from pydantic_ai.messages import AudioUrl, DocumentUrl, ImageUrl, VideoUrl

from toolhaft.arguments import without_annotated

READABLE = (str, BinaryContent, ToolReturn, ImageUrl, AudioUrl, DocumentUrl, VideoUrl)


def is_text(annotation: Any) -> bool:
    """Whether a model can read such a result as it is: text, media, lists and unions of them."""
    plain = without_annotated(annotation)
    origin, inner = get_origin(plain), get_args(plain)
    if origin is Literal:
        return all(isinstance(value, str) for value in inner)
    if origin in (Union, UnionType, list):
        return all(is_text(one) for one in inner)
    kind = origin or plain
    return isinstance(kind, type) and issubclass(kind, READABLE)
