"""JSON whose numbers stay what they are: 2^60 is not rounded, 1.10 keeps its zero, and a Decimal is a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from pydantic import SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

# Python makes no integer of more digits out of a text.
_MOST_DIGITS = 4_000


def parse_json(text: str) -> Any:
    """The value of a JSON text, fractions as `Decimal`. Raises `ValueError`, and `RecursionError` for one too deep."""
    return json.loads(text, parse_float=Decimal, parse_int=_whole)


def json_text(value: Any) -> str:
    """A value as JSON text: what pydantic can write, with secrets told and numbers exact."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        fields = (f"{json_text(scalar_text(key))}: {json_text(one)}" for key, one in items)
        return "{" + ", ".join(fields) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(json_text, cast("list[Any]", value))) + "]"
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else "null"
    told = plain(value)
    return json_text(told) if isinstance(told, Mapping | list) else json.dumps(told, ensure_ascii=False)


def plain(value: Any) -> Any:
    """One value as text, number, boolean or None, as pydantic writes it; a secret as what it is."""
    if isinstance(value, SecretStr | SecretBytes):
        value = value.get_secret_value()
    return None if isinstance(value, float) and not math.isfinite(value) else to_jsonable_python(value)


def scalar_text(value: Any) -> str:
    """A value as it stands in a URL or a header: text as it is, anything else as in JSON."""
    told = value if isinstance(value, Decimal) else plain(value)
    return told if isinstance(told, str) else json_text(told)


def _whole(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MOST_DIGITS else Decimal(digits)
