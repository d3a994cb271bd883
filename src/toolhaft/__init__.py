"""toolhaft: tools for pydantic-ai agents, as plain async functions."""
