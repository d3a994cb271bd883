"""What the host and the session of one command say to each other."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from .beneath import PathTraversalError
from .confine import ConfinementUnavailableError
from .outcome import CommandOutcome, Confinement, ending, pieces_of, spilled_of
from .supervision import Line, SupervisorLostError
from .supervisor.frames import Message

_CANCEL_PATIENCE_SECONDS = 15.0
_LATE_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A command that can be started: what the supervisor is told, and what the caller is told about it."""

    request: Message
    confinement: Confinement
    notes: tuple[str, ...]


async def run_to_end(line: Line, request: Message, on_start: Callable[[int], None] | None) -> Message:
    """Have a command run and return what the session says at its end; who is cancelled waits until it is gone."""
    await line.send({**request, "announced": on_start is not None})
    is_over = False
    try:
        if on_start is not None:
            on_start((await answer(line, request))["started"])
        async with asyncio.timeout(request["timeout_seconds"] + _LATE_SECONDS):
            done: Message = (await answer(line, request))["done"]
        is_over = True
        return done
    except TimeoutError as error:
        raise SupervisorLostError(
            "the process that ends commands did not end this one in time: somebody may have stopped it. "
            "Look at what the command did before you run it again."
        ) from error
    finally:
        if not is_over:
            await _stopped(line)


async def _stopped(line: Line) -> None:
    """Return when nothing is left of a command whose caller was cancelled."""
    with suppress(OSError, SupervisorLostError, TimeoutError):
        async with asyncio.timeout(_CANCEL_PATIENCE_SECONDS):
            await line.send({"op": "stop", "grace_seconds": 0})
            while "done" not in await line.receive():
                pass


async def answer(line: Line, request: Message) -> Message:
    """Return the session's next message; raises `OSError` where it says that the command cannot start."""
    message = await line.receive()
    if "failed" in message:
        raise _start_error(request, **message["failed"])
    return message


def _start_error(request: Message, *, errno: int, text: str, path: str | None) -> OSError:
    if text == "outside":
        return PathTraversalError(
            f"{request['cwd']!r} leads out of the workspace, so no command can start there. Use a folder in it.",
            path=request["cwd"],
        )
    if path == request["folder"]:
        return OSError(errno, f"no command can start in this folder: {text}. Use another cwd", path)
    return OSError(errno, f"the command could not be started: {text}", path)


def outcome_of(done: Message, start: Start) -> CommandOutcome:
    """Return how a command ended. Raises `ConfinementUnavailableError` where it never began."""
    exit_code, killed_by = ending(done)
    if done["sandbox_failed"]:
        said = "".join(str(piece[1]) for piece in done["pieces"]).strip()
        raise ConfinementUnavailableError(
            f"the command was not run, because its confinement could not be set up: {said}. "
            "Run it again; if that does not help, use another confinement."
        )
    spilled, lost = spilled_of(done["spill"])
    return CommandOutcome(
        exit_code=exit_code,
        pieces=pieces_of(done["pieces"]),
        seconds=done["seconds"],
        killed_by=killed_by,
        left_running=tuple(done["left_running"]),
        confinement=start.confinement,
        notes=(*start.notes, *done["notes"], *lost),
        spilled=spilled,
    )
