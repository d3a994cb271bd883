"""Bytes to text and back: what a line is, which encoding a file has, and that nothing is lost on the way."""

import codecs
import doctest
import gzip
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.workspace import text as text_module
from toolhaft.workspace.text import (
    SAMPLE_BYTES,
    UTF_8,
    Encoding,
    NotTextError,
    count_lines,
    decode,
    detect,
    dominant_newline,
    encode,
    encode_more,
    split_lines,
)

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
line_noise = st.text(st.sampled_from("ab\r\n\v\f\x1c\x85\u2028\u2029"))

RUSSIAN = "Это длинный текст на русском языке, написанный в старой кодировке.\n" * 3
LEGACY = [
    ("cp1252", "café one\ntwo\n"),
    ("cp1252", "x = 1  # résumé\n"),
    ("cp1252", "© 2020, 20 °C\n"),
    ("cp1252", "caf\u00e9\n" * 3),
    ("cp1252", "\u201cquoted\u201d\n"),
    ("cp1252", "He said \u201cit\u2019s fine\u201d \u2013 really\u2026\n"),
    ("cp932", "こんにちは世界\n"),
    ("cp932", "// 日本語のコメント\nint x = 0; // 変数\n" * 4),
    ("euc_jp", "これは日本語のテキストです。\n" * 4),
    ("gb18030", "你好，世界\n"),
    ("gb18030", "// 这是一个中文注释\nint main() { return 0; }\n" * 4),
    ("big5", "這是一個繁體中文的檔案，內容很長。\n" * 4),
    ("cp949", "안녕하세요 세계\n"),
    ("koi8-r", RUSSIAN),
    ("koi8-r", "# настройки сервера\nport = 80\n"),
    ("cp1251", RUSSIAN),
    ("cp1251", "Привет, мир\n"),
    ("cp866", RUSSIAN),
]


def test_the_examples_of_the_docstrings_run() -> None:
    failed, run = doctest.testmod(text_module)

    assert (failed, run > 0) == (0, True)


@given(line_noise)
def test_a_text_has_as_many_lines_as_grep_counts(sample: str) -> None:
    lines = split_lines(sample)

    assert len(lines) == count_lines(sample) == len(sample.split("\n")) - (sample.split("\n")[-1] == "")


@given(line_noise)
def test_lines_with_their_ends_are_the_text(sample: str) -> None:
    whole = split_lines(sample, keep_ends=True)

    assert "".join(whole) == sample
    assert [line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line for line in whole] == (
        split_lines(sample)
    )


def test_grep_counts_the_same_lines(tmp_path: object) -> None:
    sample = "a\vb\u2028c\x85d\r\n\n\x1ce"

    counted = subprocess.run(["grep", "-c", ""], input=sample.encode(), capture_output=True, check=True).stdout

    assert count_lines(sample) == int(counted) == 3


def test_only_the_cr_before_an_lf_belongs_to_the_line_end() -> None:
    assert split_lines("a\r\r\nb\rc\r") == ["a\r", "b\rc\r"]


@pytest.mark.parametrize(
    ("sample", "newline"),
    [("", "\n"), ("a", "\n"), ("a\r\n", "\r\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\r\nb\n", "\n"), ("a\rb\r\n", "\r\n")],
)
def test_the_dominant_line_end_is_the_one_of_most_lines(sample: str, newline: str) -> None:
    assert dominant_newline(sample) == newline


@given(any_text)
def test_a_utf8_file_survives_decoding_and_encoding(sample: str) -> None:
    decoded, encoding = decode(sample.encode())

    assert encode(decoded, encoding) == sample.encode()


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@given(sample=st.text(st.characters(categories=["L", "N", "P"]), min_size=1))
def test_every_unicode_encoding_is_found_and_kept(codec: str, sample: str) -> None:
    """Without a mark it takes ASCII to see the zeros, and at the beginning: U+0100 begins as an icon file does."""
    text = f"plain {sample} plain\n"
    data = text.encode(codec)

    decoded, encoding = decode(data)

    assert decoded == text
    assert encode(decoded, encoding) == data


