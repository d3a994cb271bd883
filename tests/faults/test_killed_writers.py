"""Whenever a writer is killed, the file is the old one or the new one, and nothing is left for long."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import killed_writers

ROOT = Path(__file__).parents[2]
KILLS = 1000 if os.environ.get("TOOLHAFT_STRESS") else 100


def run(*arguments: str) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.faults.killed_writers", *arguments]
    child = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if child.returncode == killed_writers.CANNOT_TRACE:
        pytest.skip("this machine does not let a process trace its own child")
    assert child.returncode == 0, child.stderr
    return dict(json.loads(child.stdout))


def test_a_file_of_5_mb_survives_writers_killed_at_random(tmp_path: Path) -> None:
    outcome = run("at-random", str(tmp_path), str(KILLS))

    assert outcome["kills"] == KILLS
    assert outcome["most_leftovers"] <= 1
    assert outcome["after_next_writer"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace works otherwise elsewhere")
@pytest.mark.parametrize("kind", ["create", "overwrite", "append", "swap"])
def test_a_file_survives_a_writer_killed_at_any_system_call(tmp_path: Path, kind: str) -> None:
    outcome = run("at-every-call", str(tmp_path), kind)

    assert outcome["stops"] > 50
    assert outcome["old"] > 0
    assert outcome["new"] > 0
