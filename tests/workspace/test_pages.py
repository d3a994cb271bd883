"""Pages of files: every line once, honest about the rest, bounded by the page, whatever happens to the file."""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhaft.workspace import lines, pages
from toolhaft.workspace.lines import Checkpoints, LineIndex, after_lf, seek_line, seek_tail
from toolhaft.workspace.pages import Binary, Page, PageError, read_page
from toolhaft.workspace.text import UTF_8, detect, split_lines

TIMES = 10 if os.environ.get("TOOLHAFT_STRESS") else 1

# Few kinds of characters, so that line ends of all kinds are frequent, and some that fold or cut badly: code units
# with 0x0A in one of their bytes (U+0A00, U+010A, U+0A0A), pairs of surrogates, characters of 1 to 4 bytes.
tricky_text = st.text(
    st.sampled_from("ab \t\n\n\n\r\v\f\x1c\x85\u2028\u2029é€\u0a00\u010a\u0a0a\U0001f600"), max_size=300
)
codecs = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be"])


@contextmanager
def small_reads() -> Iterator[None]:
    """Read a few bytes at a time, so that small files have many chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK_BYTES", 16)
        patch.setattr(lines, "_TAIL_CHUNK_BYTES", 12)
        patch.setattr(pages, "_BLOCK_BYTES", 8)
        patch.setattr(pages, "SAMPLE_BYTES", 4)
        patch.setattr(pages, "_COUNTED_BYTES", 0)
        yield


def page_of(data: bytes | BinaryIO, **options: Any) -> Page:
    """Return a page that must be one of text."""
    page = read_page(io.BytesIO(data) if isinstance(data, bytes) else data, **options)
    assert isinstance(page, Page)
    return page


def marked(sample: str, codec: str) -> bytes:
    """Encode with a byte order mark, which a sample of four bytes is enough to see."""
    mark = "" if codec in {"utf-8", "utf-8-sig", "utf-16", "utf-32"} else "\ufeff"
    return (mark + sample).encode(codec)


@settings(max_examples=200 * TIMES, deadline=None)
@given(sample=tricky_text, codec=codecs, limit=st.integers(1, 7), max_characters=st.integers(1, 60))
def test_paging_through_any_text_gives_its_lines(sample: str, codec: str, limit: int, max_characters: int) -> None:
    data, found, offset, column = marked(sample, codec), [""], 1, 1
    index = LineIndex()

    with small_reads():
        while True:
            page = page_of(data, offset=offset, column=column, limit=limit, max_characters=max_characters, index=index)
            assert len(page.lines) <= limit
            assert sum(map(len, page.lines)) <= max_characters
            found[-1] += page.lines[0] if page.lines else ""
            found += page.lines[1:]
            if page.next_offset is None:
                break
            if page.next_offset > offset + len(page.lines) - 1:
                found.append("")
            offset, column = page.next_offset, page.next_column

    assert found == (split_lines(sample) or [""])
    assert page.total_lines == len(split_lines(sample))


@settings(max_examples=200 * TIMES, deadline=None)
@given(sample=tricky_text, codec=codecs, offset=st.integers(1, 80), limit=st.integers(1, 20))
def test_a_page_is_a_slice_of_the_lines(sample: str, codec: str, offset: int, limit: int) -> None:
    data, expected = marked(sample, codec), split_lines(sample)

    with small_reads():
        if offset > max(len(expected), 1):
            with pytest.raises(PageError, match=rf"\({len(expected)} lines\)"):
                page_of(data, offset=offset, limit=limit)
            return
        page = page_of(data, offset=offset, limit=limit)

    assert list(page.lines) == expected[offset - 1 : offset - 1 + limit]
    assert (page.first_line, page.last_line) == (offset, offset + len(page.lines) - 1)
    assert page.truncated == (page.last_line < len(expected))
    assert page.at_least_lines <= len(expected)
    assert page.total_lines in ({None, len(expected)} if page.truncated else {len(expected)})


@settings(max_examples=200 * TIMES, deadline=None)
@given(sample=tricky_text, codec=codecs, count=st.integers(1, 80), limit=st.integers(1, 20))
def test_a_negative_offset_gives_the_last_lines(sample: str, codec: str, count: int, limit: int) -> None:
    data, expected = marked(sample, codec), split_lines(sample)

    with small_reads():
        page = page_of(data, offset=-count, limit=limit)

    assert list(page.lines) == expected[-count:][:limit]
    assert page.first_line == (1 if count >= len(expected) else -count)
    assert page.truncated == (len(page.lines) < min(count, len(expected)))


@settings(max_examples=100 * TIMES, deadline=None)
@given(sample=tricky_text, codec=codecs, first=st.integers(1, 80), second=st.integers(1, 80))
def test_an_index_changes_nothing_but_the_time(sample: str, codec: str, first: int, second: int) -> None:
    data = marked(sample, codec)
    encoding = detect(data)
    assert encoding is not None

    with small_reads():
        known = seek_line(io.BytesIO(data), first, encoding, known=Checkpoints())[1]
        again = seek_line(io.BytesIO(data), second, encoding, known=known)
        fresh = seek_line(io.BytesIO(data), second, encoding, known=Checkpoints())

    assert again[0] == fresh[0]
    assert again[1].at_least_lines >= known.at_least_lines


def test_a_small_file_has_its_lines_counted() -> None:
    page = page_of(b"line\n" * 5_000)

    assert (page.first_line, page.last_line, page.total_lines) == (1, 2_000, 5_000)
    assert (page.stopped, page.next_offset, page.next_column) == ("lines", 2_001, 1)


def test_lines_are_numbered_with_a_tab_behind_the_number() -> None:
    assert page_of(b"x\n" * 10, offset=9).numbered() == " 9\tx\n10\tx"
    assert page_of(b"").numbered() == ""


def test_a_page_ends_before_the_line_that_does_not_fit() -> None:
    page = page_of(b"a" * 30 + b"\n" + b"b" * 30 + b"\n" + b"c", max_characters=40)

    assert (page.lines, page.stopped, page.next_offset) == (("a" * 30,), "characters", 2)


def test_a_line_longer_than_a_page_goes_on_by_column() -> None:
    data = b"x" * 100 + b"y" * 5 + b"\nlast"

    page = page_of(data, max_characters=100)
    rest = page_of(data, max_characters=100, offset=page.next_offset, column=page.next_column)

    assert (page.lines, page.next_offset, page.next_column) == (("x" * 100,), 1, 101)
    assert (rest.lines, rest.next_offset, rest.first_column) == (("yyyyy", "last"), None, 101)


@pytest.mark.parametrize("trailer", [b"", b"\n", b"\r\n"])
def test_a_file_that_fills_the_page_exactly_is_not_cut(trailer: bytes) -> None:
    page = page_of(b"x" * 10 + trailer, max_characters=10)

    assert (page.lines, page.truncated) == (("x" * 10,), False)


@pytest.mark.parametrize("size", [pages._BLOCK_BYTES, pages._BLOCK_BYTES * 3, pages.SAMPLE_BYTES])  # pyright: ignore[reportPrivateUsage]
def test_a_file_that_ends_with_a_block_is_at_its_end(size: int) -> None:
    page = page_of(b"x" * 63 + b"\n" + b"line 2\n" * ((size - 64) // 7) + b"z" * ((size - 64) % 7), limit=10**12)

    assert page.truncated == (size > pages.MAX_CHARACTERS)
    assert page.total_lines == 1 + -(-(size - 64) // 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"offset": 0}, "offset=0 is no line. Lines count from 1; -1 is the last line."),
        ({"limit": 0}, "limit=0 asks for no line. Use 1 or more."),
        ({"limit": -5}, "limit=-5 asks for no line. Use 1 or more."),
        ({"column": 0}, "column=0 is no character of a line. Characters count from 1."),
        (
            {"offset": 4},
            "offset=4 is past the end of 'a.txt' (3 lines). Use 1 to 3, or a negative offset to count from the end.",
        ),
        ({"offset": 2, "column": 4}, "column=4 is past the end of line 2 of 'a.txt' (3 characters). Use 1 to 3."),
        ({"offset": 3, "column": 2}, "column=2 is past the end of line 3 of 'a.txt' (0 characters). Use 1 to 1."),
    ],
)
def test_a_page_that_is_not_there_is_an_error_that_says_which_are(options: dict[str, int], message: str) -> None:
    with pytest.raises(PageError) as error:
        page_of(b"one\r\ntwo\r\n\n", name="a.txt", **options)

    assert str(error.value) == message


def test_an_empty_file_has_one_empty_page() -> None:
    page = page_of(b"")

    assert (page.lines, page.total_lines, page.truncated) == ((), 0, False)
    assert page_of(b"", offset=-5).total_lines == 0
    assert page_of(b"\xef\xbb\xbf").total_lines == 0
    with pytest.raises(PageError, match="which is empty"):
        page_of(b"", offset=2)


def test_a_huge_limit_offset_or_column_allocates_nothing() -> None:
    assert page_of(b"a\nb\n", limit=10**30).lines == ("a", "b")
    assert page_of(b"a\nb\n", offset=-(10**30)).lines == ("a", "b")
    with pytest.raises(PageError, match="2 lines"):
        page_of(b"a\nb\n", offset=10**30)
    with pytest.raises(PageError, match="1 characters"):
        page_of(b"a\nb\n", column=10**30)


def test_bytes_that_are_not_text_are_shown_and_counted() -> None:
    page = page_of("gr\u00fc\u00dfe ".encode() + b"\xff\xfe \xed\xa0\x80\n")

    assert page.lines == ("gr\u00fc\u00dfe \ufffd\ufffd \ufffd\ufffd\ufffd",)
    assert page.undecoded == 5


def test_a_replacement_character_that_the_file_has_is_not_counted() -> None:
    assert page_of("a\ufffdb\n".encode()).undecoded == 0


def test_a_nul_behind_the_sample_is_shown_as_a_replacement() -> None:
    page = page_of(b"x\n" * 40_000 + b"a\0b\n", offset=40_001)

    assert (page.lines, page.undecoded) == (("a\ufffdb",), 1)


def test_a_legacy_page_of_a_file_that_begins_in_ascii_is_decoded() -> None:
    data = b"plain\n" * 20_000 + "Gr\u00f6\u00dfe f\u00fcr sp\u00e4ter\n".encode("cp1252") * 10

    page = page_of(data, offset=20_001, limit=1)

    assert page.lines == ("Gr\u00f6\u00dfe f\u00fcr sp\u00e4ter",)
    assert page.encoding.source == "guessed"


def test_the_end_of_a_large_file_is_numbered_from_the_end_until_its_lines_are_counted(tmp_path: Path) -> None:
    big = tmp_path / "big.log"
    big.write_bytes(b"a line\n" * 300_000)
    os.utime(big, (0, 0))
    index = LineIndex()

    with big.open("rb") as file:
        before = page_of(file, offset=-2, index=index)
        with pytest.raises(PageError, match="300000 lines"):
            page_of(file, offset=300_001, index=index)
        after = page_of(file, offset=-2, index=index)

    assert (before.first_line, before.total_lines) == (-2, None)
    assert (after.first_line, after.last_line, after.total_lines) == (299_999, 300_000, 300_000)


def test_a_page_of_a_large_file_says_how_many_lines_there_are_at_least() -> None:
    page = page_of(b"a line\n" * 300_000, offset=200_000, limit=10)

    assert page.total_lines is None
    assert 200_010 <= page.at_least_lines <= 300_000


def test_an_index_forgets_the_file_that_was_not_read_for_longest() -> None:
    index = LineIndex(max_files=2)
    found = Checkpoints(total_lines=7)
    for name in ("a", "b"):
        index.put(name, found, changed_ns=0)
    index.get("a")

    index.put("c", found, changed_ns=0)

    assert [index.get(name).total_lines for name in "abc"] == [7, None, 7]


def test_an_index_does_not_trust_a_version_that_is_too_young() -> None:
    index = LineIndex()

    index.put("a", Checkpoints(total_lines=7), changed_ns=2**62)

    assert index.get("a").total_lines is None


def test_an_index_keeps_what_is_known_best() -> None:
    index = LineIndex()
    index.put("a", Checkpoints(total_lines=7), changed_ns=0)

    index.put("a", Checkpoints(), changed_ns=0)

    assert index.get("a").total_lines == 7


def test_many_threads_share_an_index(tmp_path: Path) -> None:
    big = tmp_path / "big.log"
    big.write_bytes(b"".join(b"line %d\n" % number for number in range(1, 200_001)))
    os.utime(big, (0, 0))
    index, wrong = LineIndex(max_files=1), list[str]()

    def read(seed: int) -> None:
        for step in range(20):
            offset = (seed * 7919 + step * 104_729) % 200_000 + 1
            with big.open("rb") as file:
                found = page_of(file, offset=offset, limit=1, index=index).lines
            if found != (f"line {offset}",):
                wrong.append(f"{offset}: {found}")

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_an_index_is_not_used_for_another_version(tmp_path: Path) -> None:
    big = tmp_path / "big.log"
    index = LineIndex()

    for number in range(3):
        big.write_bytes(b"x\n" * number * 100_000 + b"a line\n" * 300_000)
        os.utime(big, (number, number))
        with big.open("rb") as file:
            assert page_of(file, offset=number * 100_000 + 1, limit=1, index=index).lines == ("a line",)
        with big.open("rb") as file:
            assert page_of(file, offset=number * 100_000 + 1, limit=1, index=index).lines == ("a line",)


@given(st.lists(st.booleans(), min_size=1, max_size=2_000), st.data())
def test_the_nth_lf_is_found(ends: list[bool], data: st.DataObject) -> None:
    units = b"".join(b"\n" if end else b"x" for end in ends)
    places = [place for place, end in enumerate(ends) if end]
    number = data.draw(st.integers(0, len(places)))

    assert after_lf(units, number, end=len(units)) == (places[number - 1] + 1 if number else 0)


def test_a_file_that_is_cut_while_its_tail_is_looked_for_ends_where_it_ends_now() -> None:
    assert seek_tail(io.BytesIO(b"a\nb\nc\n"), 2, UTF_8, end=1_000_000) == (2, 2)


class Changing(io.BytesIO):
    """A file to which something happens at the third read."""

    def __init__(self, data: bytes, change: str) -> None:
        super().__init__(data)
        self._change = change
        self._reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self._reads += 1
        if self._reads == 3:
            where = self.tell()
            if self._change == "cut":
                self.truncate(100_000)
            else:
                self.seek(0, os.SEEK_END)
                self.write(b"more\n" * 100_000)
                self.seek(where)
        return super().read(size)


@pytest.mark.parametrize("change", ["cut", "grown"])
@pytest.mark.parametrize("offset", [1, 30_000, 300_000, -5, -250_000])
def test_a_file_that_changes_while_it_is_read_gives_lines_that_were_there(change: str, offset: int) -> None:
    try:
        page = page_of(Changing(b"line\n" * 400_000, change), offset=offset, limit=100)
    except PageError as error:
        assert "lines)" in str(error)  # noqa: PT017
    else:
        assert set(page.lines) <= {"line", "more"}


def test_a_file_that_was_written_to_meanwhile_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"line\n" * 100_000)

    class Written(io.FileIO):
        def read(self, size: int | None = -1) -> Any:
            with path.open("ab") as other:
                other.write(b"more\n")
            return super().read(size)

    with Written(path) as file:
        assert page_of(file).changed  # pyright: ignore[reportArgumentType]
    with path.open("rb") as file:
        assert not page_of(file).changed


def test_a_replaced_or_removed_file_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"A" * 100_000 + b"\n")

    with path.open("rb") as file:
        (tmp_path / "b").write_bytes(b"B" * 100_000 + b"\n")
        os.replace(tmp_path / "b", path)
        replaced = page_of(file)
        path.unlink()
        removed = page_of(file)

    assert set(replaced.lines[0]) == set(removed.lines[0]) == {"A"}
    assert not replaced.changed


def test_a_file_of_the_kernel_that_says_it_is_empty_is_read() -> None:
    with open("/proc/self/status", "rb") as file:
        page = page_of(file, offset=1, limit=1)
    with open("/proc/self/maps", "rb", buffering=0) as file:
        last = page_of(file, offset=-1)  # pyright: ignore[reportArgumentType]

    assert page.lines[0].startswith("Name:")
    assert last.total_lines is not None
    assert last.first_line == last.total_lines > 1


class Sizeless(io.BytesIO):
    """A file that gives `/proc`'s answer when it is asked for its size."""

    def fileno(self) -> int:
        return self._status.fileno()

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._status = open("/proc/self/status", "rb")  # noqa: SIM115

    def close(self) -> None:
        self._status.close()
        super().close()


