"""The rows of `cases/paths.jsonl`: build a row's tree, do what it says, judge what happened.

A caller brings only the way to do it: `operate(op, path) -> str` on the tree's root, and the exceptions that count as
a refusal. So the workspace, the tools and whatever comes later answer to the same rows by the same rule.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases" / "paths.jsonl"
SECRET = "TOP-SECRET"
WRITTEN = "written by the test\n"
RACE_TRIES = 2000 if os.environ.get("TOOLHAFT_STRESS") else 200

Operate = Callable[[str, str], str]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case: after building `tree`, `op` on `path` must end in one of `accept`."""

    id: str
    op: str
    path: str
    accept: tuple[str, ...]
    tree: tuple[dict[str, Any], ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Tree:
    """`root` is the workspace, `out` the folder beside it that nothing may reach."""

    base: Path

    @property
    def root(self) -> Path:
        return self.base / "ws"

    @property
    def out(self) -> Path:
        return self.base / "out"

    def fill(self, text: str) -> str:
        return text.replace("{ROOT}", str(self.root)).replace("{OUT}", str(self.out))


def rows(*ops: str) -> list[Row]:
    """Return the rows for these operations."""
    found = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [
        Row(id=row["id"], op=row["op"], path=row["path"], accept=tuple(row["accept"]), tree=row["tree"], why=row["why"])
        for row in found
        if row["op"] in ops
    ]


def build(row: Row, base: Path) -> Tree:
    """Make the tree of a row below `base`, with a secret beside the workspace and one in a home folder."""
    tree = Tree(base=base)
    tree.root.mkdir(parents=True)
    for name in ("out/secret.txt", "home/secret-home.txt"):
        _file(base / name, f"{SECRET}\n".encode())
    for item in row.tree:
        _make(tree, item)
    return tree


def check(row: Row, base: Path, operate: Callable[[Tree], Operate], refusals: tuple[type[Exception], ...]) -> None:
    """Build a row's tree, operate on it, and assert everything the row demands.

    `operate(tree)` gives the function that does one operation: it returns what a caller would see, as text, and
    raises one of `refusals` where it refuses. A write writes `WRITTEN`.
    """
    tree = build(row, base)
    act = operate(tree)
    before = snapshot(tree)
    with _swapping(tree, row) as tries:
        for _ in range(tries):
            outcome = _outcome(row, tree, act, refusals)
            assert outcome in row.accept, f"{row.id}: {outcome}, wanted {row.accept}: {row.why}"
    after = snapshot(tree)
    for name in before.keys() | after.keys():
        if name not in _targets(row, tree):
            assert before.get(name) == after.get(name), f"{row.id} changed {name!r}"


def _outcome(row: Row, tree: Tree, act: Operate, refusals: tuple[type[Exception], ...]) -> str:
    try:
        seen = act(row.op, tree.fill(row.path))
    except UnicodeError as error:
        raise AssertionError(f"{row.id}: an encoding error is no clear refusal") from error
    except refusals as error:
        seen, outcome = str(error), "refused"
    else:
        outcome = "ok"
    assert SECRET not in seen, f"{row.id}: the secret was shown"
    assert seen.strip(), f"{row.id}: {outcome} without a word"
    return outcome


def _targets(row: Row, tree: Tree) -> set[str]:
    """Names that the operation was allowed to change: what the path means, and races make that two names."""
    if row.op not in ("write", "edit", "delete") or "\0" in row.path:
        return set()
    swaps = [name for item in row.tree for name in item.get("race_swap", ())]
    parts = [tree.fill(row.path), *(f"{name}/{Path(row.path).name}" for name in swaps), *swaps]
    real = (os.path.realpath(os.path.join(tree.root, part)) for part in parts)
    return {name for name in real if name.startswith(f"{tree.root}/")} | {str(tree.root / name) for name in swaps}


def snapshot(tree: Tree) -> dict[str, object]:
    """Return kind, mode and content of everything in the workspace and beside it."""
    seen: dict[str, object] = {}
    for folder, folders, files in os.walk(tree.base):
        for name in folders + files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            content: object = None
            if stat.S_ISREG(mode):
                content = Path(path).read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.readlink(path)
            seen[path] = (mode, content)
    return seen


def _file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _make(tree: Tree, item: dict[str, Any]) -> None:
    match item:
        case {"file": name}:
            _file(tree.root / name, item["text"].encode())
        case {"rawfile": name}:
            raw = name.encode().decode("unicode_escape").encode("latin-1")
            _file(tree.root / os.fsdecode(raw), item.get("text", "").encode())
        case {"outfile": name}:
            _file(tree.base / name, item["text"].encode())
        case {"dir": name}:
            (tree.root / name).mkdir(parents=True, exist_ok=True)
        case {"outdir": name}:
            (tree.base / name).mkdir(parents=True, exist_ok=True)
        case {"symlink": name}:
            _link(tree.root / name, tree.fill(item["target"]))
        case {"outsymlink": name}:
            _link(tree.base / name, tree.fill(item["target"]))
        case {"hardlink": name}:
            os.link(os.path.join(tree.root, tree.fill(item["to"])), tree.root / name)
        case {"socket": name}:
            os.mknod(tree.root / name, stat.S_IFSOCK | 0o600)
        case {"fifo": name}:
            os.mkfifo(tree.root / name)
        case {"race_swap": _}:
            return
        case _:
            raise ValueError(f"no way to build {item!r}")
    name = next(iter(item.values()))
    if "mode" in item:
        os.chmod(tree.root / name, int(item["mode"], 8))


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@contextmanager
def _swapping(tree: Tree, row: Row) -> Iterator[int]:
    """Let two names trade places all the time, where the row asks for it; yield how often to try."""
    pairs = [item["race_swap"] for item in row.tree if "race_swap" in item]
    if not pairs:
        yield 1
        return
    with swapping(tree.root, *pairs[0]):
        yield RACE_TRIES


SWAP = """
import os, signal, sys
from toolhaft.workspace.kernel import exchange

going = True

def stop(*_):
    global going
    going = False

signal.signal(signal.SIGTERM, stop)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
pairs = list(zip(sys.argv[2::2], sys.argv[3::2]))
swaps = dict.fromkeys(pairs, 0)
print("swapping", flush=True)
while going or any(count % 2 for count in swaps.values()):
    for pair in pairs:
        try:
            exchange(*pair, dir_fd=fd)
        except FileNotFoundError:  # one of them was removed, which may be what the test is about
            swaps[pair] = 0
        else:
            swaps[pair] += 1
"""


@contextmanager
def swapping(folder: Path, *names: str) -> Iterator[None]:
    """Let pairs of names in a folder trade places as fast as a process can; they end as they began."""
    attacker = subprocess.Popen([sys.executable, "-c", SWAP, str(folder), *names], stdout=subprocess.PIPE, text=True)
    assert attacker.stdout is not None
    assert attacker.stdout.readline() == "swapping\n"
    try:
        yield
    finally:
        attacker.terminate()
        assert attacker.wait() == 0, "the attacker died"
        attacker.stdout.close()
