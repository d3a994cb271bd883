"""What the tools that run commands share: judge, run, and tell how it ended."""

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic_ai import ModelRetry

from toolhaft.exceptions import ToolExecutionError
from toolhaft.shell import Gap, Level, Shown, Verdict, shown_output
from toolhaft.spec import NeedsApproval, ToolText
from toolhaft.workspace import PathTraversalError, workspace
from toolhaft.workspace.commands import MAX_TIMEOUT_SECONDS, MIN_TIMEOUT_SECONDS, JobNotFoundError
from toolhaft.workspace.current import ToolWorkspace
from toolhaft.workspace.jobs import Job, JobOutput
from toolhaft.workspace.outcome import CommandOutcome, Confinement, Piece

# Tens of thousands of lines take longer to fold and cut than the event loop may wait.
_LONG_OUTPUT = 10_000


class CommandEndedError(ToolExecutionError):
    """A command that did not come to its own end; `facts` are those that its answer would have had."""

    facts: dict[str, Any]

    def __init__(self, tool: str, message: str, facts: dict[str, Any]) -> None:
        super().__init__(tool, message)
        self.facts = facts


async def run_judged(
    tool: str, command: str, *, cwd: str | None, timeout: int | None, env: Mapping[str, str] | None
) -> ToolText:
    """Judge a command and run it to its end; answer what it wrote and how it ended.

    Raises `ModelRetry` for arguments that cannot be, `PermissionError` for a command that may not run, and
    `CommandEndedError` where it was ended.
    """
    place, folder = workspace(), cwd or "."
    seconds = _seconds(timeout, place)
    with _mendable(cwd):
        verdict = await place.judge_command(command, cwd=folder)
        network = place.command_rules.network_for(verdict.level)
        outcome = await place.run_command(command, cwd=folder, timeout_seconds=seconds, env=env, network=network)
    shown = await _shown(outcome, place.command_rules.max_output_lines)
    return _told(tool, outcome, verdict, shown, seconds)


async def start_judged(
    command: str, *, cwd: str | None, timeout: int | None, env: Mapping[str, str] | None
) -> ToolText:
    """Judge a command and start it in the background; answer the job's id."""
    place, folder = workspace(), cwd or "."
    _seconds(timeout, place)
    with _mendable(cwd):
        verdict = await place.judge_command(command, cwd=folder)
        network = place.command_rules.network_for(verdict.level)
        job = await place.start_job(command, cwd=folder, env=env, network=network)
    notes = [f"{job.job_id} runs in the background", _confined(job.confinement), *job.notes]
    text = f"[{'; '.join(notes)}. Its output: bash_output({job.job_id!r}); to end it: stop_bash({job.job_id!r}).]"
    return ToolText(
        text,
        job_id=job.job_id,
        running=True,
        confinement=_confinement(job.confinement),
        verdict=_verdict(verdict),
        notes=list(job.notes),
    )


async def previewed(command: str, *, cwd: str | None, timeout: int | None) -> ToolText:
    """Answer what would happen to a command; nothing is run. Errors are those of `run_judged`."""
    place = workspace()
    seconds = _seconds(timeout, place)
    with _mendable(cwd):
        verdict = await place.judge_command(command, cwd=cwd or ".")
    network = "on" if place.command_rules.network_for(verdict.level) else "off"
    text = f"Preview, nothing has run. Would run: {command}\n\n[{verdict.level}: {verdict.reason}; network {network}]"
    return ToolText(text, verdict=_verdict(verdict), timeout_seconds=seconds)


async def needs_approval(command: str, **others: Any) -> NeedsApproval | None:
    """Whether somebody is to be asked about a command: not about one that only reads."""
    verdict = workspace().command_rules.classify(command)
    if verdict.level is Level.SAFE:
        return None
    return NeedsApproval(f"{verdict.level}_command", f"the command is {verdict.level}: {verdict.reason}")


def found_job(job_id: str) -> Job:
    """Return a background job of the workspace, or raise `ModelRetry` naming those there are."""
    try:
        return workspace().job(job_id)
    except JobNotFoundError as error:
        raise ModelRetry(f"{str(error)[:1].upper()}{str(error)[1:]}") from error


def told_job(job: Job, output: JobOutput) -> ToolText:
    """Answer what a job wrote since it was last asked, and how it is doing."""
    gap = [Gap(output.dropped_bytes, None)] * bool(output.dropped_bytes)
    shown = shown_output([*gap, output.text])
    notes = [f"{job.job_id} is running" if output.running else f"{job.job_id} has ended"]
    if not output.running:
        notes += _ending(output.exit_code, output.killed_by, output.seconds, output.left_running)
    if output.waiting_bytes:
        notes.append(f"{output.waiting_bytes:,} more bytes wait: call bash_output again")
    return ToolText(
        _answer(shown.text, notes, nothing="no new output"),
        job_id=job.job_id,
        running=output.running,
        exit_code=output.exit_code,
        killed_by=output.killed_by,
        seconds=output.seconds,
        left_running=list(output.left_running),
        truncated=bool(output.dropped_bytes or output.waiting_bytes),
        dropped_bytes=output.dropped_bytes,
        waiting_bytes=output.waiting_bytes,
        confinement=_confinement(job.confinement),
    )


