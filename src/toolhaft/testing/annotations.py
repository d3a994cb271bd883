"""What an annotation of a tool means to a model."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_ai import BinaryContent, ToolReturn
from pydantic_ai.messages import AudioUrl, DocumentUrl, ImageUrl, VideoUrl

READABLE = (str, BinaryContent, ToolReturn, ImageUrl, AudioUrl, DocumentUrl, VideoUrl)


def without_annotated(annotation: Any) -> Any:
    """The type itself, without what `Annotated` adds to it."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


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
