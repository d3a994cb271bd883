"""The verdict on a command line as JSON, for other programs: one command, or one a line from standard input.

Nothing is run, and nothing heavy is imported: no pydantic-ai, no lxml.
"""

import json
from collections.abc import Iterable
from typing import TextIO

from toolhaft.shell import Verdict, classify


def classify_once(command: str, out: TextIO) -> int:
    """Write the verdict on one command; 0."""
    _write(command, classify(command), out)
    return 0


def classify_lines(lines: Iterable[bytes], out: TextIO) -> int:
    """Answer each line, a JSON string, with one line, in order; 0 when every line was answered."""
    for line in lines:
        try:
            command = json.loads(line)
        except (ValueError, RecursionError) as error:
            _refuse(f"the line is not JSON: {error}", out)
            continue
        if isinstance(command, str):
            classify_once(command, out)
        else:
            _refuse(f"the line is JSON but no string: it is a {type(command).__name__}", out)
    return 0


def _write(command: str, verdict: Verdict, out: TextIO) -> None:
    paths = [path._asdict() for path in verdict.paths]
    _line({"command": command, "verdict": verdict.level, "reason": verdict.reason, "paths": paths}, out)


def _refuse(reason: str, out: TextIO) -> None:
    """Answer a line that holds no command: what is not understood is dangerous, never safe."""
    reason = f'not understood: {reason}. Write the command as a JSON string, such as "ls -l"'
    _line({"command": None, "verdict": "dangerous", "reason": reason, "paths": []}, out)


def _line(answer: dict[str, object], out: TextIO) -> None:
    # In ASCII, so that no reader takes U+2028 or the like for the end of the line.
    out.write(json.dumps(answer) + "\n")
    out.flush()
