"""Tools made from HTTP endpoints, against a real server on loopback."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, Field, SecretStr
from pydantic_ai import BinaryContent, ModelRetry

from tests.http_servers import Asked, Server, always, moved, reply, serving
from tests.one_call import call_by_agent, shown_to_model
from toolhaft import Executor, LocalWorkspace, Pipeline, Registry, ToolExecutionError, use_workspace
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.makers import HttpToolConfig, http_tool, http_tool_of
from toolhaft.spec import ToolKind, ToolText, tool_spec
from toolhaft.testing import not_applied, problems
from toolhaft.workspace import HttpLimits, NetworkRules

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


class Colour(Enum):
    RED = "red"


class Order(BaseModel):
    """Order a thing."""

    id: str
    amount: Decimal = Decimal("1.10")
    count: int = 2**60
    colour: Colour | None = None
    note: str | None = None
    key: SecretStr | None = None


async def echo(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
    return reply("ok")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving(echo) as running:
        yield running


def made(server: Server, path: str = "/", method: str = "POST", **options: Any) -> Any:
    given = {"description": "Ask the endpoint.", "allowed_hosts": ["127.0.0.1"], **options}
    return http_tool("ask", server.url + path, method, **given)


async def answered(answer: bytes, method: str = "GET", args: dict[str, Any] | None = None, **options: Any) -> Any:
    async with serving(answer) as running:
        return await made(running, method=method, **options)(args or {})


# Where arguments go


async def test_a_post_sends_its_arguments_as_json_and_numbers_keep_their_precision(server: Server) -> None:
    answer = await made(server, parameters=Order)(Order(id="x", colour=Colour.RED, key=SecretStr("s")))

    assert answer == "ok"
    assert server.asked[0].headers["content-type"] == "application/json"
    assert server.asked[0].body == (
        b'{"id": "x", "amount": 1.10, "count": 1152921504606846976, "colour": "red", "key": "s"}'
    )


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
async def test_other_methods_send_them_in_the_query(server: Server, method: str) -> None:
    await made(server, "/x?fixed=1", method, parameters=Order)({"id": "a b&c", "amount": "2.50"})

    assert server.asked[0].target == "/x?fixed=1&id=a+b%26c&amount=2.50&count=1152921504606846976"
    assert server.asked[0].body == b""


async def test_a_signature_types_a_tool_too(server: Server) -> None:
    def search(text: str, days: int = 3, tags: list[str] | None = None) -> None:
        """Search for it."""

    tool = http_tool("search", server.url, "GET", parameters=search, allowed_hosts=["127.0.0.1"])
    await tool("x", tags=["a", "b"])

    assert tool_spec(tool).description == "Search for it."
    assert server.asked[0].target == "/?text=x&days=3&tags=a&tags=b"
    with pytest.raises(ToolExecutionError, match="days"):
        await tool("x", days=3.7)


async def test_a_schema_reaches_the_model_to_the_letter(server: Server) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {"Id": {"type": "integer"}},
        "properties": {"id": {"$ref": "#/$defs/Id"}, "or": {"type": ["string", "null"], "default": "x"}},
        "required": ["id"],
    }
    tool = made(server, parameters=schema)

    await call_by_agent(tool, {"id": 5})

    assert tool_spec(tool).schema == schema
    assert (await shown_to_model(tools=[tool])).parameters_json_schema == schema
    assert json.loads(server.asked[0].body) == {"id": 5}


@pytest.mark.parametrize("how", ["positional", "by name", "as the model's argument"])
async def test_a_tool_takes_its_arguments_in_each_way(server: Server, how: str) -> None:
    tool = made(server, "/{id}")

    await {"positional": lambda: tool({"id": "a"}), "by name": lambda: tool(id="a")}.get(
        how, lambda: tool(arguments={"id": "a"})
    )()

    assert server.asked[0].target == "/a"


async def test_mappings_place_and_rename_arguments_and_what_is_fixed_stays(server: Server) -> None:
    class Args(BaseModel):
        q: str
        trace: str | None = None
        user: str
        key: str = "model's"
        empty: None = None

    tool = made(
        server,
        "/{user}",
        parameters=Args,
        query_arguments={"q": "search"},
        header_arguments={"trace": "X-Trace"},
        body_arguments={"key": "api_key"},
        headers={"X-Trace": "fixed", "X-More": "1"},
        static_query={"v": 2, "list": [1, None, True]},
        static_body={"api_key": "ours", "nested": {"a": 1}},
    )
    await tool(q="x", trace="theirs", user="u")

    asked = server.asked[0]
    assert asked.target == "/u?search=x&v=2&list=1&list=true"
    assert (asked.headers["x-trace"], asked.headers["x-more"]) == ("fixed", "1")
    assert json.loads(asked.body) == {"api_key": "ours", "nested": {"a": 1}}


async def test_header_arguments_are_sent(server: Server) -> None:
    tool = made(server, "/", "GET", parameters=Order, header_arguments=["id", "note"], query_arguments=[])

    await tool(id="a b", note=None)
    with pytest.raises(ModelRetry, match="printable ASCII"):
        await tool(id="a\r\nX-Evil: 1")

    assert server.asked[0].headers["id"] == "a b"
    assert "note" not in server.asked[0].headers
    assert len(server.asked) == 1


# The URL


@pytest.mark.parametrize(
    ("value", "sent"),
    [("../admin", "..%2Fadmin"), ("a?x=1#y", "a%3Fx%3D1%23y"), ("%2e%2e", "%252e%252e"), ("ä b", "%C3%A4%20b"),
     ("{id}", "%7Bid%7D"), ("\ud800", "%3F")],
)  # fmt: skip
async def test_a_value_fills_its_place_in_the_url_and_nothing_more(server: Server, value: str, sent: str) -> None:
    await made(server, "/users/{id}/x", "GET")(id=value)

    assert server.asked[0].target == f"/users/{sent}/x"


@pytest.mark.parametrize("value", ["..", ".", ""])
async def test_a_value_that_leads_elsewhere_is_refused(server: Server, value: str) -> None:
    with pytest.raises(ModelRetry):
        await made(server, "/users/{id}", "DELETE")(id=value)
    assert server.asked == []


async def test_a_place_in_the_query_may_be_empty_and_takes_numbers(server: Server) -> None:
    await made(server, "/?a={a}&n={n}", "GET", parameters={"type": "object", "properties": {"a": {}, "n": {}}})(n=7)

    assert server.asked[0].target == "/?a=&n=7"


async def test_a_value_cannot_become_another_host() -> None:
    tool = http_tool("ask", "http://{host}.example.com/", "GET", description="Ask the endpoint.")

    for value in ("evil.com/", "u@evil.com:80/#"):
        with pytest.raises(ToolExecutionError, match="not found|no host|looks like"):
            await tool(host=value)
    with pytest.raises(ModelRetry, match="make no URL"):
        await http_tool("ask", "http://a.test:{port}/", "GET", description="Ask.")(port="x")


# Definition


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"url": "ftp://a/"}, "not http or https"),
        ({"url": "http://u:p@a/"}, "password in it"),
        ({"url": "http://a/{x"}, "a brace"),
        ({"url": "http://a/{x y}"}, "a brace"),
        ({"url": "http://a/../b"}, "in its path"),
        ({"url": "http://a:b/"}, "is none"),
        ({"method": "BREW"}, "method"),
        ({"description": " "}, "description is empty"),
        ({"parameters": 5}, "parameters"),
        ({"parameters": int}, "neither a pydantic model"),
        ({"parameters": {"type": "array"}}, "type='array'"),
        ({"headers_from_env": {"X": "not a name"}}, "names no environment variable"),
        ({"headers_from_env": ["X=Y"]}, "headers_from_env"),
        ({"headers": {"Host": "x"}}, "no header that a tool can set"),
        ({"headers": {"a b": "x"}}, "no header that a tool can set"),
        ({"query_arguments": ["id"], "header_arguments": ["id"]}, "goes to one place"),
        ({"query_arguments": ["nothing"]}, "nothing is placed and is no parameter. It has id"),
        ({"method": "GET", "static_body": {"a": 1}}, "has no body"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"retries": 11}, "retries"),
        ({"allowed_hosts": ["*"]}, "is no host"),
        ({"colour": "red"}, "colour"),
        ({"name": "no name"}, "no name"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_defined(options: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"name": "ask", "url": "http://a/{id}", "description": "Ask the endpoint.", **options}
    with pytest.raises(ToolDefinitionError, match=told):
        http_tool(**given)


@pytest.mark.parametrize(
    ("url", "options", "sensitive"),
    [
        ("http://a/{id}", {"method": "GET"}, False),
        ("http://a/{id}", {"method": "head"}, False),
        ("http://a/{id}", {"method": "OPTIONS"}, True),
        ("http://a/{id}", {}, True),
        ("http://a/{id}", {"sensitive": False}, False),
        ("http://a/{id}", {"method": "GET", "sensitive": True}, True),
        ("http://{id}.a/", {"method": "GET"}, True),
        ("http://a:80{id}/", {"method": "GET"}, True),
    ],
)
def test_a_person_is_asked_unless_it_reads_from_a_host_that_was_named(
    url: str, options: dict[str, Any], sensitive: bool
) -> None:
    spec = tool_spec(http_tool("ask", url, description="Ask the endpoint.", **options))

    assert (spec.kind, spec.sensitive) == (ToolKind.NETWORK, sensitive)


async def test_a_sensitive_tool_is_refused_where_nobody_is_asked(server: Server) -> None:
    registry = Registry()
    registry.register(made(server))

    refused = await Executor(registry).execute("ask", {})
    done = await Executor(registry, Pipeline(mode="yolo")).execute("ask", "")

    assert "needs approval" in str(refused.error)
    assert (done.output, done.metadata["status"], len(server.asked)) == ("ok", 200, 1)


def test_it_keeps_the_rules_of_tools() -> None:
    tool = http_tool("ask", "http://a/{id}", parameters=Order, description="Ask the endpoint.")

    assert problems(tool) == []
    assert set(not_applied(tool)) == {"named", "prompt", "parameters"}


def test_a_configuration_gives_the_same_tool() -> None:
    data = {"name": "ask", "url": "http://a/{id}", "method": "get", "description": "Ask.", "redact": ["token"]}

    one = tool_spec(http_tool_of(HttpToolConfig.model_validate(data)))
    other = tool_spec(http_tool(**data))  # pyright: ignore[reportArgumentType]

    assert (one.schema, one.card(), one.description) == (other.schema, other.card(), other.description)


# The environment


async def test_a_header_comes_from_the_environment_at_the_call(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = made(server, headers_from_env={"X-Key": "ASK_KEY", "Authorization": "Bearer ${ASK_KEY}/${ASK_USER}"})
    monkeypatch.setenv("ASK_KEY", "secret\n")
    monkeypatch.setenv("ASK_USER", "me")

    await tool()

    assert server.asked[0].headers["x-key"] == "secret"
    assert server.asked[0].headers["authorization"] == "Bearer secret/me"


@pytest.mark.parametrize(("value", "told"), [(None, "is not set"), ("", "is not set"), ("a\nb", "is not printable")])
async def test_without_its_secret_nothing_is_sent(
    server: Server, monkeypatch: pytest.MonkeyPatch, value: str | None, told: str
) -> None:
    monkeypatch.delenv("ASK_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("ASK_KEY", value)

    with pytest.raises(ToolExecutionError, match=f"'ASK_KEY'.*'X-Key'.*{told}.*\n?Nothing was sent"):
        await made(server, headers_from_env={"X-Key": "ASK_KEY"})()
    assert server.asked == []


# What authors put in between


async def test_transform_pre_request_and_post_process_have_their_say(server: Server) -> None:
    async def later(request: httpx2.Request) -> None:
        request.headers["X-Signed"] = "yes"

    tool = made(
        server,
        "/{id}",
        transform=lambda args: {"id": args["id"] * 2, "more": 1},
        pre_request=later,
        post_process=lambda response: {"was": response.text, "status": response.status_code},
    )

    assert await tool(id="a") == '{"was": "ok", "status": 200}'
    assert (server.asked[0].target, server.asked[0].headers["x-signed"]) == ("/aa", "yes")
    assert json.loads(server.asked[0].body) == {"more": 1}


async def test_pre_request_may_return_another_request_which_meets_the_guard(server: Server) -> None:
    elsewhere = made(server, pre_request=lambda request: httpx2.Request("GET", server.url + "/other"))
    inside = made(server, pre_request=lambda request: httpx2.Request("GET", "http://[::1]/"))

    await elsewhere()
    with pytest.raises(ToolExecutionError, match="loopback"):
        await inside()
    assert server.asked[0].target == "/other"


async def test_what_they_do_wrong_is_a_failure_of_the_tool(server: Server) -> None:
    with pytest.raises(ToolExecutionError, match="transform returned list"):
        await made(server, transform=lambda args: [])()
    with pytest.raises(ToolExecutionError, match="division"):
        await made(server, post_process=lambda response: 1 / 0)()


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("text", "text"),
        (None, "null"),
        (["a", 1], '["a", 1]'),
        (BinaryContent(PNG, media_type="image/png"), [BinaryContent(PNG, media_type="image/png")]),
        (["see", BinaryContent(PNG, media_type="image/png")], ["see", BinaryContent(PNG, media_type="image/png")]),
    ],
)
async def test_post_process_answers_text_json_or_media(server: Server, value: Any, answer: Any) -> None:
    assert await made(server, post_process=lambda response: value)() == answer


# Answers


async def test_text_and_json_come_as_they_were_sent() -> None:
    text = '{"n": 1.10, "big": 12345678901234567890123, "deep": [1e400]}'
    answer = await answered(reply(text, content_type="application/json"))

    assert isinstance(answer, ToolText)
    assert answer == text
    assert answer.facts == {
        "status": 200, "media_type": "application/json", "size": 60, "shown": 60, "total": 60, "truncated": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "claimed", "text"),
    [
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", "grün"),
        ("grün".encode(), "text/plain; charset=rot13", "grün"),
        ("\ufeffgrün".encode(), "text/plain; charset=nothing", "grün"),
        ("grün".encode("utf-16"), "text/plain", "grün"),
    ],
)
async def test_text_is_decoded(body: bytes, claimed: str, text: str) -> None:
    assert await answered(reply(body, content_type=claimed)) == text


async def test_an_image_is_an_image_whatever_it_claims() -> None:
    answer = await answered(reply(PNG, content_type="text/plain; charset=utf-8"))

    assert answer == ["[image/png, 28 bytes]", BinaryContent(PNG, media_type="image/png")]


@pytest.mark.parametrize("claimed", ["audio/mpeg", "video/mp4", "application/pdf"])
async def test_other_media_are_parts_too(claimed: str) -> None:
    answer = await answered(reply(b"\0\1\2", content_type=claimed))

    assert answer[1] == BinaryContent(b"\0\1\2", media_type=claimed)


async def test_other_bytes_are_described() -> None:
    answer = await answered(reply(b"PK\3\4\0\0", content_type="application/zip"))

    assert answer.startswith("[not text: ZIP archive")
    assert answer.facts["truncated"] is True
    assert "x-thing, 4 bytes" in await answered(reply(b"\0\1\xff\xfe", content_type="x-thing"))
    assert "[not text: image/png" in await answered(reply(PNG + b"\0" * 5_000_000))


async def test_nothing_is_told_as_nothing() -> None:
    assert await answered(reply(status="204 No Content"), "DELETE") == "[204 No Content, no content]"


async def test_head_tells_the_headers() -> None:
    answer = await answered(
        reply(length=5_000, etag="x", x_token="secret", link="<a?x-token=1>"), "HEAD", redact=["X-Token"]
    )

    assert answer == "200 OK\ncontent-length: 5000\netag: x\nx-token: [redacted]\nlink: <a?x-token=[redacted]>"


async def test_a_long_text_is_cut_and_says_so() -> None:
    answer = await answered(reply("x" * 100), max_characters=10)

    assert answer == "x" * 10 + "\n\n[10 of 100 characters are shown. Ask for less, or for a part of it.]"
    assert (answer.facts["shown"], answer.facts["total"], answer.facts["truncated"]) == (10, 100, True)


# Failures and redaction


async def test_a_failure_tells_the_status_and_the_body_but_not_the_filled_url() -> None:
    async with serving(reply('{"error": "no", "token": "abc"}', status="404 Not Found")) as server:
        tool = made(server, "/{id}", "GET", static_query={"key": "hidden"}, redact=["token"])
        with pytest.raises(ToolExecutionError) as caught:
            await tool(id="secret-id")

    assert '/{id} answered 404 Not Found.\n\n{"error": "no", "token": "[redacted]"}' in str(caught.value)
    assert not any(word in str(caught.value) for word in ("abc", "hidden", "secret-id"))


@pytest.mark.parametrize(
    ("body", "told"),
    [(b"", "answered 500 Internal"), (b"\0\1\xff", "[binary data"), (b"x" * 5_000, "first 2,000 of 5,000 characters")],
)
async def test_every_body_of_a_failure_can_be_told(body: bytes, told: str) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        await answered(reply(body, status="500 Oh"), "POST")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        '{"data": {"token": "SECRET"}}',
        '[{"Token": {"deep": "SECRET"}}, {"TOKEN": ["SECRET"]}]',
        '{"text": "{\\"token\\": \\"SECRET\\"}", "n": 1.10}',
        '{"token": "SECRET',
        '{"a": 1, "token": {"x": "SECRET',
        "token=SECRET&a=1",
        "x\ntoken: SECRET\n",
        "data: {'token': 'SECRET \\' x'}",
        "<a><token>SECRET</token><ns:token x='1'>SECRET</ns:token></a>",
        "<token>SECRET",
        '{"token": "SECRET"}\n{"token": "SECRET"}',
        "[" * 100_000 + '{"token": "SECRET"}',
    ],
)
async def test_a_redacted_field_is_hidden_at_any_depth_and_in_any_form(
    body: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    shown = await answered(reply(body), redact=["token"], max_characters=1_000_000)
    with pytest.raises(ToolExecutionError) as caught:
        await answered(reply(body, status="500 Oh"), "POST", redact=["token"])
    remade = await answered(
        reply(body), redact=["token"], post_process=lambda response: ToolText(response.text, token="SECRET")
    )

    assert "[redacted]" in shown
    for told in (shown, str(caught.value), remade, str(remade.facts), caplog.text):
        assert "SECRET" not in told


@pytest.mark.parametrize("piece", ["<token ", "<token>", "token= ", "token\\\\", '"token": "\\\\', "<a:"])
async def test_text_that_means_ill_takes_no_long_to_redact(piece: str) -> None:
    """What would take the square of its length would not end in this test."""
    text = piece * 150_000

    assert await answered(reply(text), redact=["token"], timeout_seconds=60)


async def test_what_is_not_named_stays_as_it_is() -> None:
    body = '{"tokens": 1.10, "big": 123456789012345678901, "my-token": "a", "note": "no token here", "e": 1E+5}'

    assert await answered(reply(body), redact=["token"]) == body


async def test_numbers_stay_exact_beside_what_is_hidden() -> None:
    huge = "9" * 5_000
    answer = await answered(reply(f'{{"token": 1, "a": 1.10, "b": 1e400, "c": {huge}, "ü": null}}'), redact=["token"])

    assert answer == f'{{"token": "[redacted]", "a": 1.10, "b": 1E+400, "c": {huge}, "ü": null}}'


async def test_an_error_of_post_process_is_redacted_too() -> None:
    def fail(response: httpx2.Response) -> None:
        raise ValueError(response.text)

    with pytest.raises(ToolExecutionError, match=r"post_process failed: \{") as caught:
        await answered(reply('{"token": "SECRET"}'), redact=["token"], post_process=fail)

    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None or "SECRET" not in str(caught.value.__context__)


# Again


@pytest.mark.parametrize("first", [reply(status="503 Later", retry_after="0"), reply(status="429 Slow down"), b""])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_what_may_be_repeated_is(first: bytes, method: str) -> None:
    async with serving(always(first, reply("ok"))) as server:
        assert await made(server, method=method)() == "ok"
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"method": "POST"}, reply(status="503 Later", retry_after="0")),
        ({"method": "PATCH"}, b""),
        ({"method": "GET", "retries": 0}, reply(status="503 Later", retry_after="0")),
        ({"method": "GET", "idempotent": False}, reply(status="503 Later", retry_after="0")),
        ({"method": "GET"}, reply(status="503 Later", retry_after="3600")),
        ({"method": "GET"}, reply(status="503 Later", retry_after="Fri, 31 Dec 2999 23:59:59 GMT")),
        ({"method": "GET"}, reply(status="500 Oh")),
        ({"method": "GET"}, reply("x", length=10**9)),
    ],
)
async def test_what_may_not_be_repeated_or_would_not_help_is_not(options: dict[str, Any], first: bytes) -> None:
    async with serving(always(first, reply("ok"))) as server:
        with pytest.raises(ToolExecutionError):
            await made(server, **options)()
    assert len(server.asked) == 1


@pytest.mark.parametrize("wait", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 -0000", "soon"])
async def test_a_moment_that_has_passed_or_is_none_is_waited_for_no_longer_than_usual(wait: str) -> None:
    async with serving(always(reply(status="503 Later", retry_after=wait), reply("ok"))) as server:
        assert await made(server, method="POST", idempotent=True)() == "ok"


async def test_a_wait_that_is_too_long_is_told() -> None:
    with pytest.raises(ToolExecutionError, match="Retry-After: 3600"):
        await answered(reply(status="503 Later", retry_after="3600"))


# Limits and the door


async def test_a_tool_has_its_time() -> None:
    async def hang(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with serving(hang) as server:
        with pytest.raises(ToolExecutionError, match=r"0\.2 seconds"):
            await made(server, timeout_seconds=0.2)()


async def test_limits_of_a_tool_and_limits_that_tools_share(server: Server) -> None:
    small = made(server, max_response_bytes=1)
    limits = HttpLimits(max_total_bytes=3)
    one, two = made(server, limits=limits), made(server, limits=limits)

    with pytest.raises(ToolExecutionError, match="max_response_bytes is 1"):
        await small()
    await one()
    with pytest.raises(ToolExecutionError, match="max_total_bytes is 3"):
        await two()
    limits.reset()
    await two()


async def test_the_workspace_says_which_hosts_are_allowed(server: Server, tmp_path: Path) -> None:
    tool = made(server, allowed_hosts=[])

    with pytest.raises(ToolExecutionError, match="loopback"):
        await tool()
    with use_workspace(LocalWorkspace(tmp_path, network=NetworkRules(allowed_hosts=("127.0.0.1",)))):
        assert await tool() == "ok"


async def test_a_client_is_used_and_left_open(server: Server) -> None:
    async with httpx2.AsyncClient(headers={"X-Client": "mine"}) as client:
        await made(server, client=client)()
        with pytest.raises(ToolExecutionError, match="loopback"):
            await made(server, client=client, allowed_hosts=[])()
        assert not client.is_closed

    assert [asked.headers["x-client"] for asked in server.asked] == ["mine"]


async def test_a_redirect_takes_no_secret_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASK_KEY", "secret")
    async with serving(reply("end")) as other, serving(moved(other.url)) as first:
        await made(first, method="GET", headers_from_env={"X-Key": "ASK_KEY"})()

    assert first.asked[0].headers["x-key"] == "secret"
    assert "x-key" not in other.asked[0].headers


async def test_a_described_field_reaches_the_model() -> None:
    class Args(BaseModel):
        city: str = Field(description="The city's name")

    tool = http_tool("weather", "http://a/{city}", "GET", description="The weather.", parameters=Args)

    assert tool_spec(tool).schema["properties"]["city"]["description"] == "The city's name"
