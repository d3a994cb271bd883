"""The built-in answerer, on a real terminal."""

import asyncio
import io
import os
import pty
from collections.abc import Generator

import pytest

from toolhaft import ToolText
from toolhaft.pipeline.call import Refused
from toolhaft.pipeline.confirmation import Abort, Allow, Answer, Deny, Edit, NoTerminalError
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.pipeline.terminal import Terminal

from .calls import pay, ran, through


class Tty:
    """A terminal, and what is typed at it."""

    def __init__(self) -> None:
        self.ours, theirs = pty.openpty()
        self.reads = open(theirs, encoding="utf-8")  # noqa: SIM115
        self.shown = io.StringIO()
        self.terminal = Terminal(reads=self.reads, writes=self.shown)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    async def answer(self, text: str) -> Answer:
        self.type(text)
        return await self.terminal("pay", {"amount": 5}, ToolText("would pay 5"))


@pytest.fixture
def tty() -> Generator[Tty]:
    tty = Tty()
    yield tty
    os.close(tty.ours)
    tty.reads.close()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", Allow()),
        ("YES\n", Allow()),
        ("n\n", Deny()),
        ("n too much\n", Deny("too much")),
        ("s\n", Allow(always=True)),
        ("a\n", Abort()),
        ('e\n{"amount": 3}\n', Edit({"amount": 3})),
        ("what?\n\ny\n", Allow()),
        ("e\nnonsense\ny\n", Allow()),
        ("e\n[1]\ny\n", Allow()),
        ("\x04", Abort()),
        ("e\n\x04", Abort()),
    ],
)
async def test_what_is_typed_is_the_answer(tty: Tty, typed: str, answer: Answer) -> None:
    assert await asyncio.wait_for(tty.answer(typed), 10) == answer


async def test_it_shows_the_preview_and_what_is_asked(tty: Tty) -> None:
    await tty.answer("y\n")

    assert tty.shown.getvalue() == "\nwould pay 5\n\nRun 'pay' with args=amount=5? [y/n/e/s/a] "


async def test_questions_that_come_at_once_are_asked_one_after_another(tty: Tty) -> None:
    tty.type("y\nn\n")

    answers = await asyncio.gather(*(tty.terminal("pay", {"amount": n}, ToolText("")) for n in range(2)))

    assert answers == [Allow(), Deny()]


async def test_a_question_can_be_cancelled_and_nothing_waits_on(tty: Tty) -> None:
    asked = asyncio.create_task(tty.terminal("pay", {}, ToolText("")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    asked.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await tty.answer("y\n") == Allow()


async def test_a_terminal_that_goes_away_aborts() -> None:
    tty = Tty()
    asked = asyncio.create_task(tty.terminal("pay", {}, ToolText("")))
    await asyncio.sleep(0)
    os.close(tty.ours)

    assert await asyncio.wait_for(asked, 10) == Abort()
    tty.reads.close()


async def test_without_a_terminal_it_says_how_to_go_on() -> None:
    with pytest.raises(NoTerminalError, match="use --mode yolo or --dry-run"):
        await Terminal(reads=io.StringIO("y\n"))("pay", {}, ToolText(""))
    with pytest.raises(Refused, match="No terminal to confirm: .*use --mode yolo or --dry-run") as refusal:
        await through(Pipeline(answerer=Terminal(reads=io.StringIO("y\n"))), pay, {"amount": 1})
    assert (refusal.value.rule, ran) == ("no_terminal", [])
