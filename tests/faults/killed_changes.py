"""Kill a change of many files at random moments, or before and after its system calls, and open the workspace again.

    python -m tests.faults.killed_changes at-random FOLDER KILLS
    python -m tests.faults.killed_changes at-every-call FOLDER FILES STEP
    python -m tests.faults.killed_changes killed-again FOLDER FILES STEP

A process of its own with one thread at the start, because it forks. Prints one JSON object.
"""

import json
import os
import random
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.killed_writers import child, killed_at
from toolhaft.workspace import LocalWorkspace

Tree = dict[str, tuple[int, bytes]]


def tree(folder: Path) -> Tree:
    """Return every file and folder below a folder, with mode and content; a link's content is where it leads."""
    found: Tree = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (mode if not stat.S_ISLNK(mode) else 0, content)
    return found


def prepare(root: Path, files: int) -> None:
    """Put old files there, and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "d").mkdir(parents=True)
    for number in range(files):
        path = root / ("d" if number % 2 else ".") / f"{number}.txt"
        path.write_text(f"old {number}")
        path.chmod(0o640 + number % 8)
    (root / "ln").symlink_to("0.txt")


def change_all(root: Path, files: int, tag: str = "new") -> None:
    """Change most of them, remove two, a link among them, rename one, and make one in new folders."""
    workspace = LocalWorkspace(root, allow_delete=True, journal_folder=root.parent / "journal")
    with workspace.change("patch") as change:
        for number in range(2, files):
            path = f"{'d/' if number % 2 else ''}{number}.txt"
            change.write(path, change.read(path).replace(b"old", tag.encode()))
        change.delete("ln")
        change.rename("d/1.txt", "d/renamed.txt")
        change.write("e/f/made.txt", b"made", mode=0o600)
        change.delete("0.txt")  # last, so that all may be done but for the old file that was set aside


def reopened(root: Path) -> Tree:
    """Return the tree after the first operation of a new workspace, which reads."""
    LocalWorkspace(root, journal_folder=root.parent / "journal").open_file(
        "2.txt" if (root / "2.txt").exists() else "0.txt"
    ).close()
    (journal,) = (root.parent / "journal").iterdir()
    assert not (journal / "open").exists() or os.listdir(journal / "open") == []
    return tree(root)


def both(root: Path, files: int) -> tuple[Tree, Tree]:
    """Return the old and the new tree."""
    prepare(root, files)
    old = tree(root)
    change_all(root, files)
    return old, tree(root)


def at_random(root: Path, kills: int) -> dict[str, int]:
    """Kill a process that changes 20 files, somewhere in the time that takes."""
    old, new = both(root, 20)
    prepare(root, 20)
    start = time.monotonic()
    os.waitpid(child(lambda: change_all(root, 20)), 0)
    takes = time.monotonic() - start
    counts = {"old": 0, "new": 0}
    for _ in range(kills):
        prepare(root, 20)
        pid = child(lambda: change_all(root, 20))
        time.sleep(random.uniform(0, takes * 1.2))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        counts[one_of(reopened(root), old, new)] += 1
    return counts


def one_of(found: Tree, old: Tree, new: Tree) -> str:
    """Say which of the two trees was found, or what is wrong."""
    if found in (old, new):
        return "old" if found == old else "new"
    raise AssertionError(
        {
            name: (found.get(name), old.get(name), new.get(name))
            for name in {*found, *old, *new}
            if found.get(name) != old.get(name) or found.get(name) != new.get(name)
        }
    )


def at_every_call(root: Path, files: int, step: int) -> dict[str, int]:
    """Cut the change off at every boundary between the program and the kernel, or at each `step`th."""
    old, new = both(root, files)
    counts = {"old": 0, "new": 0}
    stop = 0
    while True:
        prepare(root, files)
        if not killed_at(stop, lambda: change_all(root, files)):
            return {"stops": stop // step, **counts}
        counts[one_of(reopened(root), old, new)] += 1
        stop += step


def killed_again(root: Path, files: int, step: int) -> dict[str, int]:
    """Cut the change off in the middle of its publishing, and then whoever repairs it, again at every call."""
    old, new = both(root, files)
    counts = {"old": 0, "new": 0}
    stop = 0
    middle = _left_torn(root, files, old, new, 0) + 16
    reopened(root)
    while True:
        middle = _left_torn(root, files, old, new, middle)
        if not killed_at(stop, lambda: reopened(root)):
            return {"stops": stop // step, **counts}
        counts[one_of(reopened(root), old, new)] += 1
        stop += step


def _left_torn(root: Path, files: int, old: Tree, new: Tree, stop: int) -> int:
    """Leave a tree in which some files are published and others not; return the boundary at which it was cut off.

    `stop` is where it was found last time. Threads wait for each other with more calls or fewer, so it moves.
    """
    while True:
        prepare(root, files)
        if not killed_at(stop, lambda: change_all(root, files)):
            stop = 0
            continue
        found = tree(root)
        if all(any(found.get(name) != value for name, value in whole.items()) for whole in (old, new)):
            return stop
        reopened(root)
        stop += 4


def main() -> None:
    """Do what the command line says and print what came out."""
    how, folder, *numbers = sys.argv[1:]
    ways: dict[str, Callable[..., dict[str, int]]] = {
        "at-random": at_random,
        "at-every-call": at_every_call,
        "killed-again": killed_again,
    }
    sys.stdout.write(json.dumps(ways[how](Path(folder), *map(int, numbers))))


if __name__ == "__main__":
    main()
