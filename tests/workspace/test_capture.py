"""Bounded output: whatever is written, in whatever parts, the kept text and the counts add up."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.workspace.outcome import Piece, pieces_of
from toolhaft.workspace.supervisor.capture import HeadAndTail, Ring
from toolhaft.workspace.supervisor.frames import Frames, pack
from toolhaft.workspace.supervisor.spill import Spill

texts = st.text(st.sampled_from("a\nñ€😀"), max_size=60)
streams = st.sampled_from(["stdout", "stderr"])


def _captured(writes: list[tuple[str, bytes]], *, head: int, tail: int) -> tuple[Piece, ...]:
    output = HeadAndTail(head_bytes=head, tail_bytes=tail)
    for stream, data in writes:
        output.feed(stream, memoryview(data))
    return pieces_of(output.pieces())


@given(st.lists(st.tuples(streams, texts)), st.integers(0, 40), st.integers(0, 40), st.integers(1, 7))
def test_each_stream_is_its_beginning_a_gap_and_its_end(
    writes: list[tuple[str, str]], head: int, tail: int, part: int
) -> None:
    parts = [
        (stream, data[start : start + part])
        for stream, text in writes
        for data in [text.encode()]
        for start in range(0, len(data), part)
    ]

    pieces = _captured(parts, head=head, tail=tail)

    for stream in ("stdout", "stderr"):
        whole = "".join(text for name, text in writes if name == stream)
        own = [piece for piece in pieces if piece.stream == stream]
        gaps = [number for number, piece in enumerate(own) if piece.dropped_bytes]
        if not gaps:
            assert "".join(piece.text for piece in own) == whole
            assert len(whole.encode()) <= head + tail
            continue
        (gap,) = gaps
        before, after = "".join(map(_text, own[:gap])), "".join(map(_text, own[gap + 1 :]))
        assert whole.startswith(before)
        assert whole.endswith(after)
        assert len(before.encode()) + own[gap].dropped_bytes + len(after.encode()) == len(whole.encode())
        assert own[gap].dropped_lines == whole.count("\n") - before.count("\n") - after.count("\n")
        assert len(before.encode()) > head - 4
        assert len(after.encode()) > tail - 4


@given(st.lists(st.tuples(streams, texts)))
def test_what_is_kept_whole_is_in_the_order_in_which_it_was_written(writes: list[tuple[str, str]]) -> None:
    pieces = _captured([(stream, text.encode()) for stream, text in writes if text], head=10_000, tail=10)

    assert "".join(map(str, pieces)) == "".join(text for _, text in writes)


@given(st.lists(st.binary(max_size=30)), st.integers(0, 30), st.integers(0, 30))
def test_bytes_that_are_no_text_are_replaced_and_counted(writes: list[bytes], head: int, tail: int) -> None:
    pieces = _captured([("stdout", data) for data in writes], head=head, tail=tail)

    size = sum(map(len, writes))
    assert sum(piece.dropped_bytes for piece in pieces) <= max(0, size - head - tail) + 6
    "".join(map(str, pieces)).encode()


@given(st.lists(st.one_of(texts, st.integers(1, 50))), st.integers(1, 60))
def test_a_ring_gives_everything_once_or_counts_it(steps: list[str | int], limit: int) -> None:
    ring = Ring(limit)
    written = b""
    read = ""
    dropped = 0

    for step in [*steps, 1_000]:
        if isinstance(step, str):
            written += step.encode()
            ring.feed(memoryview(step.encode()))
            continue
        taken = ring.take(step, final=step == 1_000)
        dropped += taken["dropped_bytes"]
        read += taken["text"]

    assert dropped or read == written.decode()
    assert len(read.replace("\ufffd", "").encode()) + dropped <= len(written)
    assert len(read.encode()) + dropped >= len(written) - 3 * read.count("\ufffd") - 8 * bool(dropped)


@pytest.mark.parametrize(
    ("writes", "head", "tail", "max_lines"),
    [
        ([("stdout", b"one\n"), ("stderr", b"two\n"), ("stdout", b"three\n")], 5, 3, None),  # more than is kept
        ([("stdout", b"1\n2\n"), ("stderr", b"3\n4")], 100, 100, 3),  # more lines than are shown
        ([("stdout", b"1\n2\n"), ("stderr", b"3\n")], 100, 100, 3),  # all of it is kept and shown
    ],
)
def test_what_does_not_fit_is_in_the_spill_file_as_it_was_written(
    tmp_path: Path, writes: list[tuple[str, bytes]], head: int, tail: int, max_lines: int | None
) -> None:
    spill = Spill(str(tmp_path), limit_bytes=1_000)
    output = HeadAndTail(head_bytes=head, tail_bytes=tail, spill=spill)
    for stream, data in writes:
        output.feed(stream, memoryview(data))

    text = "".join(piece.text for piece in pieces_of(output.pieces(max_lines=max_lines)))
    report = spill.report()
    spill.close()

    whole = b"".join(data for _, data in writes)
    assert (report is None) == (whole == b"1\n2\n3\n")
    assert (whole if report is None else (tmp_path / report["path"]).read_bytes()) == whole
    assert report is not None or text.encode() == whole


def test_a_ring_that_is_asked_for_nothing_keeps_what_it_has() -> None:
    ring = Ring(10)
    ring.feed(memoryview(b"a\n"))

    assert ring.take(0, final=False) == {"text": "", "dropped_bytes": 0, "waiting_bytes": 2}
    assert ring.take(9, final=True)["text"] == "a\n"


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=3)), st.integers(1, 9))
def test_messages_arrive_whole_however_the_stream_was_cut(messages: list[dict[str, str]], part: int) -> None:
    data = b"".join(map(pack, messages))
    frames = Frames()
    arrived: list[object] = []

    for start in range(0, len(data), part):
        frames.feed(data[start : start + part])
        while (message := frames.next()) is not None:
            arrived.append(message)

    assert arrived == messages


def _text(piece: Piece) -> str:
    return piece.text
