"""What an annotation of a tool means to a model."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_ai import BinaryContent, RunContext, ToolReturn
from pydantic_ai.messages import AudioUrl, DocumentUrl, ImageUrl, VideoUrl

READABLE = (str, BinaryContent, ToolReturn, ImageUrl, AudioUrl, DocumentUrl, VideoUrl)


def is_context(annotation: Any) -> bool:
    """Whether this is pydantic-ai's `RunContext`, which is no parameter to a model."""
    return annotation is RunContext or get_origin(annotation) is RunContext


def is_text(annotation: Any) -> bool:
    """Whether a model can read such a result as it is: text, media, lists and unions of them."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return is_text(inner[0])
    if origin is Literal:
        return all(isinstance(value, str) for value in inner)
    if origin in (Union, UnionType, list):
        return all(is_text(one) for one in inner)
    plain = origin or annotation
    return isinstance(plain, type) and issubclass(plain, READABLE)
