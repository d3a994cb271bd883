"""The command line: `toolhaft list | show | call | classify | undo | demo`."""

import sys
from importlib.util import find_spec
from io import TextIOWrapper


def main() -> None:
    """Run the command line; its libraries come with `pip install 'toolhaft[cli]'`."""
    if find_spec("typer") is None:
        print("The command line needs typer, which is not installed. Run: pip install 'toolhaft[cli]'", file=sys.stderr)
        sys.exit(2)
    stdout: object = sys.stdout
    if isinstance(stdout, TextIOWrapper):
        # What cannot be written is escaped, as `\ud800`; in JSON that is the same text.
        stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    from toolhaft.cli.app import app

    app()
