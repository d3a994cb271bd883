"""Which workspace a tool acts in, and that nothing it does goes around a policy wrapper."""

import asyncio
import os
import posixpath
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import LocalWorkspace as LocalWorkspaceCapability
from pydantic_ai.models.test import TestModel
from pydantic_ai.workspaces import (
    FileEntry,
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    Workspace,
    WorkspaceReadOnlyError,
    WrapperWorkspace,
)

from toolhaft.workspace import Files, LocalWorkspace, PathTraversalError, use_workspace, workspace
from toolhaft.workspace.current import ToolWorkspace
from toolhaft.workspace.folders import DirEntry
from toolhaft.workspace.lines import LineIndex
from toolhaft.workspace.pages import Binary, Page, PageError
from toolhaft.workspace.text import NotTextError


class Upper(WrapperWorkspace):
    """Somebody's policy: whatever is read comes out in capitals."""

    async def read_bytes(self, path: str) -> bytes:
        return (await super().read_bytes(path)).upper()


class InMemory:
    """A backend elsewhere: files are bytes in a dict, and there is no shell."""

    ref = None

    def __init__(self, **files: bytes) -> None:
        self.files = {f"/srv/{name}": data for name, data in files.items()}

    async def working_dir(self) -> str:
        return "/srv"

    async def read_bytes(self, path: str) -> bytes:
        return self.files[path]

    async def write_bytes(self, path: str, data: bytes) -> None:
        self.files[path] = data

    async def exists(self, path: str) -> bool:
        return path in self.files

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return [
            FileEntry(name=posixpath.basename(path), path=path, is_dir=False, size=len(data))
            for path, data in self.files.items()
        ]

    async def stat(self, path: str) -> FileEntry:
        raise NotImplementedError

    async def make_dir(self, path: str) -> None:
        raise NotImplementedError

    async def remove(self, path: str) -> None:
        raise NotImplementedError


def wrapped(folder: Path, kind: str) -> Any:
    """Return a way to the same folder, with direct access or through something that stands before it."""
    inner = Workspace(LocalWorkspace(folder))
    return {
        "path": folder,
        "local": LocalWorkspace(folder),
        "plain": inner,
        "twice": ToolWorkspace(ToolWorkspace(inner)),
        "pydantic-ai": LocalWorkspaceBackend(folder),
        "wrapper": WrapperWorkspace(inner),
        "read-only": ReadOnlyWorkspace(inner),
    }[kind]


READERS = ["path", "local", "plain", "twice", "pydantic-ai", "wrapper", "read-only"]
WRITERS = ["path", "local", "plain", "twice", "pydantic-ai", "wrapper"]


async def text_of(place: ToolWorkspace, path: str, **options: int) -> tuple[str, ...]:
    """Return the lines of a page that must be one of text."""
    page = await place.read_page(path, **options)
    assert isinstance(page, Page)
    return page.lines


def test_a_local_workspace_has_direct_access(tmp_path: Path) -> None:
    assert isinstance(LocalWorkspace(tmp_path), Files)
    assert not isinstance(LocalWorkspaceBackend(tmp_path), Files)


@pytest.mark.parametrize("kind", READERS)
async def test_pages_and_listings_are_the_same_through_every_workspace(tmp_path: Path, kind: str) -> None:
    (tmp_path / "b.txt").write_bytes(b"one\r\ntwo\nthree")
    (tmp_path / "a").mkdir()

    with use_workspace(wrapped(tmp_path, kind)):
        place = workspace()
        assert await text_of(place, "b.txt", offset=2) == ("two", "three")
        assert await text_of(place, str(tmp_path / "b.txt"), offset=-1) == ("three",)
        assert [(entry.name, entry.is_dir, entry.size) for entry in await place.scan_dir(".")] == [
            ("a", True, None),
            ("b.txt", False, 14),
        ]
        with pytest.raises(FileNotFoundError):
            await place.read_page("missing")
        with pytest.raises(IsADirectoryError):
            await place.read_page("a")
        with pytest.raises(PageError, match=r"'b.txt' \(3 lines\)"):
            await place.read_page("b.txt", offset=9)


@pytest.mark.parametrize("kind", WRITERS)
async def test_writes_are_the_same_through_every_workspace(tmp_path: Path, kind: str) -> None:
    with use_workspace(wrapped(tmp_path, kind)) as place:
        made = await place.write_file("src/new.txt", "grün\n")
        added = await place.write_file("src/new.txt", "more\n", mode="append")
        with pytest.raises(FileExistsError):
            await place.write_file("src/new.txt", "lost?")
        replaced = await place.write_file("src/new.txt", "new\r\n", mode="overwrite")
        crlf = await place.write_file("src/new.txt", "end\n", mode="append")
        from_nothing = await place.write_file("other.txt", "x", mode="append")

    assert (made.path, made.created, made.size) == ("src/new.txt", True, 6)
    assert (added.created, added.size) == (False, 11)
    assert (replaced.created, replaced.size, crlf.size) == (False, 5, 10)
    assert from_nothing.created
    assert (tmp_path / "src/new.txt").read_bytes() == b"new\r\nend\r\n"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("mode", ["create", "overwrite", "append"])
