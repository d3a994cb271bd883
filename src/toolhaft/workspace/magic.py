"""What kind of file some bytes are the beginning of, for files that are not text."""

# Media types that models take as images.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

# (offset, bytes, kind): the numbers of file(1), the kinds in words or as the media type of an image.
_NUMBERS = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"\0\0\1\0", "icon"),
    (4, b"ftypavif", "AVIF image"),
    (4, b"ftypheic", "HEIC image"),
    (4, b"ftyp", "MP4 or QuickTime video"),
    (8, b"WAVE", "WAV audio"),
    (8, b"AVI ", "AVI video"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"ID3", "MP3 audio"),
    (0, b"%PDF-", "PDF document"),
    (0, b"PK\3\4", "ZIP archive (or a format built on it: docx, xlsx, jar, whl)"),
    (0, b"PK\5\6", "empty ZIP archive"),
    (0, b"\x1f\x8b", "gzip compressed data"),
    (0, b"BZh", "bzip2 compressed data"),
    (0, b"\xfd7zXZ\0", "xz compressed data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd compressed data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (257, b"ustar", "tar archive"),
    (0, b"!<arch>\n", "ar archive or static library"),
    (0, b"\x7fELF", "ELF executable or library"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O executable or library"),
    (0, b"\xca\xfe\xba\xbe", "Java class or universal Mach-O"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"PAR1", "Parquet table"),
    (0, b"\x93NUMPY", "NumPy array"),
    (0, b"wOFF", "WOFF font"),
    (0, b"wOF2", "WOFF2 font"),
    (0, b"MZ", "Windows executable or library"),
    (0, b"BM", "BMP image"),
]


def kind_of(head: bytes) -> str | None:
    """Return the kind of file that begins with `head` (512 bytes are enough): a media type for images, else words."""
    for offset, number, kind in _NUMBERS:
        if head.startswith(number, offset):
            return kind
    return None