@pytest.mark.parametrize("bom", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE])
def test_a_big_or_little_endian_mark_is_kept(bom: bytes) -> None:
    encoding = detect(bom)

    assert encoding is not None
    assert encode("", encoding) == bom


def test_a_utf16_mark_before_a_nul_is_not_a_utf32_mark() -> None:
    found = detect(codecs.BOM_UTF16_LE + "\0ab".encode("utf-16-le"))

    assert found is not None
    assert found.codec == "utf-16-le"


@pytest.mark.parametrize(("codec", "sample"), LEGACY)
def test_a_legacy_encoding_is_guessed_and_said(codec: str, sample: str) -> None:
    decoded, encoding = decode(sample.encode(codec))

    assert decoded == sample
    assert encoding.label.endswith(" (guessed)")
    assert encode(decoded, encoding) == sample.encode(codec)


@pytest.mark.parametrize(
    ("codec", "sample"),
    [
        ("koi8-r", "# -*- coding: koi8-r -*-\nx = 'да'\n"),
        ("cp1250", "#!/usr/bin/python\n# vim: set fileencoding=cp1250 :\nx = 'žluť'\n"),
        ("iso8859-15", '<?xml version="1.0" encoding="ISO-8859-15"?>\n<p>5 €</p>\n'),
        ("cp1251", "<!doctype html><html><head><meta charset=windows-1251><p>да</p>\n"),
        ("big5", '<meta http-equiv="Content-Type" content="text/html; charset=big5">中文\n'),
        ("iso8859-9", '@charset "iso-8859-9";\na::before { content: "şğı" }\n'),
    ],
)
def test_a_declared_encoding_wins_over_a_guess(codec: str, sample: str) -> None:
    decoded, encoding = decode(sample.encode(codec))

    assert decoded == sample
    assert encoding.label == f"{codec} (declared in the file)"


@pytest.mark.parametrize(
    "name", ["utf-7", "rot13", "hex", "raw_unicode_escape", "idna", "iso2022_jp", "no-such", "utf-16"]
)
def test_a_declaration_that_cannot_be_cut_into_lines_is_not_believed(name: str) -> None:
    sample = f"# coding: {name}\n# caf\u00e9 \\ud800 na\u00efve r\u00e9sum\u00e9\n".encode("latin-1")

    found = detect(sample)

    assert found is not None
    assert found.source == "guessed"


@pytest.mark.parametrize(
    "data",
    [b"a\xed\xa0\x80b\n", b"a\xc0\xafb\n", "gr\u00fc\u00dfe".encode() + b" \xff\n", "5 \u20ac".encode()[:-1]],
    ids=["surrogate", "overlong", "stray byte", "cut off"],
)
def test_damaged_utf8_is_not_taken_for_a_legacy_encoding(data: bytes) -> None:
    assert detect(data) == UTF_8
    with pytest.raises(NotTextError, match="has bytes that are not"):
        decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\0" * 64,
        bytes(range(256)),
        gzip.compress(b"x" * 1000, mtime=0),
        b"\x00\x01\x02\x03" * 9,
        b"a\0b\0c",
        b"\x01\xff\xfe\x80",
        b"plain text with one \0 in it",
        b"\1\2\3\0",
        b"\xff\xd8\xff\xe0 JFIF \x80\x90 beginning of a photograph",
    ],
)
def test_what_is_not_text_has_no_encoding(data: bytes) -> None:
    assert detect(data) is None
    with pytest.raises(NotTextError, match="not text but binary"):
        decode(data)
    with pytest.raises(NotTextError, match="not text but binary"):
        encode_more("x", after=data)


def test_random_bytes_are_not_text() -> None:
    assert [detect(os.urandom(4_000)) for _ in range(20)] == [None] * 20


