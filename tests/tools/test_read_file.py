"""What a model gets from `read_file`: numbered lines, and a note where they are not the whole truth."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent, BinaryContent, ModelRetry
from pydantic_ai.exceptions import ToolFailed

from tests.attach.agents import answers, calling
from toolhaft import ToolText, tool_spec, use_workspace
from toolhaft.tools import read_file
from toolhaft.workspace import pages
from toolhaft.workspace.text import split_lines

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture(autouse=True)
def _in_workspace(tmp_path: Path) -> Iterator[None]:
    with use_workspace(tmp_path):
        yield


async def text_of(path: str, **paging: int) -> ToolText:
    """Return an answer that must be text."""
    answer = await read_file(path, **paging)
    assert isinstance(answer, ToolText)
    return answer


async def test_a_short_file_is_shown_whole_and_without_a_note(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_bytes(b"def f():\r\n\treturn 1\n\n")

    answer = await text_of(f"{tmp_path}/src/a.py")

    assert answer == "1\tdef f():\n2\t\treturn 1\n3\t"
    info = (tmp_path / "src" / "a.py").stat()
    assert answer.facts == {
        "path": "src/a.py",
        "encoding": "UTF-8",
        "size": 21,
        "first_line": 1,
        "last_line": 3,
        "total_lines": 3,
        "truncated": False,
        "next_offset": None,
        "next_column": None,
        "version": {"size": 21, "mtime_ns": info.st_mtime_ns, "inode": info.st_ino},
        "hash": None,
    }


async def test_a_page_that_is_not_all_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"".join(b"line %d\n" % number for number in range(1, 2_501)))

    first = await text_of("a.txt")
    second = await text_of("a.txt", offset=first.facts["next_offset"])
    part = await text_of("a.txt", offset=99, limit=2)

    assert first.startswith("   1\tline 1\n   2\tline 2\n")
    assert first.endswith("\n\n[Lines 1 to 2000 of 2500 are shown (limit=2000). To go on: offset=2001.]")
    assert second.startswith("2001\tline 2001\n")
    assert second.endswith("2500\tline 2500")
    assert part == " 99\tline 99\n100\tline 100\n\n[Lines 99 to 100 of 2500 are shown (limit=2). To go on: offset=101.]"
    assert (first.facts["truncated"], second.facts["truncated"], part.facts["truncated"]) == (True, False, True)


async def test_a_page_holds_60000_characters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes((b"x" * 999 + b"\n") * 100)

    answer = await text_of("a.txt")

    assert answer.endswith("\n\n[Lines 1 to 60 of 100 are shown (a page holds 60000 characters). To go on: offset=61.]")


async def test_a_giant_line_goes_on_by_column(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_bytes(b"a" * 60_000 + b"b" * 10)

    first = await text_of("min.js")
    rest = await text_of("min.js", offset=first.facts["next_offset"], column=first.facts["next_column"])

    assert first.endswith(
        "[Characters 1 to 60000 of line 1 of 1 are shown (a page holds 60000 characters). "
        "To go on: offset=1, column=60001.]"
    )
    assert rest == "1\tbbbbbbbbbb"


async def test_the_end_of_a_large_file_is_numbered_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "big.log").write_bytes(b"a line\n" * 300_000)

    answer = await text_of("big.log", offset=-3, limit=2)

    assert answer == (
        "-3\ta line\n-2\ta line\n\n[Lines -3 to -2 are shown (limit=2). To go on: offset=-1. "
        "Lines are numbered from the end of the file: -1 is the last one.]"
    )
    assert (answer.facts["first_line"], answer.facts["total_lines"]) == (-3, None)


async def test_more_lines_from_the_end_than_there_are_gives_all_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")

    assert await text_of("a.txt", offset=-200) == "1\tone\n2\ttwo\n\n[The file has only 2 lines.]"
    assert await text_of("a.txt", offset=-1) == "2\ttwo"


async def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()

    answer = await text_of("a.txt")

    assert answer == "[a.txt is empty (0 bytes).]"
    assert (answer.facts["total_lines"], answer.facts["truncated"]) == (0, False)


async def test_an_encoding_other_than_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("grün\n".encode("utf-16"))
    (tmp_path / "b.txt").write_bytes(b"caf\xe9\n" * 3)
    (tmp_path / "c.txt").write_bytes(b"\xef\xbb\xbfa\n")

    assert await text_of("a.txt") == "1\tgrün\n\n[Encoding: UTF-16LE with BOM.]"
    assert (await text_of("b.txt")).endswith("3\tcafé\n\n[Encoding: cp1252 (guessed).]")
    assert await text_of("c.txt") == "1\ta\n\n[Encoding: UTF-8 with BOM.]"


async def test_bytes_that_are_no_text_are_shown_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("grün ".encode() + b"\xed\xa0\x80\n")

    answer = await text_of("a.txt")

    assert answer == "1\tgrün \ufffd\ufffd\ufffd\n\n[Bytes that are not text in UTF-8 are shown as U+FFFD: 3 times.]"


async def test_a_file_that_is_written_to_meanwhile_is_said_to_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(b"x\n")
    monkeypatch.setattr(pages, "_changed", lambda *_: True)

    answer = await text_of("a.txt")

    assert answer.endswith("[The file changed while it was read; read it again for a consistent view.]")


async def test_an_image_comes_as_an_image(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(PNG)

    answer = await read_file("logo.png")

    assert isinstance(answer, list)
    assert answer == ["[logo.png: image/png, 16 bytes]", BinaryContent(data=PNG, media_type="image/png")]
    assert isinstance(answer[0], ToolText)
    assert answer[0].facts["kind"] == "image/png"


async def test_a_binary_file_is_described_and_not_dumped(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b\x08\0\0")

    answer = await text_of("a.gz")

    assert answer == "[a.gz is not text: gzip compressed data, 5 bytes. Its content is not shown.]"
    assert answer.facts["truncated"]


@pytest.mark.parametrize(
    ("paging", "message"),
    [
        ({"offset": 3}, r"offset=3 is past the end of 'a.txt' \(2 lines\). Use 1 to 2"),
        ({"offset": 0}, "offset=0 is no line"),
        ({"limit": 0}, "limit=0 asks for no line"),
        ({"column": 9}, r"column=9 is past the end of line 1 of 'a.txt' \(3 characters\)"),
    ],
)
async def test_a_page_that_is_not_there_is_for_the_model_to_correct(
    tmp_path: Path, paging: dict[str, int], message: str
) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")

    with pytest.raises(ModelRetry, match=message):
        await read_file("a.txt", **paging)


async def test_a_folder_is_for_list_dir(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()

    with pytest.raises(ModelRetry, match="'src' is a folder, not a file"):
        await read_file("src")


async def test_a_missing_file_is_for_the_model_to_correct() -> None:
    with pytest.raises(ModelRetry, match=r"missing\.txt"):
        await read_file("missing.txt")


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", ".env", "a\0b"])
async def test_what_the_workspace_does_not_give_is_a_failed_call(tmp_path: Path, path: str) -> None:
    (tmp_path / ".env").write_text("SECRET=1")

    with pytest.raises(ToolFailed) as error:
        await read_file(path)

    assert "SECRET" not in str(error.value)


@settings(max_examples=60, deadline=None)
@given(sample=st.text(max_size=200), data=st.data())
async def test_every_answer_is_valid_json_and_its_lines_are_the_files(
    tmp_path_factory: pytest.TempPathFactory, sample: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")
    raw = sample.replace("\0", "").encode(errors="surrogatepass")
    (folder / "a.txt").write_bytes(raw)

    with use_workspace(folder):
        answer = await read_file("a.txt")

    assert isinstance(answer, ToolText)
    json.dumps([answer, answer.facts]).encode()
    answer.encode()
    if "encoding" in answer.facts and answer.facts["encoding"] == "UTF-8" and raw:
        shown = answer.partition("\n\n[Bytes")[0]
        expected = split_lines(raw.decode(errors="replace"))
        assert shown.count("\n") == len(expected) - 1


async def test_a_file_name_that_is_not_unicode_does_not_break_the_answer(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_bytes(b"x\n")

    answer = await text_of(os.fsdecode(b"caf\xe9"))

    assert answer.facts["path"] == "caf\\udce9"


async def test_a_bare_agent_reads_text_and_images(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n")
    (tmp_path / "logo.png").write_bytes(PNG)
    model = calling([("read_file", {"filepath": "a.txt"}), ("read_file", {"filepath": "logo.png"})])

    result = await Agent(model, tools=[read_file]).run("read")

    text, image = answers(result.all_messages())
    assert text.content == "1\tone"
    assert isinstance(image.content, list)
    assert BinaryContent(data=PNG, media_type="image/png") in image.content


def test_every_parameter_is_described() -> None:
    properties = tool_spec(read_file).schema["properties"]

    assert all(parameter["description"] for parameter in properties.values())
    assert list(properties) == ["filepath", "offset", "limit", "column", "with_hash"]


async def test_a_hash_of_the_whole_file_comes_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))

    with use_workspace(tmp_path):
        plain, page, binary = (
            await read_file("a.txt"),
            await read_file("a.txt", limit=1, with_hash=True),
            await read_file("a.bin", with_hash=True),
        )

    digest = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert plain.facts["hash"] is None
    assert page.facts["hash"] == digest
    assert digest in page
    assert hashlib.sha256(bytes(range(256))).hexdigest() in binary
