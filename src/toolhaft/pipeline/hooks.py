"""Hooks: what people let run before and after calls, and when something else of the ten events happens.

A pre hook may refuse a call or change its arguments, and each sees what the one before it made of them; one that is
broken in whatever way refuses too, unless it is made with `on_hook_error="allow"`. Every other hook is only told: what
it says may be added to the answer, and its failure takes nothing away.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from toolhaft.call_log import shown_text
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.hook import POST_EDIT_MATCHER as POST_EDIT_MATCHER
from toolhaft.pipeline.hook import Block as Block
from toolhaft.pipeline.hook import Hook as Hook
from toolhaft.pipeline.hook import HookEvent as HookEvent
from toolhaft.pipeline.hook_answer import Answer, HookError
from toolhaft.pipeline.hook_function import ask_function
from toolhaft.pipeline.hook_occasion import Occasion, occasion_of
from toolhaft.pipeline.hook_paths import paths_of
from toolhaft.pipeline.hook_process import HookCommands

LOGGER = logging.getLogger("toolhaft.hooks")

_MOST_IN_BACKGROUND = 20
# Characters of arguments in which paths are found before the event loop has to wait.
_LONG = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeCall:
    """What the pre hooks made of a call that they let pass."""

    args: Mapping[str, Any] | None = None
    """The arguments that the call shall have instead, not validated; None where nothing is changed."""

    context: list[str] = field(default_factory=list[str])
    """What the answer shall say besides."""


class Hooks:
    """The hooks of an agent, for any number of calls at once.

    ```python
    hooks = Hooks([Hook("pre_tool_use", "secrets", command="sh check.sh", matcher="write_file|edit_file")])
    ```
    """

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        enabled = [hook for hook in hooks if hook.enabled]
        self._hooks: dict[str, tuple[Hook, ...]] = {
            event: tuple(hook for hook in enabled if hook.event == event) for event in HookEvent
        }
        self._commands = HookCommands()
        self._background: set[asyncio.Task[None]] = set()

    def has(self, event: HookEvent | str) -> bool:
        """Whether anybody wants to know of the event."""
        return bool(self._hooks[event])

    async def before_call(self, call: Call) -> BeforeCall:
        """What the pre hooks make of the call. What they change in an approved call is dropped.

        Raises `Refused` where one of them blocks it, or fails.
        """
        hooks = self._hooks_for(HookEvent.PRE_TOOL_USE, call.name)
        args, context, paths = call.args, list[str](), await _paths(call, hooks)
        for hook in hooks:
            for answer in await self._answers(hook, occasion_of(call.with_args(args), paths=paths)):
                context += [answer.context] if answer.context else []
                if answer.updated is not None and not call.approved:
                    args = {**args, **answer.updated}
                    paths = await _paths(call.with_args(args), hooks)
        return BeforeCall(args=None if args is call.args else args, context=context)

    async def after_call(self, call: Call, *, succeeded: bool, output: str) -> list[str]:
        """What the answer shall say besides, after the tool has answered `output` or failed with it.

        A failure is an `on_error` too.
        """
        if not succeeded:
            await self.notify(HookEvent.ON_ERROR, {"error": output, "tool_name": call.name})
        hooks = self._hooks_for(HookEvent.POST_TOOL_USE, call.name)
        paths = await _paths(call, hooks)
        return await self._remarks(hooks, occasion_of(call, paths=paths, succeeded=succeeded, output=output))

    async def notify(self, event: HookEvent | str, data: Mapping[str, Any]) -> list[str]:
        """Tell of an event that is no call of a tool; returns what the hooks have to say.

        `data` is what they are told; a `tool_name` in it is what their matchers look at. Raises `Refused` where a hook
        blocks an event that can be blocked.
        """
        occasion = Occasion(event=HookEvent(event), facts=data, tool_name=str(data.get("tool_name", "")))
        return await self._remarks(self._hooks_for(occasion.event, occasion.tool_name), occasion)

    async def aclose(self) -> None:
        """End what runs in the background; hooks may be used again after."""
        loop = asyncio.get_running_loop()
        ours = [task for task in self._background if task.get_loop() is loop]
        for task in ours:
            task.cancel()
        await asyncio.gather(*ours, return_exceptions=True)
        await self._commands.aclose()

    def _hooks_for(self, event: HookEvent, tool_name: str) -> list[Hook]:
        return [hook for hook in self._hooks[event] if hook.is_for(tool_name)]

    async def _remarks(self, hooks: Iterable[Hook], occasion: Occasion) -> list[str]:
        answers = [answer for hook in hooks for answer in await self._answers(hook, occasion)]
        return [answer.context for answer in answers if answer.context]

    async def _answers(self, hook: Hook, occasion: Occasion) -> list[Answer]:
        """What the hook says, once for each run. Raises `Refused` where it says no to what can be blocked."""
        if not hook.wants(occasion.paths):
            return []
        if not hook.background:
            return await self._ask(hook, occasion)
        if len(self._background) < _MOST_IN_BACKGROUND:
            task = asyncio.create_task(self._ask_in_background(hook, occasion))
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        else:
            LOGGER.warning("hook %s is left out: %d run in the background", hook.name, _MOST_IN_BACKGROUND)
        return []

    async def _ask_in_background(self, hook: Hook, occasion: Occasion) -> None:
        with suppress(Refused):  # too late
            await self._ask(hook, occasion)

    async def _ask(self, hook: Hook, occasion: Occasion) -> list[Answer]:
        answers: list[Answer] = []
        for path in hook.runs(occasion.paths):
            try:
                answers.append(await self._run(hook, occasion, path))
            except Block as block:
                raise _refused(hook, str(block) or "it gave no reason") from block
            except HookError as error:
                await self._tell_of(error, hook, occasion)
                if hook.refuses_when_broken:
                    raise _refused(hook, f"the hook itself failed, so nothing passes it: {error}") from error
                answers += _note(error, hook)
                if error.is_timeout:  # and would be one for every path
                    break
        return answers

    async def _run(self, hook: Hook, occasion: Occasion, path: str) -> Answer:
        started = time.perf_counter()
        outcome = "cancelled"
        try:
            told = occasion.told()
            if hook.function is None:
                answer = await self._commands.ask(hook, told, occasion.variables(path))
            else:
                success = {} if occasion.succeeded is None else {"tool_success": occasion.succeeded}
                answer = await ask_function(hook, hook.function, {**told, **success})
            outcome = "allowed" if answer.updated is None else "changed"
            return answer
        except (Block, HookError) as said:
            outcome = "blocked" if isinstance(said, Block) else "failed"
            raise
        finally:
            _record(hook, occasion, outcome, duration_ms=(time.perf_counter() - started) * 1_000)

    async def _tell_of(self, error: HookError, hook: Hook, occasion: Occasion) -> None:
        LOGGER.warning("hook %s on %s failed: %s", hook.name, occasion.event, shown_text(str(error)))
        if occasion.event is not HookEvent.ON_ERROR:
            told = {"error": f"hook {hook.name} failed: {error}", "hook": hook.name, "tool_name": occasion.tool_name}
            await self.notify(HookEvent.ON_ERROR, told)


async def _paths(call: Call, hooks: Iterable[Hook]) -> tuple[str, ...]:
    """The paths of the call; none where no hook looks at them."""
    if not any(hook.needs_paths for hook in hooks):
        return ()
    is_long = sum(len(value) for value in call.args.values() if isinstance(value, str)) > _LONG
    return await asyncio.to_thread(paths_of, call) if is_long else paths_of(call)


def _note(error: HookError, hook: Hook) -> list[Answer]:
    if hook.event != HookEvent.POST_TOOL_USE:
        return []
    return [Answer(context=f"[Hook {hook.name}: FAILED ({error.failure})]\n{error.output}".rstrip())]


def _refused(hook: Hook, reason: str) -> Refused:
    return Refused(f"Blocked by hook {hook.name}: {reason}", stage="hooks", rule=hook.name, source=hook.source)


def _record(hook: Hook, occasion: Occasion, outcome: str, *, duration_ms: float) -> None:
    event, tool = str(occasion.event), occasion.tool_name
    facts = {"hook": hook.name, "hook_event": event, "tool": tool, "outcome": outcome, "duration_ms": duration_ms}
    LOGGER.info("hook %s on %s %s in %.1f ms", hook.name, event, outcome, duration_ms, extra=facts)