def test_a_sample_may_end_within_a_character() -> None:
    sample = ("x" + "\u20ac" * SAMPLE_BYTES).encode()[:SAMPLE_BYTES]

    assert detect(sample, complete=False) == UTF_8
    assert detect("\U0001f600 a\n".encode("utf-16-le")[:-1], complete=False) == Encoding(
        codec="utf-16-le", source="zeros"
    )


def test_a_legacy_character_behind_the_sample_is_found_before_a_change() -> None:
    data = b"plain\n" * SAMPLE_BYTES + "na\u00efve r\u00e9sum\u00e9\n".encode("cp1252") * 10

    decoded, encoding = decode(data)

    assert encode(decoded, encoding) == data
    assert encoding.source == "guessed"


def test_bytes_that_another_spelling_would_replace_are_refused() -> None:
    """NEC's and IBM's rows of Shift-JIS have some characters twice."""
    data = "日本語のテキストです。\n".encode("cp932") * 4 + b"\x87\x90\n"

    with pytest.raises(NotTextError, match="spelled in more than one way"):
        decode(data)


def test_a_lone_surrogate_cannot_be_written() -> None:
    with pytest.raises(NotTextError, match=r"line 2 of the text has '\\ud800', which cannot be written in UTF-8"):
        encode("a\nb\ud800")


def test_a_character_that_the_encoding_lacks_cannot_be_written() -> None:
    with pytest.raises(NotTextError, match="cannot be written in cp1252"):
        encode("да", Encoding(codec="cp1252", source="guessed"))


@pytest.mark.parametrize(
    ("old", "added"),
    [
        (b"", b"x\ny\r\n"),
        (b"a\n", b"x\ny\r\n"),
        (b"a\r\n", b"x\r\ny\r\n"),
        (b"\xef\xbb\xbfa\n", b"x\ny\r\n"),
        ("a\r\n".encode("utf-16"), "x\r\ny\r\n".encode("utf-16-le")),
    ],
)
def test_added_text_takes_encoding_and_line_ends_of_the_file(old: bytes, added: bytes) -> None:
    assert encode_more("x\ny\r\n", after=old) == added


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "cp1252", "cp932", "gb18030", "big5hkscs", "euc_jis_2004"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_long_text_is_encoded_and_decoded_in_pieces_to_the_same(
    codec: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    characters = "a\r\n~e\u0301\u00ea\u0304\u00e6\u0300\u65e5\u672c\U0001f600"
    text = "".join(one for one in characters if one.encode(codec, "ignore")) * 2
    whole, encoding = text.encode(codec), Encoding(codec=codec, source="declared")
    monkeypatch.setattr(text_module, "_PIECE", size)

    assert encode(text, encoding) == whole
    assert decode(codecs.BOM_UTF16_LE + "añ\U0001f600\n".encode("utf-16-le"))[0] == "añ\U0001f600\n"
    assert decode("añ\U0001f600\n".encode())[0] == "añ\U0001f600\n"


def test_a_fault_in_a_later_piece_is_counted_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_PIECE", 2)

    with pytest.raises(NotTextError, match="line 3 of the text has 'д'"):
        encode("a\nb\nд", Encoding(codec="cp1252"))
    with pytest.raises(NotTextError, match="in position 5"):
        decode(codecs.BOM_UTF8 + b"abcde\xff\n")


@given(st.text(alphabet="ab\r\n", max_size=12), st.integers(1, 4))
def test_line_ends_are_made_alike_across_pieces(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "_PIECE", size)

        added = encode_more(text, after=b"a\r\n")

    assert added == re.sub(rb"(?<!\r)\n", b"\r\n", text.encode())


def test_chardet_is_loaded_only_for_legacy_files() -> None:
    code = (
        "import sys\nfrom toolhaft.workspace.text import detect\n"
        "detect(b'plain'); detect('h\\u00e9'.encode()); detect(b'\\0'); detect('a'.encode('utf-16'))\n"
        "assert 'chardet' not in sys.modules\ndetect(b'\\xcf\\xf0\\xe8')\nassert 'chardet' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
