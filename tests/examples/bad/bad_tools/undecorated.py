"""The fault: the function is not decorated."""


async def undecorated(text: str) -> str:
    """Say the text again, as it was given."""
    return text
