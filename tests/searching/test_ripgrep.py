"""The fast engine: nothing becomes an option, it stops when it has enough, and it is gone when it is cancelled."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.searching.trees import Ripgrep, build, tree_of
from toolhaft.searching import content
from toolhaft.searching.drive import Chunk, Exit
from toolhaft.searching.errors import SearchError
from toolhaft.searching.query import Query, Scope, search_arguments
from toolhaft.searching.report import facts, render
from toolhaft.searching.results import Found, Reason
from toolhaft.searching.ripgrep import search
from toolhaft.searching.ripgrep_output import LineReader
from toolhaft.searching.scan import scan
from toolhaft.searching.tree import Tree


async def both(root: Path, query: Query) -> Found:
    tree = tree_of(root)
    fast = await search(query, tree, Ripgrep(root))
    assert fast == scan(query, tree)
    return fast


@pytest.mark.parametrize("pattern", ["-foo", "--pre=cmd", "-e", "--"])
async def test_a_pattern_or_a_path_that_begins_with_a_dash_is_no_option(tmp_path: Path, pattern: str) -> None:
    build(tmp_path, {"--hidden/-a": f"x {pattern} y\n", "b": "nothing"})

    found = await both(tmp_path, Query(pattern=pattern, scope=Scope(path="--hidden")))

    assert [file.path for file in found.files] == ["--hidden/-a"]


async def test_a_users_configuration_changes_nothing(tmp_path: Path) -> None:
    root = build(tmp_path / "root", {"a": "Needle\n"})
    build(tmp_path, {"ripgreprc": "--ignore-case\n--max-count=0\n"})
    rg = Ripgrep(root, env={"RIPGREP_CONFIG_PATH": str(tmp_path / "ripgreprc"), "HOME": str(tmp_path)})

    assert (await search(Query(pattern="Needle"), tree_of(root), rg)).total == 1
    assert (await search(Query(pattern="needle"), tree_of(root), rg)).total == 0


async def test_the_first_results_by_path_are_shown_with_the_true_total(tmp_path: Path) -> None:
    build(tmp_path, {f"d{n:02}/f.txt": "x needle\n" * 9 for n in range(56)})

    found = await both(tmp_path, Query(pattern="needle", max_results=50))

    assert (found.shown, found.total, found.total_files, found.is_complete) == (50, 504, 56, True)
    assert [file.path for file in found.files] == [f"d{n:02}/f.txt" for n in range(6)]
    end = render(found, Query(pattern="needle", max_results=50)).splitlines()[-1]
    assert end.startswith("Shown 50 of 504 matching lines in 56 files; narrow the pattern")
    assert end.endswith("max_results=504.")


async def test_a_search_that_finds_too_much_stops_and_still_shows_the_first_by_path(tmp_path: Path) -> None:
    build(tmp_path, {f"d{n:03}/f.txt": "needle\n" * 30 for n in range(200)} | {"d000/.h": "", ".gitignore": "d001\n"})
    query = Query(pattern="needle", max_results=100, count_limit=300)
    rg = Ripgrep(tmp_path)

    found = await search(query, tree_of(tmp_path), rg)

    plain = scan(query, tree_of(tmp_path))
    assert [file.path for file in found.files] == ["d000/f.txt", "d002/f.txt", "d003/f.txt", "d004/f.txt"]
    assert found.files == plain.files
    assert (found.shown, found.is_complete, found.unsearched) == (100, False, plain.unsearched)
    assert found.total >= 300
    assert all(process.returncode is not None for process in rg.processes)
    assert "at least" in render(found, query)
    assert facts(found, query)["truncated"] is True


async def test_more_is_read_where_our_rules_drop_what_ripgrep_found(tmp_path: Path) -> None:
    files = {f"a{n:03}": "needle\n" for n in range(100)} | {f"b{n:03}": "needle\n" for n in range(100)}
    build(tmp_path, files | {".gitignore": "[[:alpha:]]0*\n!b*\n"})

    found = await search(Query(pattern="needle", max_results=20, count_limit=50), tree_of(tmp_path), Ripgrep(tmp_path))

    assert [file.path for file in found.files] == [f"b{n:03}" for n in range(20)]


async def test_more_is_asked_for_where_our_rules_drop_all_of_the_first_piece(tmp_path: Path) -> None:
    lines = ("needle " + "x" * 100 + "\n") * 10
    build(
        tmp_path, {f"{kind}{n:03}": lines for kind in "ab" for n in range(100)} | {".gitignore": "[[:alpha:]]0*\n!b*\n"}
    )
    rg = Ripgrep(tmp_path)

    found = await search(Query(pattern="needle", max_results=20, count_limit=50), tree_of(tmp_path), rg)

    assert [(file.path, file.count) for file in found.files] == [("b000", 10), ("b001", 10)]
    assert len(rg.runs) > 2


async def test_a_file_that_is_gone_when_its_context_is_read_is_shown_without(tmp_path: Path) -> None:
    build(tmp_path, {"a": "before\nneedle\nafter\n"})
    tree = tree_of(tmp_path)

    def gone(path: str) -> BinaryIO:
        raise FileNotFoundError(path)

    gone_since = Tree(scan=tree.scan, open=gone, resolve=tree.resolve)
    found = await search(Query(pattern="needle", context_lines=1), gone_since, Ripgrep(tmp_path))

    assert [line.number for file in found.files for line in file.lines] == [2]


@pytest.mark.parametrize("mode", ["files", "count"])
async def test_files_and_counts_are_given_without_lines(tmp_path: Path, mode: str) -> None:
    build(tmp_path, {"a": "x\nx\n", "b": "x\n", "c": "y\n"})
    query = Query(pattern="x", output_mode=mode, max_results=1)  # pyright: ignore

    found = await both(tmp_path, query)

    assert [(file.path, file.count, file.lines) for file in found.files] == [("a", 2, ())]
    assert render(found, query).splitlines()[0] == {"files": "a", "count": "a: 2"}[mode]
    assert "Shown 1 of 2 files with 3 matching lines" in render(found, query)


async def test_cancelling_a_search_ends_ripgrep(tmp_path: Path) -> None:
    build(tmp_path, {"a": "x\n"})
    rg = Ripgrep(tmp_path)
    started = asyncio.Event()

    async def slow(arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        async with asyncio.timeout(None):
            chunks = rg(["--no-config", "-n", "x", "-"])  # reads its standard input, which never says anything
            started.set()
            try:
                async for chunk in chunks:
                    yield chunk
                await asyncio.Event().wait()
            finally:
                await chunks.aclose()

    task = asyncio.create_task(search(Query(pattern="x"), tree_of(tmp_path), slow))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(process.returncode is not None for process in rg.processes)


async def test_a_search_that_runs_out_of_time_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    build(tmp_path, {"a": "x\n"})

    async def endless(arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        yield Chunk(b"./a\x001\x011\x01x\n")
        await asyncio.Event().wait()

    found = await search(Query(pattern="x"), tree_of(tmp_path), endless, time_limit=0.05)

    assert [file.path for file in found.files] == ["a"]
    assert [entry.reason for entry in found.unsearched] == [Reason.OUT_OF_TIME]
    assert not found.is_complete


def test_the_python_engine_stops_when_it_is_told_to(tmp_path: Path) -> None:
    build(tmp_path, {"a": "x\n", "b": "x\n" * 50_000, "d/c": "x\n"})
    asked = iter(range(100))

    found = scan(Query(pattern="x{1}", use_regex=True), tree_of(tmp_path), stop=lambda: next(asked) > 3)

    assert not found.is_complete
    assert [entry.reason for entry in found.unsearched] == [Reason.OUT_OF_TIME]
    stopped = scan(
        Query(pattern="x"),
        tree_of(
            tmp_path / "d",
        ),
        stop=lambda: True,
    )
    assert stopped.total == 0


@pytest.mark.parametrize(("status", "said"), [(2, b"rg: something odd\n"), (-9, b"")])
async def test_a_ripgrep_that_fails_is_an_error(tmp_path: Path, status: int, said: bytes) -> None:
    async def failing(arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        yield Chunk(said.removesuffix(b"\n"), is_error=True)
        yield Exit(status)

    with pytest.raises(SearchError, match=f"status {status}"):
        await search(Query(pattern="x"), tree_of(build(tmp_path, {"a": ""})), failing)


async def test_long_lines_are_shown_around_the_match(tmp_path: Path) -> None:
    build(tmp_path, {"min.js": "é" * 40_000 + "needle" + "b" * 40_000 + "\n", "end": "c" * 2_000 + " needle"})

    literal = await both(tmp_path, Query(pattern="needle"))
    regex = await search(Query(pattern="n..dle", use_regex=True), tree_of(tmp_path), Ripgrep(tmp_path))
    plain = scan(Query(pattern="n..dle", use_regex=True), tree_of(tmp_path))

    for found in (literal, regex, plain):
        assert all("needle" in line.text and len(line.text) < 420 for file in found.files for line in file.lines)
    assert literal.files[1].lines[0].text.startswith("…é")
    assert literal.files[1].lines[0].text.endswith("b…")


async def test_text_in_utf16_is_found_and_binary_files_that_match_are_counted(tmp_path: Path) -> None:
    files = {"le.txt": "\ufeffa needle\r\nb".encode("utf-16-le"), "be.txt": "\ufeffneedle".encode("utf-16-be")}
    build(tmp_path, files | {"bin": b"needle\0needle\n", "other": b"\0\1\2", "bom": b"\xef\xbb\xbfneedle"})

    found = await both(tmp_path, Query(pattern="^(a )?needle$", use_regex=True))

    assert [file.path for file in found.files] == ["be.txt", "bom", "le.txt"]
    assert [(entry.reason, entry.count, entry.example) for entry in found.unsearched] == [(Reason.BINARY, 1, "bin")]


async def test_a_file_of_any_size_is_searched_piece_by_piece(tmp_path: Path) -> None:
    """Lines that lie across two pieces too, and those far down with their numbers."""
    text = "".join(f"{number:05} {'-' * (number % 97)}\n" for number in range(40_000)) + "the last 39999"
    build(
        tmp_path, {"a": text, "b": b"\xef\xbb\xbf" + text.encode(), "c": "\ufeff" + text, "d": "y" * 200_000 + "39999"}
    )
    (tmp_path / "c").write_bytes(("\ufeff" + text).encode("utf-16-le"))

    found = await both(tmp_path, Query(pattern="39999", context_lines=1))
    regex = await both(tmp_path, Query(pattern="^.{0,200}3999{2}", use_regex=True, context_lines=1))

    numbers = [[line.number for line in file.lines] for file in found.files]
    assert numbers == [[39_999, 40_000, 40_001]] * 3 + [[1]]
    assert [file.lines for file in regex.files] == [file.lines for file in found.files[:3]]


def test_no_more_of_a_file_is_read_than_is_counted(tmp_path: Path) -> None:
    build(tmp_path, {"a": "x\n" * 500_000})

    found = scan(Query(pattern="x", max_results=10, count_limit=20), tree_of(tmp_path))

    assert (found.shown, found.total, found.is_complete) == (10, 21, False)


def test_a_line_that_does_not_fit_into_memory_is_searched_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "_MOST_LINE_BYTES", 100_000)
    build(tmp_path, {"a": "head\n" + "-" * 1_000_000 + "needle\nneedle and tail"})

    found = scan(Query(pattern="needle", context_lines=1), tree_of(tmp_path))

    assert [(line.number, line.text[-6:]) for line in found.files[0].lines] == [
        (1, "head"),
        (2, "needle"),
        (3, "d tail"),
    ]


async def test_a_file_of_which_the_tree_is_not_sure_is_searched_again(tmp_path: Path) -> None:
    """By now somebody may have swapped the path by which ripgrep opened it."""
    build(tmp_path, {"a": "needle\n", "b": "needle\n", "c": b"needle\0", "d": b"needle\0"})
    tree = tree_of(tmp_path)

    def opened(path: str) -> BinaryIO:
        return io.BytesIO(b"another needle\n" if path in "bd" else b"nothing\n")

    unsure = replace(tree, open=opened, steady=lambda paths: {path for path in paths if path == "a"})
    found = await search(Query(pattern="needle"), unsure, Ripgrep(tmp_path))

    assert [(file.path, file.lines[0].text) for file in found.files] == [
        ("a", "needle"), ("b", "another needle"), ("d", "another needle"),
    ]  # fmt: skip
    assert found.unsearched == ()


async def test_a_report_groups_lines_by_file_and_says_what_was_left_out(tmp_path: Path) -> None:
    build(tmp_path, {"a.txt": "one\nneedle\nthree\nfour\nfive\nneedle\n", "b.txt": "needle\u2028x\n", ".h": "needle"})
    query = Query(pattern="needle", context_lines=1)

    text = render(await both(tmp_path, query), query)

    assert text == (
        "a.txt\n1- one\n2: needle\n3- three\n--\n5- five\n6: needle\n\nb.txt\n1: needle\u2028x\n\n"
        "3 matching lines in 2 files.\nNot searched: 1 hidden (include_hidden=True searches them), such as .h."
    )


async def test_facts_are_json_and_hold_the_same(tmp_path: Path) -> None:
    build(tmp_path, {"a.txt": "needle\n", ".h": "needle"})
    query = Query(pattern="needle")

    told = json.loads(json.dumps(facts(await both(tmp_path, query), query)))

    assert told == {
        "output_mode": "content",
        "files": [{"path": "a.txt", "count": 1, "matches": ["1:needle"]}],
        "shown": 1,
        "total": 1,
        "total_files": 1,
        "total_is_exact": True,
        "truncated": False,
        "not_searched": {"hidden": {"count": 1, "example": ".h"}},
    }


async def test_no_match_says_so(tmp_path: Path) -> None:
    query = Query(pattern="nothing")

    assert render(await both(build(tmp_path, {"a": "x"}), query), query) == "No match for 'nothing'."


def test_lines_are_cut_out_of_any_pieces_and_giants_keep_their_head(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"one\ntwo\n\nthree"
    for size in range(1, len(text)):
        reader = LineReader()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]

        lines = [line for piece in pieces for line in reader.feed(piece)] + reader.close()

        assert lines == [b"one", b"two", b"", b"three"]
    assert LineReader().close() == []


def test_the_arguments_keep_to_the_root() -> None:
    arguments = search_arguments(Query(pattern="x", scope=Scope(include_ignored=True, recursive=False)), ["."])

    assert arguments[0] == "--no-config"
    assert {"--no-ignore-parent", "--no-ignore-global", "--no-ignore", "--max-depth"} <= set(arguments)
    assert arguments[-4:] == ["-e", "x", "--", "./"]


async def test_a_file_that_goes_while_it_is_searched_is_unreadable(tmp_path: Path) -> None:
    tree = tree_of(build(tmp_path, {"a": "x", "b": "x"}))

    def gone(path: str) -> io.BytesIO:
        raise FileNotFoundError(path)

    found = scan(Query(pattern="x"), type(tree)(scan=tree.scan, open=gone, resolve=tree.resolve))

    assert [(entry.reason, entry.count) for entry in found.unsearched] == [(Reason.UNREADABLE, 2)]


async def test_what_ripgrep_says_of_files_is_taken_to_the_end(tmp_path: Path) -> None:
    tree = tree_of(build(tmp_path, {"a": "", "b": "", "c": "", "d": "", ".h": ""}))

    async def said(arguments: Sequence[str]) -> AsyncGenerator[Chunk | Exit, None]:
        yield Chunk(b"rg: ./b: Permission denied (os error 13)\nrg: ./.h: Permission", is_error=True)
        yield Chunk(b"./a\x001\x011\x01x\n./a: WARNING: stopped searching binary file after match (found NUL)\nodd\n")
        yield Chunk(b'./d: binary file matches (found "\\0" byte around offset 3)\n')
        yield Chunk(b" denied (os error 13)", is_error=True)
        yield Chunk(b"./c\x001\x01x\n")
        yield Exit(2)

    found = await search(Query(pattern="x"), tree, said)

    assert [(file.path, file.lines[0].text) for file in found.files] == [("c", "x")]
    assert [(entry.reason, entry.count, entry.example) for entry in found.unsearched] == [
        (Reason.HIDDEN, 1, ".h"),
        (Reason.BINARY, 2, "a"),
        (Reason.UNREADABLE, 1, "b"),
    ]
