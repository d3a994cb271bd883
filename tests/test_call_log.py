"""The log: one record for each call, one line, bounded, without secrets."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from tests import BUSY_TIMES
from toolhaft.call_log import shown_arguments, shown_text
from toolhaft.decorators import base_tool
from toolhaft.exceptions import ToolExecutionError

Records = Callable[[], list[logging.LogRecord]]


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Records:
    caplog.set_level(logging.INFO, logger="toolhaft.tools")
    return lambda: [record for record in caplog.records if record.name == "toolhaft.tools"]


def failing(error: BaseException) -> Any:
    @base_tool
    async def tool(query: str) -> str:
        """Fail."""
        raise error

    return tool


async def test_one_record_for_a_call_tells_name_arguments_outcome_and_time(records: Records):
    @base_tool
    async def search(ctx: RunContext[None], query: str, limit: int = 5) -> str:
        """Search."""
        return query

    await search(RunContext(deps=None, model=TestModel(), usage=RunUsage()), "x", limit=3)

    (record,) = records()
    assert record.getMessage().startswith("search(query='x', limit=3) ok in ")
    assert (record.tool, record.tool_arguments, record.outcome) == ("search", "query='x', limit=3", "ok")  # pyright: ignore[reportAttributeAccessIssue]
    assert record.duration_ms >= 0  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ModelRetry("again"), "retry"),
        (ToolExecutionError("t", "m"), "failed"),
        (ToolFailed("m"), "failed"),
        (ValueError("m"), "failed"),
        (ApprovalRequired(), "paused"),
        (CallDeferred(), "paused"),
        (asyncio.CancelledError(), "cancelled"),
    ],
)
async def test_the_outcome_says_how_the_call_ended(records: Records, error: BaseException, outcome: str):
    with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever it is, here only its record matters
        await failing(error)("x")

    assert [record.outcome for record in records()] == [outcome]  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_failure_is_told_with_the_place_of_its_cause_on_one_line(records: Records):
    with pytest.raises(ToolExecutionError):
        await failing(ZeroDivisionError("by\nzero"))("x")

    (record,) = records()
    assert "failed in" in record.getMessage()
    assert f"(from ZeroDivisionError at {__file__}:" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is None


async def test_a_cause_that_was_never_raised_has_no_place(records: Records):
    error = ToolExecutionError("t", "m")
    error.__cause__ = ValueError("made, not raised")

    with pytest.raises(ToolExecutionError):
        await failing(error)("x")

    assert records()[0].getMessage().endswith("(from ValueError)")


async def test_a_disabled_log_never_looks_at_the_arguments(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING, logger="toolhaft.tools")

    class Touchy:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    @base_tool
    async def tool(thing: Any) -> str:
        """Take anything."""
        return "ok"

    assert await tool(Touchy()) == "ok"
    assert not caplog.records


class Colour(Enum):
    RED = "red"


class Login(BaseModel):
    user: str
    password: str


@dataclass
class Header:
    name: str
    apiToken: str  # noqa: N815 - camel case is what is tested


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb\x1b[31m\u2028", r"'a\nb\x1b[31m\u2028'"),
        (Path("a/b"), "'a/b'"),
        (Colour.RED, "'red'"),
        (b"123", "<3 bytes>"),
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
        ([10**5_000], "[<an integer of 16,610 bits>]"),
        ([], "[]"),
        ([1, "a"], "[1, 'a']"),
        ({"k\n": {2}}, r"['k\n': [2]]"),
        ({3: 4}, "['<int>': 4]"),
        (object(), "<object>"),
        (Login(user="u", password="p"), "['user': 'u', 'password': [redacted]]"),
        (Header("n", "t"), "['name': 'n', 'apiToken': [redacted]]"),
        ([[[[[[[1]]]]]]], "[[[[[[<list>]]]]]]"),
    ],
)
def test_values_are_shown_on_one_line(value: Any, shown: str):
    assert shown_arguments({"v": value}) == f"v={shown}"


@pytest.mark.parametrize(
    "name",
    [
        *("password", "db_password", "PASSWORD", "passphrase", "credentials", "token", "accessToken", "tokens"),
        *("api_key", "apiKey", "APIKey", "X-Api-Key", "Authorization", "client_secret", "privateKey", "Set-Cookie"),
    ],
)
def test_what_a_name_tells_to_be_secret_is_left_out_at_any_depth(name: str):
    line = shown_arguments({name: "hunter2", "body": {"headers": [{name: "hunter2"}]}})

    assert "hunter2" not in line
    assert line.count("[redacted]") == 2


@pytest.mark.parametrize("name", ["author", "max_tokens", "tokenizer", "keyboard", "primary_key", "passing"])
def test_a_name_that_only_resembles_is_shown(name: str):
    assert shown_arguments({name: 12345}) == f"{name}=12345"


def test_a_flag_or_a_missing_secret_is_shown():
    assert shown_arguments({"token": None, "with_token": True}) == "token=None, with_token=True"


@pytest.mark.parametrize(
    "text",
    [
        "curl -H 'Authorization: Bearer SECRETSECRET' https://x",
        "curl -u bob:SECRETSECRET https://x",
        "git clone https://bob:SECRETSECRET@host/r",
        "GH_TOKEN=SECRETSECRET make",
        "mysql --password SECRETSECRET",
        "mysql --db-password=SECRETSECRET",
        '{"api_key": "SECRETSECRET"}',
        "https://h/?access_token=SECRETSECRET&x=1",
        "sk-proj-SECRETSECRETSECRET",
        "sk_live_SECRETSECRETSECRET",
        "ghp_SECRETSECRETSECRET",
        "xoxb-1234-SECRETSECRET",
        "AKIASECRETSECRETSEC",
        "AIzaSECRETSECRETSECRETSECRET",
        "eyJhbGciOiJI.SECRETSECRET.SECRETSECRET",
        "-----BEGIN RSA PRIVATE KEY-----\nSECRETSECRET\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_secret_is_known_by_its_form_in_running_text(text: str):
    assert "SECRETSECRET" not in shown_text(text)
    assert "SECRETSECRET" not in shown_text("x" * 180 + " " + text)
    assert "SECRETSECRET" not in shown_arguments({"command": [text]})


def test_running_text_without_secrets_is_shown_as_it_is():
    text = "the token limit of the basic plan, see https://host:80/a?b=c and author: bob@example.org"

    assert shown_text(text) == repr(text)


def test_a_hundred_megabytes_are_shown_in_a_line_and_in_no_time():
    huge = {
        "text": "x" * 100_000_000,
        "rows": [["y" * 100] * 10_000] * 10_000,
        "more": {str(n): n for n in range(9_999)},
    }
    started = time.perf_counter()

    line = shown_arguments(huge)

    assert time.perf_counter() - started < 0.1 * BUSY_TIMES
    assert len(line) < 2_100
    assert "(100,000,000 characters)" in line
    assert line.endswith(" ...")


def test_a_value_that_cannot_be_looked_at_does_not_fail_the_call():
    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("no items")

    assert shown_arguments({"x": Broken()}) == "arguments that cannot be shown"
