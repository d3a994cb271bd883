"""Where git accepts a patch, we give the same file or refuse it for a reason that git does not look at."""

import os
import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.editing.trees import patched
from toolhaft.editing.diff import unified_diff
from toolhaft.editing.patch_model import PatchError
from toolhaft.editing.refusal import Reason

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
STRICTER_THAN_GIT = {Reason.AMBIGUOUS, Reason.CONFLICT, Reason.SAME}

some_lines = st.lists(st.sampled_from("abcdef"), max_size=25)
edits = st.lists(st.tuples(st.integers(0, 25), st.sampled_from(["", "a", "b", "q"])), max_size=4)


def edited(lines: list[str], changes: list[tuple[int, str]]) -> str:
    lines = list(lines)
    for at, line in changes:
        if line:
            lines.insert(min(at, len(lines)), line)
        elif lines:
            lines.pop(min(at, len(lines) - 1))
    return "".join(f"{line}\n" for line in lines)


@given(lines=some_lines, ours=edits, theirs=edits)
@settings(max_examples=60 * STRESS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_patch_of_a_file_that_has_changed_since(
    tmp_path: Path, lines: list[str], ours: list[tuple[int, str]], theirs: list[tuple[int, str]]
):
    patch = unified_diff(edited(lines, []), edited(lines, ours), path="f.txt").text
    (tmp_path / "f.txt").write_text(edited(lines, theirs))
    git = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, text=True, capture_output=True)
    try:
        after, reasons = patched({"f.txt": edited(lines, theirs)}, patch)["f.txt"], set[Reason]()
    except PatchError as refused:
        after, reasons = None, {problem.reason for problem in refused.problems}

    if git.returncode == 0 and patch:
        assert after == (tmp_path / "f.txt").read_text() or (reasons and reasons <= STRICTER_THAN_GIT)
