"""Searches in workspaces of every kind: a local folder, behind a policy, elsewhere; and what is kept between them."""

import asyncio
import os
import posixpath
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    LocalWorkspaceBackend,
    Workspace,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WrapperWorkspace,
)

from tests import BUSY_TIMES
from tests.path_cases import swapping
from toolhaft.searching.errors import SearchError
from toolhaft.searching.glob import compile_glob
from toolhaft.searching.query import Query, Scope
from toolhaft.searching.results import Found, Reason
from toolhaft.workspace import (
    LocalWorkspace,
    PathTraversalError,
    ripgrep_elsewhere,
    search,
    search_tree,
    steady,
    use_workspace,
)
from toolhaft.workspace import listings as listings_module
from toolhaft.workspace.listings import Listings
from toolhaft.workspace.ripgrep import ripgrep_binary
from toolhaft.workspace.search import search_contents, search_names
from toolhaft.workspace.search_tree import quick_tree
from toolhaft.workspace.temporary import temporary_name

FILES = 100_000 if os.environ.get("TOOLHAFT_STRESS") else 10_000
SWAPS = 600 if os.environ.get("TOOLHAFT_STRESS") else 30
REPEATS = 5 if os.environ.get("TOOLHAFT_STRESS") else 1


class Counting(WrapperWorkspace):
    """Somebody's policy: it sees every file that is read."""

    def __init__(self, wrapped: Workspace) -> None:
        super().__init__(wrapped)
        self.read: list[str] = []

    async def read_bytes(self, path: str) -> bytes:
        self.read.append(path)
        return await super().read_bytes(path)


