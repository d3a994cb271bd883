"""The command line: `toolhaft list | show | call | demo`."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line; its libraries come with `pip install 'toolhaft[cli]'`."""
    if find_spec("typer") is None:
        sys.exit("The command line needs typer, which is not installed. Run: pip install 'toolhaft[cli]'")
    from toolhaft.cli.app import app

    app()
