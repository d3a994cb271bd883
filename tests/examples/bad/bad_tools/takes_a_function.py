"""The fault: a field of its argument is a function, which no JSON can carry: decorating it fails."""

from collections.abc import Callable

from pydantic import BaseModel, Field

from toolhaft import base_tool


class Errand(BaseModel):
    """What to do."""

    text: str = Field(description="What to say.")
    afterwards: Callable[[], None] = Field(description="What to call.")


@base_tool
async def takes_a_function(errand: Errand) -> str:
    """Say the text again, as it was given."""
    errand.afterwards()
    return errand.text