def test_a_long_file_without_a_size_is_read_up_to_a_bound() -> None:
    with Sizeless(b"line\n" * 100_000) as file:
        assert page_of(file, offset=-1).first_line == 100_000
    with Sizeless(b"line\n" * 2_000_000) as file, pytest.raises(OSError, match="does not say its size"):
        page_of(file)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_an_image_is_given_whole(head: bytes, kind: str) -> None:
    assert read_page(io.BytesIO(head)) == Binary(kind=kind, size=len(head), version=None, image=head)


def test_an_image_that_is_too_large_is_only_described() -> None:
    found = read_page(io.BytesIO(b"\x89PNG\r\n\x1a\n" + bytes(pages.MAX_IMAGE_BYTES)))

    assert isinstance(found, Binary)
    assert (found.kind, found.image) == ("image/png", None)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x1f\x8b\x08\0", "gzip compressed data"),
        (b"PK\3\4\x14\0", "ZIP archive"),
        (b"\x7fELF\2\1\1\0", "ELF executable"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"%PDF-1.7\n\0", "PDF document"),
        (b"a.txt" + bytes(252) + b"ustar", "tar archive"),
        (b"\1\2\3\0", "binary data of no known kind"),
    ],
)
def test_a_binary_file_is_described_by_its_kind(head: bytes, kind: str) -> None:
    found = read_page(io.BytesIO(head))

    assert isinstance(found, Binary)
    assert kind in found.kind


MEMORY = """
import sys
from toolhaft.workspace.pages import read_page
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
def page(path, offset):
    with open(path, "rb") as file:
        return read_page(file, offset=offset, limit=200)
page(sys.argv[1], 5)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
assert len(page(sys.argv[2], int(sys.argv[3])).lines) == 200
print(peak() - before)
"""


@pytest.mark.parametrize("offset", [10, 12_000_000, -200])
def test_a_page_of_1_gb_takes_less_than_8_mb(tmp_path: Path, offset: int) -> None:
    """In the normal run the file has a tenth of that."""
    line = b"2026-11-30 12:00:00 INFO a line of a log that goes on for some time, seventy-five\n"
    (tmp_path / "small.log").write_bytes(line * 1_000)
    with (tmp_path / "big.log").open("wb") as file:
        for _ in range(122 if TIMES == 1 else 1_220):
            file.write(line * 10_000)
    deep = offset if TIMES > 1 or offset < 1_000_000 else offset // 10

    grown = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "small.log"), str(tmp_path / "big.log"), str(deep)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert int(grown) < (2_048 if offset < 0 else 8_192)
