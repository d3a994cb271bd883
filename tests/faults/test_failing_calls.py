"""System calls that fail or do half: below Python, with a preloaded library that makes them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPEATS = 50 if os.environ.get("TOOLHAFT_STRESS") else 5

pytestmark = pytest.mark.needs("gcc")

WRITE = """
import os, sys
from toolhaft.workspace import LocalWorkspace
workspace = LocalWorkspace(sys.argv[1])
for number in range(int(sys.argv[3])):
    os.environ["FAULT"] = sys.argv[2]
    try:
        workspace.replace_file("a.txt", b"new" * 1000, mode=sys.argv[4])
    except OSError as error:
        print(error)
    del os.environ["FAULT"]
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("library") / "failing_calls.so"
    source = Path(__file__).parent / "failing_calls.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(built), str(source), "-ldl"], check=True)
    return built


def write(folder: Path, library: Path, fault: str, *, number: int = 5, mode: str = "overwrite") -> list[str]:
    (folder / "a.txt").write_bytes(b"old")
    child = subprocess.run(
        [sys.executable, "-c", WRITE, str(folder), fault, str(REPEATS), mode],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(library), "FAULT_ERROR": str(number)},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.splitlines()


@pytest.mark.parametrize("number", [5, 28], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("fault", ["fsync", "close"])
@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_disk_that_fails_at_the_end_leaves_the_old_file(
    tmp_path: Path, library: Path, fault: str, number: int, mode: str
) -> None:
    errors = write(tmp_path, library, fault, number=number, mode=mode)

    assert errors == [f"[Errno {number}] {os.strerror(number)}: 'a.txt'"] * REPEATS
    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_writes_of_one_byte_and_interrupts_give_the_exact_content(tmp_path: Path, library: Path, mode: str) -> None:
    errors = write(tmp_path, library, "short", mode=mode)

    assert errors == []
    whole = b"new" * 1000
    assert (tmp_path / "a.txt").read_bytes() == (whole if mode == "overwrite" else b"old" + whole * REPEATS)
