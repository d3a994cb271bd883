"""Bytes to text and back: the encoding of a file, its byte order mark, its line ends.

**What a line is**, here and everywhere in this package: it ends at LF (0x0A) and nowhere else, and a CR just before
the LF belongs to the line end. U+2028, U+0085, vertical tab, form feed and the like are characters of a line
(`str.splitlines` thinks otherwise). The last line may lack its LF; an empty text has no line. So a text has as many
lines as `grep -c ''` counts, and line 7 is the line 7 of grep, git and editors.

The encoding of a file is found in this order: byte order mark; strict UTF-8; UTF-16 or UTF-32 by where the zeros are;
UTF-8 with a few broken characters; what the text declares (Python, XML, HTML, CSS); what `chardet` guesses. Else it
is not text.
"""

import codecs
import re
import unicodedata
from collections.abc import Generator
from typing import Literal, NamedTuple

from .magic import kind_of

# How much of a file's beginning is looked at.
SAMPLE_BYTES = 65_536
# A whole file is encoded and decoded in pieces of this many characters or bytes: Python's codecs let no other thread
# run meanwhile, and the event loop would wait 100 ms for one of 20 MB.
_PIECE = 1 << 20

Source = Literal["bom", "utf-8", "zeros", "declared", "guessed"]


class NotTextError(ValueError):
    """Bytes that are no text, or not exactly the text of any one encoding."""


class Encoding(NamedTuple):
    """How the bytes of a file are text: Python's codec for what follows the byte order mark, and the mark.

    `source` says how it was found; "guessed" may be wrong.
    """

    codec: str
    bom: bytes = b""
    source: Source = "utf-8"

    @property
    def newline(self) -> bytes:
        """The LF of this encoding."""
        return "\n".encode(self.codec)

    @property
    def unit(self) -> int:
        """How many bytes a code unit has: 1, 2 or 4."""
        return len(self.newline)

    @property
    def label(self) -> str:
        """The encoding in words, for notes: `UTF-16LE with BOM`, `cp1251 (guessed)`."""
        name = self.codec.upper().replace("16-", "16").replace("32-", "32") if self.codec in _UNICODE else self.codec
        how = {"bom": " with BOM", "declared": " (declared in the file)", "guessed": " (guessed)"}
        return name + how.get(self.source, "")


UTF_8 = Encoding(codec="utf-8")

