"""HTML as a model reads it."""

import html
import re

import httpx2

from toolhaft.workspace.net_content import media_type

# A page that means ill takes the converter seconds up to here, and minutes where it may be larger and deeper.
MAX_HTML_CHARACTERS = 2_000_000
MAX_HTML_DEPTH = 100

_TITLE = re.compile(r"<title\b[^<>]*>([^<]*)", re.IGNORECASE)
_HTML = ("text/html", "application/xhtml+xml")


def is_html(response: httpx2.Response, text: str) -> bool:
    """Whether an answer is HTML: it says so, or says nothing and looks so."""
    claimed = media_type(response)
    looks_so = text[:1_000].lstrip().lower().startswith(("<!doctype html", "<html"))
    return claimed in _HTML or (not claimed and looks_so)


def title_of(text: str) -> str:
    """The title of a page on one line, "" where it has none."""
    title = _TITLE.search(text, 0, MAX_HTML_CHARACTERS)
    return " ".join(html.unescape(title[1]).split())[:200] if title else ""


def as_markdown(text: str, url: str) -> tuple[str, list[str]]:
    """A page as Markdown, its links absolute, and what of it is missing, a sentence each. Work for a thread."""
    # Here: nothing else needs it.
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        base_url=url,
        extract_metadata=False,
        autolinks=False,
        inline_data_media="alt_text_only",
        max_depth=MAX_HTML_DEPTH,
        preprocessing=PreprocessingOptions(enabled=False),
    )
    done = convert(text[:MAX_HTML_CHARACTERS], options)
    left_out = [f"In the conversion: {warning.message}" for warning in done.warnings]
    if len(text) > MAX_HTML_CHARACTERS:
        left_out.append(f"Only the first {MAX_HTML_CHARACTERS:,} of {len(text):,} characters of HTML were converted.")
    return (done.content or "").strip("\n") + "\n", left_out