async def test_a_text_that_cannot_be_encoded_touches_nothing(tmp_path: Path, kind: str, mode: Any) -> None:
    (tmp_path / "a.txt").write_bytes(b"old")
    path = "new.txt" if mode == "create" else "a.txt"

    with use_workspace(wrapped(tmp_path, kind)) as place, pytest.raises(NotTextError, match="cannot be written"):
        await place.write_file(path, "lone \ud800", mode=mode)

    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"old"


@pytest.mark.parametrize("kind", WRITERS)
async def test_text_is_appended_in_the_encoding_of_the_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.txt").write_bytes("да\r\n".encode("utf-16"))

    with use_workspace(wrapped(tmp_path, kind)) as place:
        await place.write_file("a.txt", "нет\n", mode="append")

    assert (tmp_path / "a.txt").read_bytes().decode("utf-16") == "да\r\nнет\r\n"


@pytest.mark.parametrize("kind", WRITERS)
async def test_no_text_is_appended_to_a_binary_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")

    with use_workspace(wrapped(tmp_path, kind)) as place, pytest.raises(NotTextError, match="not text but binary"):
        await place.write_file("a.bin", "x", mode="append")

    assert (tmp_path / "a.bin").read_bytes() == b"\0\1\2"


async def test_a_read_only_workspace_is_not_written_around(tmp_path: Path) -> None:
    with use_workspace(wrapped(tmp_path, "read-only")) as place:
        for mode in ("create", "overwrite", "append"):
            with pytest.raises(WorkspaceReadOnlyError):
                await place.write_file("a.txt", "x", mode=mode)

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("outside", [Workspace, ToolWorkspace])
async def test_somebodys_own_wrapper_is_not_read_around(tmp_path: Path, outside: type[Workspace]) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")

    with use_workspace(outside(Upper(ToolWorkspace(LocalWorkspace(tmp_path))))) as place:
        assert await text_of(place, "a.txt") == ("TEXT",)


async def test_a_contained_backend_contains_through_a_wrapper_too(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")

    for kind in ("local", "wrapper", "read-only"):
        with use_workspace(wrapped(tmp_path / "ws", kind)) as place, pytest.raises(PathTraversalError):
            await place.read_page("../secret")


async def test_a_workspace_elsewhere_gives_pages_without_a_version() -> None:
    with use_workspace(InMemory(log=b"line\n" * 3, blob=b"\0")) as place:
        page, blob = await place.read_page("log"), await place.read_page("blob")
        written = await place.write_file("new", "x")

    assert isinstance(page, Page)
    assert isinstance(blob, Binary)
    assert (page.total_lines, page.version, blob.version, written.version.inode) == (3, None, None, 0)


async def test_entries_of_a_listing_elsewhere_are_in_order() -> None:
    with use_workspace(InMemory(b=b"", a=b"x")) as place:
        assert await place.scan_dir(".") == [
            DirEntry(name="a", is_dir=False, is_link=False, size=1),
            DirEntry(name="b", is_dir=False, is_link=False, size=0),
        ]


def test_a_path_is_shown_relative_to_the_root_and_as_valid_text(tmp_path: Path) -> None:
    place = ToolWorkspace(LocalWorkspace(tmp_path))

    assert place.shown(str(tmp_path / "src/./a.py")) == "src/a.py"
    assert place.shown(os.fsdecode(b"caf\xe9")) == "caf\\udce9"
    assert ToolWorkspace(InMemory()).shown("/srv/./a") == "/srv/a"


async def test_a_page_a_write_and_a_listing_take_one_thread_hop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hops = list[object]()
    to_thread = asyncio.to_thread

    async def counted(function: Any, /, *args: Any, **options: Any) -> Any:
        hops.append(function)
        return await to_thread(function, *args, **options)

    monkeypatch.setattr(asyncio, "to_thread", counted)
    place = ToolWorkspace(LocalWorkspace(tmp_path))

    await place.write_file("a.txt", "one\n")
    await place.write_file("a.txt", "two\n", mode="append")
    await place.read_page("a.txt")
    await place.scan_dir(".")

    assert len(hops) == 4


@pytest.mark.parametrize("kind", ["local", "pydantic-ai", "wrapper"])
async def test_many_calls_at_once_all_come_to_an_end(tmp_path: Path, kind: str) -> None:
    """Also where each of them waits, in a thread, for another one that the wrapped workspace needs."""
    (tmp_path / "a.txt").write_bytes(b"text")

    with use_workspace(wrapped(tmp_path, kind)) as place:
        async with asyncio.timeout(20):
            pages = await asyncio.gather(*[text_of(place, "a.txt") for _ in range(200)])

    assert pages == [("text",)] * 200


async def test_the_index_of_a_backend_outlives_a_view_of_it(tmp_path: Path) -> None:
    (tmp_path / "big.log").write_bytes(b"a line\n" * 300_000)
    os.utime(tmp_path / "big.log", (0, 0))
    backend = LocalWorkspace(tmp_path)
    backend.line_index = LineIndex()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(PageError):
        await ToolWorkspace(backend).read_page("big.log", offset=300_001)

    page = await ToolWorkspace(backend).read_page("big.log", offset=-1)

    assert isinstance(page, Page)
    assert page.first_line == 300_000


async def test_without_anything_bound_a_tool_acts_in_the_current_directory_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "ws" / "a.txt").write_bytes(b"here")
    monkeypatch.chdir(tmp_path / "ws")

    assert await text_of(workspace(), "a.txt") == ("here",)
    assert workspace() is workspace()
    with pytest.raises(PathTraversalError):
        await workspace().read_page("../secret")