class InMemory:
    """A backend elsewhere: files are bytes in a dict, there are no links and no shell."""

    ref = None

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = {f"/srv/{name}": data for name, data in files.items()}

    async def working_dir(self) -> str:
        return "/srv"

    async def read_bytes(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    async def write_bytes(self, path: str, data: bytes) -> None:
        raise NotImplementedError

    async def exists(self, path: str) -> bool:
        raise NotImplementedError

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        names = {name.removeprefix(f"{path}/").partition("/")[0] for name in self.files if name.startswith(f"{path}/")}
        return [await self.stat(f"{path}/{name}") for name in sorted(names)]

    async def stat(self, path: str) -> FileEntry:
        if path in self.files:
            return FileEntry(name=posixpath.basename(path), path=path, is_dir=False, size=len(self.files[path]))
        if any(name.startswith(f"{path}/") for name in self.files):
            return FileEntry(name=posixpath.basename(path), path=path, is_dir=True, size=None)
        raise FileNotFoundError(path)

    async def make_dir(self, path: str) -> None:
        raise NotImplementedError

    async def remove(self, path: str) -> None:
        raise NotImplementedError


class Elsewhere(LocalWorkspaceBackend):
    """A backend that runs commands, in which there is the `rg` that is given, and notes the files that it is asked for.

    `harm` is done to what a command wrote.
    """

    def __init__(self, root: Path, rg: str | None, harm: str = "") -> None:
        folders = [os.path.dirname(rg)] if rg else []
        super().__init__(root, env={"PATH": os.pathsep.join([*folders, os.defpath] if rg else ["/nowhere"])})
        self.harm = harm
        self.read: list[str] = []

    async def read_bytes(self, path: str) -> bytes:
        self.read.append(path)
        return await super().read_bytes(path)

    async def run(
        self,
        command: str | Sequence[str],
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        done = await super().run(command, shell=shell, env=env, timeout=timeout)
        if self.harm == "cut off":
            raise WorkspaceOutputLimitError("too much", limit=1)
        said = {"lost NULs": ("\0", ""), "an old rg": ("ripgrep 1", "ripgrep 1.")}.get(self.harm, ("", ""))
        return replace(done, stdout=done.stdout.replace(*said)) if self.harm else done


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with something to leave out, a link that stays inside, one that leads out and a circle."""
    root = tmp_path / "root"
    for name in ("a.txt", "lib/b.txt", "build/c.txt", ".env"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\n")
    (root / ".gitignore").write_text("build\n")
    (root / "lib" / "up").symlink_to("..")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("needle\n")
    (root / "out").symlink_to("../out")
    return root


async def needle(target: object, path: str = ".", scope: Scope | None = None) -> Found:
    with use_workspace(target) as place:  # pyright: ignore[reportArgumentType]
        return await search_contents(place, path, Query(pattern="needle", scope=scope or Scope()))


@contextmanager
def coming_and_going(paths: Sequence[str]) -> Iterator[None]:
    """Let another process remove and make files as fast as it can."""
    code = (
        "import os, sys\nprint(flush=True)\n"
        "def make(path):\n    open(path, 'w').write('needle\\n')\n"
        "while True:\n    for path in sys.argv[1:]:\n        make(path), os.unlink(path), make(path)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code, *paths], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    try:
        yield
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
        for path in paths:
            Path(path).unlink(missing_ok=True)


def left_out(found: Found) -> dict[Reason, tuple[int, str]]:
    return {one.reason: (one.count, one.example) for one in found.unsearched}


async def test_every_way_to_the_same_folder_gives_the_same_answer(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By ripgrep, by the Python engine, through a policy, and through another backend's own coroutines."""
    expected = await needle(tree)
    behind = await needle(Counting(Workspace(LocalWorkspace(tree))))
    other = await needle(LocalWorkspaceBackend(tree))
    monkeypatch.setattr(search, "ripgrep_binary", lambda: None)
    plain = await needle(tree)

    assert [file.path for file in expected.files] == ["a.txt", "lib/b.txt"]
    assert left_out(expected) == {
        Reason.IGNORED: (1, "build/"),
        Reason.HIDDEN: (2, ".env"),
        Reason.LINKED_OUT: (1, "out"),
    }
    assert plain == expected
    assert behind.files == expected.files
    # There a link that leads out is known only once it is opened.
    assert left_out(behind).keys() == {Reason.IGNORED, Reason.HIDDEN, Reason.UNREADABLE}
    assert other.files == expected.files


async def test_a_policy_sees_every_file_that_is_searched(tree: Path) -> None:
    policy = Counting(Workspace(LocalWorkspace(tree)))

    await needle(policy)

    assert {"a.txt", "lib/b.txt"} <= {os.path.relpath(path, tree) for path in policy.read}
    assert not any(path.endswith(".env") for path in policy.read)


async def test_a_workspace_elsewhere_is_searched_and_listed_step_by_step() -> None:
    files = {
        "a.txt": b"needle\n",
        "d/b.txt": b"a needle\nx\n",
        "d/c.key": b"needle",
        "e/x": b"xx",
        ".gitignore": b"e/x\n",
    }
    with use_workspace(InMemory(files)) as place:  # pyright: ignore[reportArgumentType]
        found = await search_contents(place, "/srv", Query(pattern="needle", context_lines=1))
        inside = await search_contents(place, "d/b.txt", Query(pattern="needle"))
        listed = await search_names(place, "d", Scope(files=compile_glob("*.*")), sort="size", max_results=1)

        with pytest.raises(SearchError, match="modified"):
            await search_names(place, ".", Scope(), sort="modified", max_results=1)
        with pytest.raises(PathTraversalError):
            await search_contents(place, "../x", Query(pattern="needle"))
        with pytest.raises(FileNotFoundError):
            await search_contents(place, "nowhere", Query(pattern="needle"))
        with pytest.raises(NotADirectoryError):
            await search_names(place, "a.txt", Scope(), max_results=1)

    assert [(file.path, len(file.lines)) for file in found.files] == [("a.txt", 1), ("d/b.txt", 2)]
    assert left_out(found) == {
        Reason.IGNORED: (1, "e/x"), Reason.HIDDEN: (1, ".gitignore"), Reason.SENSITIVE: (1, "d/c.key"),
    }  # fmt: skip
    assert inside.total == 1
    assert (listed.files, listed.total) == (("d/b.txt",), 2)


async def test_a_workspace_elsewhere_that_has_ripgrep_is_searched_by_it(tree: Path) -> None:
    """No file is fetched but ignore files, and the answer is that of the Python engine."""
    place = Elsewhere(tree, ripgrep_binary())

    found = await needle(place)
    many = await needle(place, "lib")

    assert [file.path for file in found.files] == ["a.txt", "lib/b.txt"]
    assert left_out(found).keys() == {Reason.IGNORED, Reason.HIDDEN, Reason.LINKED_OUT}
    assert [file.path for file in many.files] == ["lib/b.txt"]
    assert not any(path.endswith(".txt") for path in place.read)


@pytest.mark.parametrize("harm", ["no rg", "an old rg", "lost NULs", "cut off", "much"])
async def test_without_a_ripgrep_that_can_be_trusted_a_workspace_elsewhere_is_searched_all_the_same(
    tree: Path, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Elsewhere(tree, None if harm == "no rg" else ripgrep_binary(), harm)
    if harm == "much":
        monkeypatch.setattr(ripgrep_elsewhere, "_MOST_OUTPUT_BYTES", 10)

    found = await needle(place)

    assert [file.path for file in found.files] == ["a.txt", "lib/b.txt"]
    assert str(tree / "a.txt") in place.read


async def test_a_ripgrep_elsewhere_that_finds_too_much_is_cut_as_at_home(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}").write_text("needle\n" * 100)

    found = await needle(Elsewhere(tmp_path, ripgrep_binary()))

    assert [file.path for file in found.files] == ["00"]
    assert (found.shown, found.is_complete) == (100, False)


async def test_a_file_elsewhere_that_is_too_large_to_fetch_is_counted_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_tree, "_MOST_FETCHED_BYTES", 10)
    place = InMemory({"d/a.txt": b"needle\n", "d/b.txt": b"needle\n" * 3})

    walked, named = await needle(place), await needle(place, "d/b.txt")

    assert [file.path for file in walked.files] == ["d/a.txt"]
    assert left_out(walked) == {Reason.TOO_LARGE: (1, "d/b.txt")}
    assert named.total == 3


async def test_a_search_that_runs_out_of_time_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with use_workspace(tree) as place:
        monkeypatch.setattr(search, "ripgrep_binary", lambda: None)
        found = await search_contents(place, ".", Query(pattern="needle"), time_limit=0)
        listed = await search_names(place, ".", Scope(), max_results=9, time_limit=0)

    assert Reason.OUT_OF_TIME in left_out(found)
    assert not found.is_complete
    assert not listed.is_complete


async def test_the_temporary_files_of_writers_are_no_part_of_the_tree(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / temporary_name()).write_text("needle\n")

    fast = await needle(tree, scope=Scope(include_hidden=True))
    monkeypatch.setattr(search, "ripgrep_binary", lambda: None)

    assert [file.path for file in fast.files] == ["a.txt", "lib/b.txt"]
    assert await needle(tree, scope=Scope(include_hidden=True)) == fast


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred files a folder, and what a search could wait for, run in circles in or never get out of."""
    root = tmp_path_factory.mktemp("huge")
    for number in range(FILES):
        if number % 100 == 0:
            (root / f"d{number:06}").mkdir()
        (root / f"d{number - number % 100:06}" / f"{number:06}").write_bytes(b"needle\n")
    (root / "torture").write_bytes(b"a" * 50_000 + b"b\n" + b"a" * 50_000 + b"\n")
    (root / "d000000" / "circle").symlink_to("..")
    (root / "d000100" / "here").symlink_to(".")
    os.mkfifo(root / "d000200" / "pipe")
    return root


@pytest.mark.parametrize("engine", ["rg", "python"])
async def test_a_pathological_tree_is_searched_in_a_stable_order(
    huge: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "python":
        monkeypatch.setattr(search, "ripgrep_binary", lambda: None)
    come_and_go = [str(huge / f"d{number:06}" / "zz") for number in range(0, FILES, FILES // 10)]
    patterns = {"(a+)+$": ["torture"], "^needl(e|f)+$": [f"d000000/{n:06}" for n in range(100)]}

    with coming_and_going(come_and_go):
        started = time.monotonic()
        for _ in range(REPEATS):
            for pattern, expected in patterns.items():
                with use_workspace(huge) as place:
                    found = await search_contents(place, ".", Query(pattern=pattern, use_regex=True))
                assert [file.path for file in found.files if not file.path.endswith("zz")][:99] == expected[:99]
        seconds = (time.monotonic() - started) / REPEATS / len(patterns)
        with use_workspace(huge) as place:
            listed = await search_names(place, ".", Scope(), max_results=FILES + 20)

    names = [name for name in listed.files if not name.endswith("zz")]
    assert names == sorted(names)
    assert len(names) == FILES + 1
    assert [(one.reason, one.count) for one in listed.unsearched] == [(Reason.NOT_A_FILE, 1)]
    assert seconds < 50


async def test_many_files_are_listed_and_searched_and_the_loop_goes_on(huge: Path) -> None:
    gaps = list[float]()

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - before)

    watcher = asyncio.create_task(watch())
    found = await needle(huge)
    with use_workspace(huge) as place:
        listed = await search_names(place, ".", Scope(), max_results=3)
    watcher.cancel()

    assert [file.path for file in found.files] == [f"d000000/{number:06}" for number in range(100)]
    assert (listed.files, listed.total) == (("d000000/000000", "d000000/000001", "d000000/000002"), FILES + 1)
    assert sorted(gaps)[len(gaps) * 9 // 10] < 0.02 * BUSY_TIMES


async def test_files_that_come_and_go_during_a_search_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text("needle\n")

    with coming_and_going([str(tmp_path / f"{number}.txt") for number in range(200)]):
        for engine in (search.ripgrep_binary(), None):
            monkeypatch.setattr(search, "ripgrep_binary", lambda engine=engine: engine)
            for _ in range(10):
                found = await needle(tmp_path)
                assert 100 <= found.total <= 200


@pytest.mark.parametrize("pair", [("a.txt", "evil.txt"), ("d", "evil")])
async def test_what_is_swapped_for_a_link_while_ripgrep_runs_leads_nothing_out(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    """Not a line and not a count of a file outside, nor of a sensitive one, wherever the search starts."""
    for folder, text in {"ws": "inside", "out": "SECRET"}.items():
        (tmp_path / folder / "d" / "e").mkdir(parents=True)
        for name in ("a.txt", "d/a.txt", "d/e/a.txt", *(f"d/e/{number}" for number in range(100))):
            (tmp_path / folder / name).write_text(f"{text}\n")
    (tmp_path / "ws" / ".env").write_text("SECRET\n")
    (tmp_path / "ws" / "evil.txt").symlink_to(".env")
    (tmp_path / "ws" / "evil").symlink_to("../out/d")
    found = list[Found]()

    with swapping(tmp_path / "ws", *pair), use_workspace(tmp_path / "ws") as place:
        for number in range(SWAPS):
            with suppress(OSError):  # refused, or gone for a moment
                query = Query(pattern="SECRET", output_mode=("content", "count")[number % 2])
                found.append(await search_contents(place, (".", "d", "d/e")[number % 3], query))

    assert len(found) > SWAPS // 10
    assert [one.total for one in found] == [0] * len(found)


def test_a_file_is_steady_while_no_folder_on_the_way_changes(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "SETTLED_NS", 0)
    (tree / "to").symlink_to("lib")
    (tree / "lib" / "x").mkdir()
    paths = ["a.txt", "lib/b.txt", "lib/x/c", "to/b.txt", "nowhere/a"]
    last_change = max(folder.stat().st_ctime_ns for folder in (tree, tree / "lib", tree / "lib" / "x"))

    def still(since_ns: int) -> set[str]:
        return steady.steady_files(LocalWorkspace(tree).opener, paths, since_ns=since_ns)

    assert still(last_change + 1) == {"a.txt", "lib/b.txt", "lib/x/c"}
    assert still(last_change) < still(last_change + 1)
    assert still(0) == set()


def test_a_folder_is_listed_again_only_when_it_has_changed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listings, root = Listings(), LocalWorkspace(tree).opener
    monkeypatch.setattr(listings_module, "SETTLED_NS", 0)
    while time.time_ns() <= tree.stat().st_ctime_ns:
        pass

    first = listings.scan(root, ".")
    again = listings.scan(root, ".")
    (tree / "new").touch()
    changed = listings.scan(root, ".")

    assert again is first
    assert "new" in changed.files
    assert {*first.files, "new"} == {*changed.files}


def test_a_folder_that_has_just_changed_is_not_kept(tree: Path) -> None:
    listings, root = Listings(), LocalWorkspace(tree).opener

    assert listings.scan(root, ".") is not listings.scan(root, ".")


def test_no_more_is_kept_than_fits(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings_module, "SETTLED_NS", -(10**18))
    monkeypatch.setattr(listings_module, "_MOST_NAMES", 6)
    listings, root = Listings(), LocalWorkspace(tree).opener

    first = listings.scan(root, ".")
    assert listings.scan(root, ".") is first
    listings.scan(root, "lib")

    assert listings.scan(root, ".") is not first


def test_a_folder_that_cannot_be_listed_raises_what_the_root_says(tree: Path) -> None:
    listings, root = Listings(), LocalWorkspace(tree).opener

    for path, error in {"nowhere": FileNotFoundError, "a.txt": NotADirectoryError, "out": PathTraversalError}.items():
        with pytest.raises(error):
            listings.scan(root, path)


def test_a_folder_that_is_gone_is_not_answered_from_what_was_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings_module, "SETTLED_NS", -(10**18))
    listings, root = Listings(), LocalWorkspace(tree).opener
    listings.scan(root, "build")
    shutil.rmtree(tree / "build")

    with pytest.raises(FileNotFoundError):
        listings.scan(root, "build")


def test_what_has_become_no_file_since_it_was_listed_is_not_waited_for(tree: Path) -> None:
    os.mkfifo(tree / "pipe")

    with quick_tree(LocalWorkspace(tree)) as quick, pytest.raises(OSError, match="pipe"):
        quick.open("pipe")


class Forgetful(WrapperWorkspace):
    """A workspace elsewhere that cannot tell the real path of one name, nor anything of another."""

    async def realpath(self, path: str) -> str:
        if path.endswith("nameless"):
            raise WorkspaceError(path)
        return await super().realpath(path)

    async def stat(self, path: str) -> FileEntry:
        if path.endswith("gone"):
            raise FileNotFoundError(path)
        return await super().stat(path)


async def test_a_workspace_elsewhere_that_cannot_tell_of_a_link_is_searched_without_it(tree: Path) -> None:
    (tree / "nameless").symlink_to("lib")
    (tree / "gone").symlink_to("lib")

    found = await needle(Forgetful(Workspace(LocalWorkspaceBackend(tree))))

    assert [file.path for file in found.files] == ["a.txt", "lib/b.txt"]
    assert found.is_complete
