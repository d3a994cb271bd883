"""Run every edit and patch case through the tools in this process, then again as another user.

    python -m tests.tools.editing_cases_as_user [UID]

Not through pytest, because an ordinary user often cannot read the interpreter and the checkout that root uses: the
first run loads every module that the second needs. Prints the second run's outcomes as one JSON object.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tools.test_editing_cases import EDITS, PATCHES, test_every_edit_case_holds, test_every_patch_case_holds

Cases = list[tuple[str, Any, dict[str, Any]]]


def cases() -> Cases:
    """Return every case: its name, the test of its kind and its row."""
    edits: Cases = [(f"{row['id']}-{row['name']}", test_every_edit_case_holds, row) for row in EDITS]
    return edits + [(case["name"], test_every_patch_case_holds, case) for case in PATCHES]


def outcomes() -> Iterator[tuple[str, str]]:
    """Run every case in a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        for name, test, row in cases():
            root = Path(tempfile.mkdtemp(dir=folder)).resolve()
            try:
                asyncio.run(test(row, root))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this case's outcome
                yield name, f"failed: {error!r}"
            else:
                yield name, "passed"


def main() -> None:
    """Run once, become another user if one is given and run again; print the last outcomes."""
    if sys.argv[1:]:
        list(outcomes())
        os.setgroups([])
        os.setgid(int(sys.argv[1]))
        os.setuid(int(sys.argv[1]))
    sys.stdout.write(json.dumps(dict(outcomes())))


if __name__ == "__main__":
    main()