def test_the_innermost_block_wins_and_ends_with_its_block(tmp_path: Path) -> None:
    with use_workspace(tmp_path) as outer:
        with use_workspace(str(tmp_path)) as inner:
            assert workspace() is inner
        assert workspace() is outer
        with use_workspace(outer) as same:
            assert same is outer
        with pytest.raises(ZeroDivisionError), use_workspace(str(tmp_path)):
            _ = 1 / 0
        assert workspace() is outer


async def test_tasks_and_threads_have_their_own_workspace(tmp_path: Path) -> None:
    async def bound(folder: str) -> str:
        (tmp_path / folder).mkdir()
        with use_workspace(tmp_path / folder):
            await asyncio.sleep(0)
            return await workspace().working_dir()

    assert await asyncio.gather(*map(bound, "abcd")) == [str(tmp_path / name) for name in "abcd"]

    unbound = list[bool]()
    with use_workspace(tmp_path) as place:
        thread = threading.Thread(target=lambda: unbound.append(workspace() is not place))
        thread.start()
        thread.join()
    assert unbound == [True]


def test_what_is_no_workspace_is_refused() -> None:
    with pytest.raises(TypeError, match="5 is no workspace"), use_workspace(5):  # pyright: ignore[reportArgumentType]
        raise AssertionError


async def read(path: str) -> str:
    """Read a file, as a tool of a bare agent that knows nothing of toolsets."""
    return " ".join(await text_of(workspace(), path))


async def test_a_bare_tool_acts_in_the_workspace_of_its_agent_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pins `pydantic_ai._run_context.get_current_run_context`, which is private: should it go, this fails."""
    for folder in ("here", "attached", "bound"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text(folder)
    monkeypatch.chdir(tmp_path / "here")
    attached = LocalWorkspaceCapability(tmp_path / "attached")

    alone = await Agent(TestModel(), tools=[read]).run("read")
    with_workspace = await Agent(TestModel(), tools=[read], capabilities=[attached]).run("read")
    with use_workspace(tmp_path / "bound"):
        with_both = await Agent(TestModel(), tools=[read], capabilities=[attached]).run("read")

    assert (alone.output, with_workspace.output, with_both.output) == (
        '{"read":"here"}',
        '{"read":"attached"}',
        '{"read":"bound"}',
    )


async def test_without_pydantic_ais_private_run_context_the_current_directory_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pydantic_ai._run_context", None)

    assert await workspace().working_dir() == str(tmp_path)


@pytest.mark.parametrize("path", [".env", "sub/.env", "keys/id_rsa"])
def test_secrets_are_neither_read_nor_written_in_any_workspace(path: str) -> None:
    backend = InMemory(**{path: b"SECRET"})

    async def tried() -> None:
        with use_workspace(backend):
            with pytest.raises(PermissionError, match="sensitive"):
                await workspace().read_page(path)
            with pytest.raises(PermissionError, match="sensitive"):
                await workspace().write_file(path, "x", mode="overwrite")
            with pytest.raises(PermissionError, match="protected"):
                await workspace().write_file(".git/hooks/x", "x")

    asyncio.run(tried())

    assert backend.files == {f"/srv/{path}": b"SECRET"}


def test_a_link_to_a_secret_is_judged_by_where_it_leads_elsewhere_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET")
    (tmp_path / "notes.txt").symlink_to(".env")

    async def tried() -> None:
        with use_workspace(LocalWorkspaceBackend(tmp_path)), pytest.raises(PermissionError, match="sensitive"):
            await workspace().read_page("notes.txt")

    asyncio.run(tried())