_UNICODE = {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Patterns as text, here and below: `re` compiles each when it is first used, and most programs need none of them.
_DECLARATIONS = (
    rb"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)",  # PEP 263
    rb"\A\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([-\w.:]+)",
    rb'\A@charset "([-\w.:]+)";',
    rb"(?i:<meta\s[^>]*?charset\s*=)\s*[\"']?\s*([-\w.:]+)",
)
# HTML wants the declaration within the first 1024 bytes.
_DECLARED_WITHIN = 1024
# A codec in which these bytes are these characters can be cut at every LF byte. Left out are the ones with a state
# (ISO-2022, HZ, UTF-7) and the ones with escapes, which could bring out lone surrogates.
_ASCII_PROBE = bytes(range(128)) + rb"+AGE-\u0041~{VP~}"
# Characters of UTF-8 as far as their shape goes, with the last one cut off or not: overlong forms and surrogates are
# in it, which strict UTF-8 is not.
_SHAPED = (
    rb"[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}"
    rb"|(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf7][\x80-\xbf]{1,2})\Z"
)
_NOT_ASCII_TEXT = rb"[^\x00\t\n\r\f\x20-\x7e]"
_NOT_ASCII = rb"[\x80-\xff]"
# Control characters that no text in a legacy encoding has. (0x1A ends a DOS file, 0x1B begins a colour.)
_CONTROLS = rb"[\x00-\x07\x0e-\x19\x1c-\x1f]"


# So few characters beside ASCII are taken for those of Windows and the web in Western languages.
_FEW_CHARACTERS = 4


def detect(sample: bytes, *, complete: bool = True) -> Encoding | None:
    r"""Return the encoding of a file that begins with `sample`, None when it is not text.

    `complete` says that the sample is the whole file; else it may end within a character.

    >>> detect("naïve\n".encode("utf-16")).label
    'UTF-16LE with BOM'
    """
    marked = _marked(sample)
    if marked is not None:
        return marked
    if _decodes(sample, "utf-8", complete=complete) and b"\0" not in sample:
        return UTF_8
    if b"\0" in sample:
        return None if kind_of(sample) else _by_zeros(sample, complete=complete)
    return _damaged_utf8(sample) or _declared(sample, complete=complete) or _guessed(sample, complete=complete)


def decode(data: bytes) -> tuple[str, Encoding]:
    """Return the text of a whole file and its encoding, such that `encode` gives back the same bytes.

    For changing a file. Raises `NotTextError` where the bytes are not text, or not exactly the bytes of their text.
    """
    encoding = detect(data[:SAMPLE_BYTES], complete=len(data) <= SAMPLE_BYTES)
    if encoding is None:
        raise NotTextError("the file is not text but binary, so its text cannot be changed.")
    try:
        text, encoding = _decode_whole(data, encoding)
        exact = encode(text, encoding) == data
    except UnicodeError as error:
        raise NotTextError(
            f"the file is {encoding.label}, but has bytes that are not: {error}. "
            "Changing its text would change those bytes too; repair or convert the file first."
        ) from error
    if not exact:
        raise NotTextError(
            f"the file is {encoding.label}, with characters spelled in more than one way. "
            "Changing its text would change other bytes too; convert the file to UTF-8 first."
        )
    return text, encoding


def encode(text: str, encoding: Encoding = UTF_8) -> bytes:
    """Return the bytes of a text, byte order mark first.

    Raises `NotTextError` where the encoding has no bytes for a character; it names the first one.
    """
    try:
        return encoding.bom + _encoded(text, encoding.codec)
    except UnicodeEncodeError as error:
        line = count_lines(text[: error.start + 1])
        raise NotTextError(
            f"line {line} of the text has {text[error.start]!r}, which cannot be written in {encoding.label}. "
            "Leave that character out or write another one in its place."
        ) from error


def encode_more(text: str, *, after: bytes) -> bytes:
    r"""Return the bytes of a text that is added to a file: in its encoding, with its line ends, without a mark.

    `after` is the file or its first `SAMPLE_BYTES`. Raises `NotTextError` where it is binary, and like `encode`.

    >>> encode_more("c\n", after=b"a\r\nb\r\n")
    b'c\r\n'
    """
    sample = after[:SAMPLE_BYTES]
    encoding = detect(sample, complete=len(sample) < SAMPLE_BYTES)
    if encoding is None:
        raise NotTextError("the file is not text but binary, so no text can be added to it.")
    if dominant_newline(sample.decode(encoding.codec, "replace")) == "\r\n":
        text = "".join([piece.replace("\r\n", "\n").replace("\n", "\r\n") for piece in _pieces_of_lines(text)])
    return encode(text, encoding._replace(bom=b""))


def count_lines(text: str) -> int:
    """Return how many lines a text has: its LFs, and one more where something follows the last of them."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def split_lines(text: str, *, keep_ends: bool = False) -> list[str]:
    r"""Return the lines of a text, with their ends or without them.

    >>> split_lines("a\r\nb\u2028c")
    ['a', 'b\u2028c']
    """
    lines = text.split("\n")
    last = lines.pop()
    if keep_ends:
        return [f"{line}\n" for line in lines] + ([last] if last else [])
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def dominant_newline(text: str) -> str:
    r"""Return the line end that most lines of a text have: "\r\n" or "\n"; where there are none, "\n"."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"


def _decodes(sample: bytes, codec: str, *, complete: bool = True) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(sample, complete)
    except UnicodeDecodeError:
        return False
    return True


def _decode_whole(data: bytes, encoding: Encoding) -> tuple[str, Encoding]:
    try:
        return _decoded(data, encoding), encoding
    except UnicodeDecodeError as error:
        # The sample was ASCII, which says nothing about what the other characters are encoded in.
        sample = data[error.start : error.start + SAMPLE_BYTES]
        found = detect(sample, complete=False) if encoding == UTF_8 and data[: error.start].isascii() else None
        if found is None or found == UTF_8:
            raise
        return _decoded(data, found), found


def _encoded(text: str, codec: str) -> bytes:
    encoder = codecs.getincrementalencoder(codec)()
    ends = range(_PIECE, len(text) + _PIECE, _PIECE)
    try:
        return b"".join([encoder.encode(text[end - _PIECE : end], end >= len(text)) for end in ends])
    except UnicodeEncodeError:
        return text.encode(codec)  # fails too, and counts from the beginning where


def _decoded(data: bytes, encoding: Encoding) -> str:
    decoder, start = codecs.getincrementaldecoder(encoding.codec)(), len(encoding.bom)
    ends = range(start + _PIECE, len(data) + _PIECE, _PIECE)
    try:
        return "".join([decoder.decode(data[end - _PIECE : end], end >= len(data)) for end in ends])
    except UnicodeDecodeError:
        return data[start:].decode(encoding.codec)  # fails too, and counts from the beginning where


def _pieces_of_lines(text: str) -> Generator[str]:
    """Give a text in pieces, none of which ends between the CR and the LF of one line end."""
    start = 0
    while start < len(text):
        end = start + _PIECE + text.startswith("\r\n", start + _PIECE - 1)
        yield text[start:end]
        start = end


def _marked(sample: bytes) -> Encoding | None:
    for bom, codec in _BOMS.items():
        if sample.startswith(bom) and (codec != "utf-32-le" or _decodes(sample[: len(sample) & ~3], codec)):
            return Encoding(codec=codec, bom=bom, source="bom")
    return None


def _by_zeros(sample: bytes, *, complete: bool) -> Encoding | None:
    """UTF-16 or UTF-32 without a mark: what comes out is text, and most zeros are where small characters have them."""
    found: dict[str, int] = {}
    # ASCII with a few zeros in it would pass for Chinese; as UTF-16 it has a zero in every unit.
    ascii_only = not re.search(_NOT_ASCII_TEXT, sample)
    for codec in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        unit = _UNICODE[codec]
        # The byte that is zero in characters below U+0100, in UTF-32 the one that is zero below U+10000.
        high = sample[(unit - 1 if unit == 2 else 2) if codec.endswith("le") else unit // 2 - 1 :: unit]
        zeros = high.count(0)
        needed = len(high) / 2 if unit == 4 or ascii_only else 1
        if zeros >= needed and _is_plain(sample, codec, complete=complete):
            found[codec] = zeros
    return Encoding(codec=max(found, key=found.__getitem__), source="zeros") if found else None


def _is_plain(sample: bytes, codec: str, *, complete: bool) -> bool:
    """Whether a sample decodes to characters that text is made of: assigned ones, no control characters."""
    if not _decodes(sample, codec, complete=complete):
        return False
    characters = set(sample.decode(codec, "ignore")) - set("\t\n\v\f\r\x1b\ufeff")
    return not any(unicodedata.category(character) in {"Cc", "Cn", "Co"} for character in characters)


def _damaged_utf8(sample: bytes) -> Encoding | None:
    """UTF-8 some of whose characters are broken: at least half of what is not ASCII has the shape of UTF-8."""
    rest, shaped = re.subn(_SHAPED, b"", sample)
    if shaped and shaped >= len(re.findall(_NOT_ASCII, rest)):
        return UTF_8
    return None


def _declared(sample: bytes, *, complete: bool) -> Encoding | None:
    for declaration in _DECLARATIONS:
        found = re.search(declaration, sample[:_DECLARED_WITHIN])
        codec = _ascii_based(found[1].decode("ascii")) if found else None
        if codec and _decodes(sample, codec, complete=complete):
            return Encoding(codec=codec, source="declared")
    return None


def _guessed(sample: bytes, *, complete: bool) -> Encoding | None:
    if re.search(_CONTROLS, sample):
        return None
    if _is_hardly_more_than_ascii(sample):
        return Encoding(codec="cp1252", source="guessed")
    # Here, because it takes 60 ms and 10 MB that a program without legacy files never spends.
    import chardet

    # Of 37 short and long texts in 24 encodings these eras got 33 right, all eras 32, charset-normalizer 3.5 got 23.
    eras = chardet.EncodingEra.MODERN_WEB | chardet.EncodingEra.LEGACY_ISO | chardet.EncodingEra.DOS
    name = chardet.detect(sample, encoding_era=eras, compat_names=False)["encoding"]
    codec = _ascii_based(name) if name else None
    if codec is None or not _decodes(sample, codec, complete=complete):
        return None
    return Encoding(codec=codec, source="guessed")


def _is_hardly_more_than_ascii(sample: bytes) -> bool:
    """Whether there are a few characters, each alone among ASCII, such as in "café" or "20 °C".

    Statistics say nothing about so little ("cafι" was one answer), and texts in other scripts have longer runs.
    """
    runs = re.findall(rb"[\x80-\xff]+", sample)
    return len(runs) <= _FEW_CHARACTERS and all(len(run) == 1 and run >= b"\xa0" for run in runs)


def _ascii_based(name: str) -> str | None:
    """Return Python's name of a codec whose first 128 bytes are ASCII, None for every other name."""
    try:
        codec = codecs.lookup(name).name
        return codec if _ASCII_PROBE.decode(codec) == _ASCII_PROBE.decode("ascii") else None
    except (LookupError, UnicodeError):
        return None
