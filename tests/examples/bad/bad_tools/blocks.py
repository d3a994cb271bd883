"""The fault: the function is neither async nor decorated."""


def blocks(text: str) -> str:
    """Say the text again, as it was given."""
    return text
