"""Patches of whole trees, as git makes them: where `git apply` accepts one, the tool gives the same tree or says why.

Files are added, changed, deleted, renamed, copied and given modes, several at once, on the tree that the patch was made
from and on one that somebody has changed since.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic_ai import ModelRetry

from tests.tools.test_editing_cases import state
from toolhaft import LocalWorkspace, use_workspace
from toolhaft.tools import apply_patch

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1
NAMES = ["a.txt", "b.txt", "d/c.txt", "d/my file.txt", "ä.txt"]
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}

Tree = dict[str, tuple[list[int], bool]]
"""The numbers that stand on a file's lines, and whether it can be executed."""

files = st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=12, unique=True), st.booleans())
trees = st.dictionaries(st.sampled_from(NAMES), files, min_size=1, max_size=4)
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "change", "delete", "rename", "copy", "mode"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=4,
)


def after(tree: Tree, changes: list[tuple[str, str, str, int]]) -> Tree:
    """The tree after some steps; a step that is about no file, or would overwrite one, is left out."""
    tree = dict(tree)
    for kind, name, other, number in changes:
        lines, executable = tree.get(name, ([], False))
        if kind == "add" and name not in tree:
            tree[name] = [number, number + 1], bool(number % 2)
        elif name not in tree or (kind in ("rename", "copy") and other in tree):
            continue
        elif kind == "change":
            at = number % len(lines)
            tree[name] = [*lines[:at], number + 100, *lines[at + number % 2 :]], executable
        elif kind == "mode":
            tree[name] = lines, not executable
        elif kind == "copy":
            tree[other] = tree[name]
        else:
            moved = tree.pop(name)
            if kind == "rename":
                tree[other] = moved
    return tree


def write(folder: Path, tree: Tree) -> None:
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, (lines, executable) in tree.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"line {number}\n" for number in lines))
        path.chmod(0o755 if executable else 0o644)


def git(folder: Path, *arguments: str, patch: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **GIT}
    return subprocess.run(["git", *arguments], cwd=folder, input=patch, text=True, capture_output=True, env=environment)


def patch_between(folder: Path, old: Tree, new: Tree) -> str:
    write(folder, old)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "old", "--allow-empty")
    write(folder, new)
    git(folder, "add", "-A")
    return git(folder, "diff", "--cached", "-M", "-C", "--find-copies-harder", "HEAD").stdout


def found(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """The files there, without folders: git keeps none that is empty."""
    return {path: (mode & 0o777, content) for path, (mode, content) in state(folder).items() if mode & 0o100000}


def applied(folder: Path, patch: str) -> str:
    """Apply a patch with the tool; return why it was refused, empty where it was not."""
    with use_workspace(LocalWorkspace(folder, allow_delete=True)):
        try:
            asyncio.run(apply_patch(patch))
        except ModelRetry as refused:
            return str(refused)
    return ""


@given(tree=trees, changes=steps, since=st.one_of(st.just([]), steps))
@settings(max_examples=25 * STRESS, deadline=None)
def test_a_patch_of_a_tree_does_what_git_does(
    tree: Tree, changes: list[tuple[str, str, str, int]], since: list[tuple[str, str, str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository, theirs, ours = (Path(folder, name) for name in ("repository", "theirs", "ours"))
        for path in (repository, theirs, ours):
            path.mkdir()
        patch = patch_between(repository, tree, after(tree, changes))
        for path in (theirs, ours):
            write(path, after(tree, since))
        before = found(ours)

        done = git(theirs, "apply", "-", patch=patch)
        why = applied(ours, patch)

        event(f"git {'accepts' if done.returncode == 0 else 'refuses'}, {'refused' if why else 'applied'}")
        if why:
            assert found(ours) == before
        if done.returncode == 0 and not why:
            assert found(ours) == found(theirs)
        if done.returncode == 0 and since == [] and patch:
            assert not why
