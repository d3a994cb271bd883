"""What there is: names, prompts, descriptions."""

import json
import sys

from toolhaft.registry import Registry, ToolNotFoundError
from toolhaft.spec import tool_spec


def print_names(group: str) -> int:
    """Print the names of a group, without importing a tool."""
    try:
        names = Registry().register_all().names_of([group])
    except ToolNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(names))
    return 0


def print_prompts(group: str) -> int:
    """Print each tool with its prompt file; 1 when a tool has none."""
    missing = 0
    for tool in Registry().register_all().select([group]):
        spec = tool_spec(tool)
        missing += spec.prompt_file is None
        print(f"{spec.name}\t{spec.prompt_file or 'NO PROMPT'}")
    return 1 if missing else 0


def print_tool(name: str, *, schema: bool) -> int:
    """Print a tool's card: kind, description, parameters; or its schema."""
    registry = Registry().register_all()
    try:
        tool = registry.get(name)
    except ToolNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if schema:
        print(json.dumps(registry.schemas([name])[0], indent=2, ensure_ascii=False))
        return 0
    spec = tool_spec(tool)
    print(f"{spec.name} ({spec.kind}{', sensitive' if spec.sensitive else ''})\n\n{spec.description}\n\nParameters:")
    required = spec.schema.get("required", [])
    for parameter, about in spec.schema.get("properties", {}).items():
        wanted = "required" if parameter in required else f"default {json.dumps(about.get('default'))}"
        print(f"  {parameter} ({wanted}): {about.get('description', '')}")
    return 0