def _seconds(timeout: int | None, place: ToolWorkspace) -> int:
    if timeout is None:
        return place.command_rules.default_timeout_seconds
    if type(timeout) is not int or not MIN_TIMEOUT_SECONDS <= timeout <= MAX_TIMEOUT_SECONDS:
        raise ModelRetry(
            f"timeout={timeout!r} is not possible: it is in whole seconds, {MIN_TIMEOUT_SECONDS} to "
            f"{MAX_TIMEOUT_SECONDS}. What takes longer can run in the background: bash(command, background=True)."
        )
    return timeout


@contextmanager
def _mendable(cwd: str | None) -> Generator[None]:
    """Tell the model what it can mend: a command, a variable or a folder that cannot be."""
    try:
        yield
    except PathTraversalError:
        raise
    except ValueError as error:
        raise ModelRetry(f"{str(error)[:1].upper()}{str(error)[1:]}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelRetry(f"cwd={cwd!r} is no folder of the workspace ({error.strerror}). Use one, or none.") from error


async def _shown(outcome: CommandOutcome, max_lines: int | None) -> Shown:
    parts = list(map(_part, outcome.pieces))
    if sum(len(piece.text) for piece in outcome.pieces) < _LONG_OUTPUT:
        return shown_output(parts, max_lines=max_lines)
    return await asyncio.to_thread(shown_output, parts, max_lines=max_lines)


def _told(tool: str, outcome: CommandOutcome, verdict: Verdict, shown: Shown, seconds: int) -> ToolText:
    notes = _ending(outcome.exit_code, outcome.killed_by, outcome.seconds, outcome.left_running)
    if shown.dropped_bytes:
        notes.append(_left_out(shown.dropped_bytes, outcome))
    notes += [_confined(outcome.confinement), *outcome.notes]
    facts = _facts(outcome, verdict, dropped_bytes=shown.dropped_bytes)
    text = _answer(shown.text, notes, nothing="no output")
    if outcome.was_ended:
        raise CommandEndedError(tool, f"{_WHY_ENDED[outcome.killed_by or 'stop'].format(seconds)}\n\n{text}", facts)
    return ToolText(text, **facts)


_WHY_ENDED = {
    "timeout": "the command was ended because its timeout of {} s was over. Give it more (up to 600), run it in the "
    "background, or let it do less.",
    "processes": "the command was ended because it had more processes than a command may have. Let it start fewer.",
    "output": "the command was ended because it wrote more than this workspace takes. Let it write to a file.",
    "stop": "the command was ended from outside. Look at what it did before you run it again.",
}


def _answer(text: str, notes: list[str], *, nothing: str) -> str:
    """The output as it came, then one line in brackets."""
    line = f"[{'; '.join(notes if text else [nothing, *notes])}]"
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"


def _part(piece: Piece) -> str | Gap:
    return Gap(piece.dropped_bytes, piece.dropped_lines, piece.stream) if piece.dropped_bytes else piece.text


def _ending(
    exit_code: int | None, killed_by: str | None, seconds: float | None, left_running: tuple[str, ...]
) -> list[str]:
    ended = f"exit code {exit_code}" if exit_code is not None else f"ended by {killed_by}"
    if exit_code is not None and killed_by is not None:
        ended += f" ({killed_by})"
    notes = [ended, f"{seconds or 0:.2f} s"]
    if left_running:
        notes.append(f"still ran, and was ended: {', '.join(left_running)}")
    return notes


def _left_out(size: int, outcome: CommandOutcome) -> str:
    note = f"{size:,} bytes are not shown"
    if outcome.spilled is None:
        return note
    note += f"; the whole output: read_file({outcome.spilled.path!r})"
    over = outcome.spilled.dropped_bytes
    return f"{note}, which holds its first {outcome.spilled.size:,} bytes and not the last {over:,}" if over else note


def _confined(confinement: Confinement) -> str:
    if confinement.by == "workspace":
        return "confinement: that workspace's own"
    return f"confinement: {confinement.by}, network {'on' if confinement.network else 'off'}"


def _confinement(confinement: Confinement) -> dict[str, Any]:
    return {"by": confinement.by, "reason": confinement.reason, "network": confinement.network}


def _verdict(verdict: Verdict) -> dict[str, str]:
    return {"level": str(verdict.level), "reason": verdict.reason}


def _facts(outcome: CommandOutcome, verdict: Verdict, *, dropped_bytes: int) -> dict[str, Any]:
    return {
        "exit_code": outcome.exit_code,
        "killed_by": outcome.killed_by,
        "timed_out": outcome.timed_out,
        "truncated": dropped_bytes > 0,
        "dropped_bytes": dropped_bytes,
        "left_running": list(outcome.left_running),
        "spill": None if outcome.spilled is None else outcome.spilled.path,
        "seconds": round(outcome.seconds, 3),
        "confinement": _confinement(outcome.confinement),
        "verdict": _verdict(verdict),
        "notes": list(outcome.notes),
    }
