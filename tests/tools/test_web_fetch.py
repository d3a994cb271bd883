"""Pages of the web, against a real server on loopback."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import BinaryContent, ModelRetry

from tests.http_servers import Names, always, moved, reply, serving
from toolhaft import Allow, Executor, LocalWorkspace, Pipeline, Registry, ToolExecutionError, use_workspace
from toolhaft.attach.profiles import PROFILES, chosen_tools
from toolhaft.pipeline.confirmation import Deny
from toolhaft.spec import NeedsApproval, ToolKind, tool_spec
from toolhaft.tools import web_fetch
from toolhaft.workspace import NetworkRules

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
HTML = """<!DOCTYPE html><html><head><title>A &amp; B</title><script>evil()</script></head><body>
<h1>Head</h1><p>Some <b>bold</b> and <a href="../x?a=1">a link</a>.</p>
<ul><li>one</li><li>two</li></ul><pre><code>x = 1
  y</code></pre><img src="data:image/png;base64,AAAA" alt="a picture"></body></html>"""


@pytest.fixture(autouse=True)
def allowed(tmp_path: Path) -> Iterator[LocalWorkspace]:
    """A workspace that allows loopback by name."""
    place = LocalWorkspace(tmp_path, network=NetworkRules(allowed_hosts=("127.0.0.1",)))
    with use_workspace(place):
        yield place


async def fetched(answer: bytes, path: str = "/docs/page", **options: Any) -> Any:
    async with serving(answer) as server:
        return await web_fetch(server.url + path, **options)


async def test_html_comes_as_markdown_with_absolute_links() -> None:
    async with serving(reply(HTML, content_type="text/html; charset=utf-8")) as server:
        page = await web_fetch(server.url + "/docs/page")

    assert isinstance(page, str)
    assert page == (
        f"# Head\n\nSome **bold** and [a link]({server.url}/x?a=1).\n\n- one\n- two\n\n```\nx = 1\n  y\n```\n\n"
        f"a picture\n\n[{server.url}/docs/page, 'A & B', as Markdown.]"
    )
    assert server.asked[0].method == "GET"


async def test_html_that_claims_nothing_is_known_by_its_looks() -> None:
    assert (await fetched(reply("\n<html><title></title><p>x"))).startswith("x\n\n[http://")
    assert await fetched(reply("<html><p>x", content_type="text/plain")) == "<html><p>x"


async def test_a_page_in_another_encoding_is_read() -> None:
    declared = '<html><head><meta charset="iso-8859-1"></head><p>grün'.encode("latin-1")

    assert (await fetched(reply(declared, content_type="text/html"))).startswith("grün")
    assert (await fetched(reply("<p>grün".encode("cp1251", "replace"), content_type="text/html; charset=cp1251")))[
        :2
    ] == "gr"


@pytest.mark.parametrize("text", ['{"a": 1.10}', "plain\ntext\n", "# Markdown\n"])
async def test_other_text_comes_as_it_is(text: str) -> None:
    assert await fetched(reply(text, content_type="application/json")) == text.removesuffix("\n")


async def test_a_long_page_has_an_honest_end_and_goes_on() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 1_001))

    first = await fetched(reply(text))
    last = await fetched(reply(text), offset=first.facts["next_offset"])

    assert first.endswith("line 500\n\n[Lines 1 to 500 of 1000 are shown (limit=500). To go on: offset=501; "
                          "the page is fetched again.]")  # fmt: skip
    assert first.facts["truncated"] is True
    assert last == "".join(f"line {number}\n" for number in range(501, 1_001)).rstrip()
    assert last.facts["truncated"] is False
    assert await fetched(reply(text), offset=-1) == "line 1000"


async def test_a_long_line_goes_on_within() -> None:
    first = await fetched(reply("x" * 60_000 + "end"))

    assert first.endswith("[Characters 1 to 60000 of line 1 of 1 are shown (an answer holds 60000 characters). "
                          "To go on: offset=1, column=60001; the page is fetched again.]")  # fmt: skip
    assert await fetched(reply("x" * 60_000 + "end"), column=60_001) == "end"


async def test_a_long_page_whose_lines_were_not_counted_says_so() -> None:
    page = await fetched(reply("line\n" * 300_000))

    assert "Lines 1 to 500 of at least 501 are shown" in page


async def test_a_line_that_is_not_there_is_told() -> None:
    with pytest.raises(ModelRetry, match=r"offset=9 is past the end .*\(1 lines\)"):
        await fetched(reply("x"), offset=9)


@pytest.mark.parametrize(
    ("html", "told"),
    [
        ("<div>" * 2_000 + "deep", "depth limit"),
        ("<p>x</p>" * 300_000, "first 2,000,000 of 2,400,000 characters of HTML"),
    ],
)
async def test_what_the_conversion_leaves_out_is_told(html: str, told: str) -> None:
    page = await fetched(reply(html, content_type="text/html"), limit=1)

    assert told in page
    assert page.facts["truncated"] is True


@pytest.mark.parametrize(
    "html", ["<blockquote>" * 450 + "<p>x</p>" * 2_000, "<a href=x>" * 20_000, "", "<", "&" * 9_999]
)
async def test_html_that_means_ill_is_converted_all_the_same(html: str) -> None:
    assert await fetched(reply(html or " ", content_type="text/html"))


async def test_images_and_media_are_shown_and_other_bytes_described() -> None:
    image = await fetched(reply(PNG))

    assert image[1] == BinaryContent(PNG, media_type="image/png")
    assert "image/png, 28 bytes" in image[0]
    assert "is not text: gzip compressed data" in await fetched(
        reply(b"\x1f\x8b\x08\0\0", content_type="application/gzip")
    )
    assert "204 No Content, without content" in await fetched(reply(status="204 No Content"))


async def test_a_failure_tells_the_status_and_what_an_api_says() -> None:
    with pytest.raises(ToolExecutionError, match=r"answered 404 Not Found.\n\n\{\"error\": 1\}"):
        await fetched(reply('{"error": 1}', status="404 Not Found", content_type="application/json"))
    for answer in (reply(HTML, status="500 Oh"), reply(status="500 Oh")):
        with pytest.raises(ToolExecutionError, match=r"answered 500 Internal Server Error\.$"):
            await fetched(answer)


async def test_a_redirect_on_the_host_is_followed_and_one_to_another_is_told() -> None:
    async with serving(always(moved("/new"), reply("new"))) as server:
        page = await web_fetch(server.url)
        assert page == "new"
        assert page.facts["url"] == server.url + "/new"  # pyright: ignore[reportAttributeAccessIssue]
    page = await fetched(moved("http://elsewhere.test/x"))
    assert page.startswith("[The page is at http://elsewhere.test/x, on another host. Nothing was asked there")
    assert page.facts["moved_to"] == "http://elsewhere.test/x"


async def test_a_redirect_to_an_allowed_host_is_followed() -> None:
    async with serving(reply("other")) as other:
        assert await fetched(moved(other.url)) == "other"


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://[::1", ModelRetry), ("example.com", ToolExecutionError), ("file:///etc/passwd", ToolExecutionError),
     ("http://u:p@a.test/", ToolExecutionError), ("http://2130706433:1/", ToolExecutionError),
     ("http://169.254.169.254/", ToolExecutionError), ("http://100.64.0.1/", ToolExecutionError)],
)  # fmt: skip
async def test_what_leads_nowhere_or_inside_is_refused(url: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await web_fetch(url)


# Who is asked


async def asked_about(url: str) -> NeedsApproval | None:
    approval = tool_spec(web_fetch).approval
    assert approval is not None
    return approval(url=url, offset=1, limit=500, column=1)


async def test_a_person_is_asked_about_every_host_that_is_not_allowed() -> None:
    assert await asked_about("http://127.0.0.1/x") is None
    need = await asked_about("https://example.com/?secret")
    assert need is not None
    assert (need.reason, "example.com" in need.message) == ("other_host", True)
    assert tool_spec(web_fetch).kind is ToolKind.NETWORK


@pytest.mark.parametrize("url", ["http://[::1", "file:///x", "http://u:p@a.test/"])
async def test_nobody_is_asked_about_what_cannot_be_sent(url: str) -> None:
    assert await asked_about(url) is None


def place(tmp_path: Path, *hosts: str) -> LocalWorkspace:
    names = Names(**{host.replace(".", "_"): [["127.0.0.1"]] for host in hosts})
    return LocalWorkspace(tmp_path, network=NetworkRules(allowed_hosts=(), resolve=names))


async def test_an_executor_asks_for_each_host_once_where_always_is_the_answer(tmp_path: Path) -> None:
    questions: list[str] = []

    def always_yes(tool: str, arguments: Any, preview: Any) -> Allow:
        questions.append(arguments["url"])
        return Allow(always=True)

    executor = Executor(_registry(), Pipeline(answerer=always_yes), workspace=place(tmp_path))
    for url in ("http://a.test/1", "http://a.test/2", "http://b.test/", "http://a.test:81/", "http://[::1"):
        await executor.execute("web_fetch", {"url": url})

    assert questions == ["http://a.test/1", "http://b.test/", "http://a.test:81/"]


async def test_what_a_person_refuses_is_not_asked(tmp_path: Path) -> None:
    names = Names()
    rules = LocalWorkspace(tmp_path, network=NetworkRules(resolve=names))
    answers: list[Callable[..., Any] | None] = [None, lambda *_: Deny()]

    for answerer in answers:
        result = await Executor(_registry(), Pipeline(answerer=answerer), workspace=rules).execute(
            "web_fetch", {"url": "http://a.test/"}
        )
        assert not result.success
    assert names.asked == []


def _registry() -> Registry:
    registry = Registry()
    registry.register(web_fetch)
    return registry


def test_no_profile_has_it() -> None:
    assert all("web_fetch" not in names for names in PROFILES.values())
    assert web_fetch not in chosen_tools("read-only")


async def test_many_pages_at_once() -> None:
    async with serving(reply(HTML, content_type="text/html")) as server:
        pages = await asyncio.gather(*(web_fetch(f"{server.url}/{number}") for number in range(20)))
    assert all("# Head" in page for page in pages)
