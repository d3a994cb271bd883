"""`[[http_tools]]` and `[network]` of a configuration: the same tools as in code, and their mistakes with a line."""

import json
from pathlib import Path

import pytest

from tests.http_servers import reply, serving
from toolhaft import Executor, Pipeline, Toolkit
from toolhaft.attach.configuration import Configuration, ConfigurationError, load_configuration
from toolhaft.cli.settings import Settings
from toolhaft.makers import http_tool
from toolhaft.spec import tool_spec
from toolhaft.workspace import use_workspace

WHOLE = """\
tools = ["grep"]

[network]
allowed_hosts = ["127.0.0.1"]

[[http_tools]]
name = "order"
url = "http://127.0.0.1:PORT/{id}"
description = "Order a thing."
headers = { X-From = "toolhaft" }
headers_from_env = { Authorization = "Bearer ${ORDER_KEY}" }
static_body = { v = 2 }
redact = ["token"]
timeout_seconds = 5

[http_tools.parameters]
type = "object"
required = ["id"]
[http_tools.parameters.properties.id]
type = "integer"
[http_tools.parameters.properties.note]
type = "string"

[[http_tools]]
name = "state"
url = "http://127.0.0.1:PORT/state"
method = "GET"
description = "What state it is in."
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "toolhaft.toml"
    file.write_text(text)
    return file


def loaded(folder: Path, text: str) -> Configuration:
    return load_configuration(written(folder, text))


async def test_the_tools_of_a_file_are_those_of_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDER_KEY", "secret")
    async with serving(reply('{"token": "x"}')) as server:
        kit = Toolkit.from_file(written(tmp_path, WHOLE.replace("PORT", str(server.port))))
        order = kit.toolset.specs["order"]
        with use_workspace(kit.workspace or "."):
            answer = await order.function(id=7, note="n")

    assert list(kit.toolset.specs) == ["grep", "order", "state"]
    assert (order.sensitive, kit.toolset.specs["state"].sensitive, order.timeout_seconds) == (True, False, 5)
    assert answer == '{"token": "[redacted]"}'
    asked = server.asked[0]
    assert (asked.method, asked.target, json.loads(asked.body)) == ("POST", "/7", {"note": "n", "v": 2})
    assert (asked.headers["authorization"], asked.headers["x-from"]) == ("Bearer secret", "toolhaft")


def test_a_tool_of_a_file_has_the_card_of_one_in_code(tmp_path: Path) -> None:
    keys = loaded(tmp_path, WHOLE.replace("PORT", "80")).keys.http_tools[0]
    settings = keys.model_dump(exclude_unset=True)

    assert tool_spec(http_tool(**settings)).card() == tool_spec(load_first(tmp_path)).card()


def load_first(folder: Path) -> object:
    return load_configuration(folder / "toolhaft.toml").http_tools()[0]


def test_a_profile_and_allowed_tools_hold_beside_them(tmp_path: Path) -> None:
    text = WHOLE.replace("PORT", "80").replace(
        'tools = ["grep"]', 'tools = "read-only"\nallowed_tools = ["g*", "order"]'
    )

    assert set(Toolkit.from_file(written(tmp_path, text)).toolset.specs) == {"grep", "glob", "order"}


async def test_the_command_line_has_them_too(tmp_path: Path) -> None:
    async with serving(reply("fine")) as server:
        configuration = loaded(tmp_path, WHOLE.replace("PORT", str(server.port)))
        settings = Settings(configuration=configuration)
        executor = Executor(settings.registry(), Pipeline(), workspace=settings.open(str(tmp_path)))
        result = await executor.execute("state", {})

    assert result.output == "fine"


ASK = "[[http_tools]]\nname = 'x'\nurl = 'http://a'\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[network]\nallowed_hosts = ["http://a"]',
            "toml:2: network.allowed_hosts[0]: allowed_hosts: 'http://a' is no",
        ),
        ("[[http_tools]]\nname = 'x'", "toml:1: http_tools[0].url: it is missing."),
        (ASK.replace("'x'", "'grep'"), "toml:1: http_tools[0].name: another tool is called 'grep'"),
        (ASK + "description = 'Ask.'\n" + ASK, "toml:5: http_tools[1].name: another tool is called 'x'"),
        (ASK, "toml:1: tool 'x': the description is empty."),
        ("[[http_tools]]\nname = 'x'\nurl = 'ftp://a'", "toml:1: http_tools[0]: the URL 'ftp://a' is none"),
        (ASK + "header = {}", "toml:4: unknown key 'header' in [http_tools[0]]. Did you mean 'headers'?"),
        (ASK + "method = 'BREW'", "toml:4: http_tools[0].method: it should be 'GET'"),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        loaded(tmp_path, text)
    assert told in str(caught.value)
