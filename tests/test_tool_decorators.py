"""The two decorators: what they keep, what they add, and where each exception goes.

Each row of the routing table is tested twice: through the bare function, and through an agent, whose run must go on.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import inspect
import os
import pickle
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, DeferredToolRequests, ModelRetry, RunContext
from pydantic_ai.exceptions import (
    AgentRunError,
    RunCancelled,
    SkipToolExecution,
    SkipToolValidation,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai.workspaces import (
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceReadOnlyError,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)

from tests.one_call import call_by_agent, prompt_file, raising
from toolhaft.decorators import base_tool, file_tool
from toolhaft.exceptions import FileOperationError, ToolDefinitionError, ToolExecutionError
from toolhaft.spec import is_tool, tool_spec
from toolhaft.workspace import PathTraversalError, use_workspace

DECORATORS: list[Callable[..., Any]] = [base_tool, file_tool, file_tool(writes=True)]


def context() -> RunContext[None]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage())


async def raised(tool: Any, *args: Any, **kwargs: Any) -> BaseException:
    """What the call raises."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the caller looks at what it is
        await tool(*args, **kwargs)
    return caught.value


@base_tool
async def echo(text: str, times: int = 1) -> str:
    """Say it back."""
    return text * times


@file_tool
async def size_of(filepath: str) -> str:
    """Tell the size."""
    return str(os.stat(filepath).st_size)


# ------------------------------------------------------------------ what a decorated function is


async def test_a_tool_stays_an_async_function_that_can_be_awaited():
    assert inspect.iscoroutinefunction(echo)
    assert await echo("a") == "a"
    assert await echo("a", times=2) == "aa"


def test_name_module_and_docstring_stay():
    assert (echo.__name__, echo.__qualname__, echo.__module__) == ("echo", "echo", __name__)
    assert echo.__doc__ == "Say it back."
    assert is_tool(echo)


def test_the_prompt_becomes_the_docstring(tmp_path: Path):
    tool = base_tool(prompt=prompt_file(tmp_path, description="What it does."))(raising(ValueError()))

    assert tool.__doc__ == "What it does."
    assert tool_spec(tool).description == "What it does."
    assert tool_spec(tool).prompt_file == tmp_path / "a_prompt.xml"


def test_the_docstring_stays_where_there_is_no_prompt():
    @base_tool
    async def tool(text: str) -> str:
        """Do it.

        Examples:
            like this
        """
        return text

    assert tool.__doc__ is not None
    assert tool.__doc__.startswith("Do it.\n")
    assert tool_spec(tool).description == "Do it.\n\nExamples:\n    like this"


def test_a_function_without_any_text_is_a_tool_without_a_description():
    @base_tool
    async def tool(text: str) -> str:
        return text

    assert (tool.__doc__, tool_spec(tool).description) == (None, "")
    assert tool_spec(tool).pydantic_tool().description is None


def test_an_edited_prompt_is_seen_by_the_next_process(tmp_path: Path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "shout.py").write_text(
        "from toolhaft.decorators import base_tool\n@base_tool\nasync def shout(): ...\nprint(shout.__doc__)\n"
    )
    seen = []
    for text in ("First.", "Second."):
        prompt_file(tmp_path, description=text).rename(tmp_path / "prompts" / "shout_prompt.xml")
        done = subprocess.run([sys.executable, "shout.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        seen.append(done.stdout.strip())

    assert seen == ["First.", "Second."]


def test_a_relative_prompt_is_looked_for_beside_the_module():
    with pytest.raises(ToolDefinitionError, match=str(Path(__file__).parent / "nowhere.xml")):
        base_tool(prompt="nowhere.xml")(raising(ValueError()))


async def test_one_decorator_object_serves_many_functions(tmp_path: Path):
    decorate = file_tool(writes=True, idempotent=True)

    async def one(filepath: str) -> str:
        """One."""
        return filepath

    async def two(filepath: str) -> str:
        """Two."""
        raise OSError("no")

    first, second = decorate(one), decorate(two)

    assert await first("a") == "a"
    assert isinstance(await raised(second, "b"), FileOperationError)
    assert (tool_spec(first).name, tool_spec(second).name) == ("one", "two")


async def test_options_may_be_given_with_the_function():
    async def tool(text: str) -> str:
        """Do it."""
        return text

    assert tool_spec(base_tool(tool, kind="shell")).kind == "shell"
    assert tool_spec(file_tool(size_of.__wrapped__, sensitive=True)).sensitive  # pyright: ignore[reportFunctionMemberAccess]


def test_a_tool_pickles_by_reference():
    assert pickle.loads(pickle.dumps(echo)) is echo


async def test_parallel_calls_do_not_see_each_other():
    answers = await asyncio.gather(*(echo(str(number)) for number in range(200)))

    assert answers == [str(number) for number in range(200)]


async def test_a_call_that_does_not_fit_the_signature_is_a_type_error():
    assert type(await raised(echo)) is TypeError


async def test_the_context_comes_first_in_both_decorators(tmp_path: Path):
    @base_tool
    async def base(ctx: RunContext[None], text: str) -> str:
        """Do it."""
        return f"{text} {ctx.deps}"

    @file_tool
    async def file(ctx: RunContext[None], filepath: str) -> str:
        """Do it."""
        raise OSError(5, "broken")

    assert await base(context(), "a") == "a None"
    assert (await raised(file, context(), "a.txt")).path == "a.txt"  # pyright: ignore[reportAttributeAccessIssue]
    assert (await raised(file, context(), filepath="b.txt")).path == "b.txt"  # pyright: ignore[reportAttributeAccessIssue]
    answer = await call_by_agent(file, {"filepath": "c.txt"})
    assert isinstance(answer, ToolReturnPart)
    assert answer.content == "File read failed for 'c.txt': broken"


async def test_a_bound_method_is_a_tool_of_its_object():
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        async def add(self, number: int) -> str:
            """Add a number."""
            self.count += number
            return str(self.count)

    one, two = Counter(), Counter()
    tool = base_tool(one.add)

    assert await tool(2) == "2"
    assert await base_tool(two.add)(5) == "5"
    assert list(tool_spec(tool).schema["properties"]) == ["number"]


@pytest.mark.parametrize("dress", [lambda p, f: setattr(p, "__name__", "greet"), functools.update_wrapper])
async def test_what_a_named_partial_binds_is_no_parameter_any_more(dress: Callable[[Any, Any], Any]):
    async def greet(greeting: str, name: str, *, token: str = "", loud: bool = False) -> str:
        """Greet somebody."""
        return f"{greeting}, {name}{'!' if loud else '.'} {token}"

    bound = functools.partial(greet, "Hello", token="s3cret")
    dress(bound, greet)
    tool = base_tool(bound)

    assert await tool(name="Ada", loud=True) == "Hello, Ada! s3cret"
    assert await tool("Ada") == "Hello, Ada. s3cret"
    assert tool_spec(tool).name == "greet"
    assert tool_spec(tool).description == "Greet somebody."
    assert list(tool_spec(tool).schema["properties"]) == ["name", "loud"]
    answer = await call_by_agent(tool, {"name": "Ada"})
    assert isinstance(answer, ToolReturnPart)
    assert answer.content == "Hello, Ada. s3cret"
    assert tool.__module__ == __name__


async def test_an_own_docstring_of_a_partial_is_read():
    async def greet(greeting: str, name: str) -> str:
        """Greet somebody."""
        return f"{greeting}, {name}"

    bound = functools.partial(greet, "Hello")
    bound.__name__, bound.__doc__ = "hello", "Say hello."  # pyright: ignore[reportAttributeAccessIssue]

    assert tool_spec(base_tool(bound)).description == "Say hello."


# ------------------------------------------------------------------ routing

UNCHANGED = [
    ModelRetry("again"),
    ToolFailed("failed"),
    ToolExecutionError("t", "m"),
    FileOperationError("read", "a", "m"),
    ApprovalRequired({"why": "sensitive"}),
    CallDeferred({"job": 1}),
    SkipToolExecution("result"),
    SkipToolValidation({}),
    ToolRetryError(ToolReturnPart("t", "again", "id", outcome="retried")),
    ToolFailedError(ToolReturnPart("t", "failed", "id", outcome="failed")),
    AgentRunError("run"),
    RunCancelled("cancelled"),
    UsageLimitExceeded("limit"),
    asyncio.CancelledError(),
    KeyboardInterrupt(),
    GeneratorExit(),
]


@pytest.mark.parametrize("decorate", DECORATORS)
@pytest.mark.parametrize("error", UNCHANGED, ids=lambda error: type(error).__name__)
async def test_control_flow_leaves_a_tool_unchanged(decorate: Callable[..., Any], error: BaseException):
    caught = await raised(decorate(raising(error)), "a.txt")

    assert caught is error
    assert caught.__cause__ is None


def undecodable() -> UnicodeDecodeError:
    return UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def invalid() -> Exception:
    class Order(BaseModel):
        count: int = Field(gt=0)

    with pytest.raises(ValueError, match="Order") as caught:
        Order(count=-123456)
    return caught.value


# What is raised, and what becomes of it under @base_tool, @file_tool, @file_tool(writes=True):
# T a ToolExecutionError, M a ModelRetry, or the operation of a FileOperationError; then what the message holds.
ROWS: list[tuple[Exception, str, str]] = [
    (FileNotFoundError(2, "No such file or directory", "b.txt"), "T M M", "'b.txt'"),
    (FileNotFoundError(), "T M M", ""),
    (FileNotFoundError("no section 3"), "T M M", "no section 3"),
    (PermissionError(13, "Permission denied", "b.txt"), "T access access", "Permission denied"),
    (PermissionError("not allowed"), "T access access", "not allowed"),
    (PathTraversalError("leads out"), "access access access", "leads out"),
    (WorkspaceReadOnlyError("read-only"), "T access access", "read-only"),
    (undecodable(), "T decode decode", "invalid start byte"),
    (OSError(28, "No space left on device"), "T read write", "No space left on device"),
    (OSError("disk on fire"), "T read write", "disk on fire"),
    (IsADirectoryError(21, "Is a directory", "b"), "T read write", "Is a directory"),
    (NotADirectoryError(20, "Not a directory", "b"), "T read write", "Not a directory"),
    (FileExistsError(17, "File exists", "b"), "T read write", "File exists"),
    (OSError(18, "Invalid cross-device link", "a", None, "b"), "T read write", "Invalid cross-device link"),
    (TimeoutError(), "T T T", "TimeoutError"),
    (TimeoutError(110, "Connection timed out"), "T T T", "Connection timed out"),
    (WorkspaceTimeoutError("too slow"), "T T T", "too slow"),
    (ConnectionResetError(104, "Connection reset by peer"), "T T T", "Connection reset by peer"),
    (ConnectionRefusedError(), "T T T", "ConnectionRefusedError"),
    (BrokenPipeError(32, "Broken pipe"), "T T T", "Broken pipe"),
    (socket.gaierror(-2, "Name or service not known"), "T T T", "Name or service not known"),
    (ssl.SSLError(1, "handshake failure"), "T T T", "handshake failure"),
    (OSError(errno.ENETUNREACH, "Network is unreachable"), "T T T", "Network is unreachable"),
    (ProcessLookupError(3, "No such process"), "T T T", "No such process"),
    (WorkspaceUnavailableError("gone"), "T T T", "gone"),
    (WorkspaceOutputLimitError("too much", limit=1), "T T T", "too much"),
    (WorkspaceError("refused"), "T T T", "refused"),
    (ValueError("bad value"), "T T T", "bad value"),
    (RuntimeError(), "T T T", "RuntimeError"),
    (KeyError("k"), "T T T", "KeyError: 'k'"),
    (AssertionError(), "T T T", "AssertionError"),
    (NotImplementedError(), "T T T", "NotImplementedError"),
    (RecursionError("too deep"), "T T T", "too deep"),
    (ExceptionGroup("several", [ValueError("x")]), "T T T", "several"),
    (invalid(), "T T T", "count: Input should be greater than 0"),
    (UnicodeEncodeError("ascii", "é", 0, 1, "not in range"), "T T T", "not in range"),
]


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize(("error", "row", "text"), ROWS, ids=lambda value: type(value).__name__)
async def test_every_other_exception_becomes_an_answer(error: Exception, row: str, text: str, column: int):
    tool, outcome = DECORATORS[column](raising(error)), row.split()[column]

    caught = await raised(tool, "a.txt")
    answer = await call_by_agent(tool, {"filepath": "a.txt"})

    assert caught.__cause__ is error
    assert isinstance(answer, ToolReturnPart)
    assert answer.outcome == ("retried" if outcome == "M" else "failed")
    assert text in str(answer.content)
    if outcome == "M":
        assert type(caught) is ModelRetry
    elif outcome == "T":
        assert type(caught) is ToolExecutionError
        assert (caught.tool_name, caught.original_error) == ("failing", error)
    else:
        assert type(caught) is FileOperationError
        assert (caught.operation, caught.original_error) == (outcome, error)


@pytest.mark.parametrize("decorate", DECORATORS)
@pytest.mark.parametrize("error", [ApprovalRequired({"why": "x"}), CallDeferred({"job": 1})])
async def test_a_pause_that_a_tool_asks_for_pauses_the_run(decorate: Callable[..., Any], error: Exception):
    output = await call_by_agent(decorate(raising(error)), {"filepath": "a"})

    assert isinstance(output, DeferredToolRequests)
    assert len(output.approvals) + len(output.calls) == 1
    assert list(output.metadata.values()) == [error.metadata]  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_failing_tool_never_ends_a_run_however_often_it_fails():
    tool = base_tool(raising(ValueError("no")))
    failures = 0

    def model(messages: list[Any], info: Any) -> Any:
        nonlocal failures
        failures += sum(getattr(part, "outcome", "") == "failed" for part in messages[-1].parts)
        return ModelResponse(parts=[TextPart("done") if failures == 20 else ToolCallPart("failing", {"filepath": "a"})])

    assert (await Agent(FunctionModel(model), tools=[tool]).run("go")).output == "done"


async def test_an_invalid_model_in_the_body_is_told_without_the_value_that_was_wrong():
    caught = await raised(base_tool(raising(invalid())), "a")

    assert str(caught) == "Tool 'failing' failed: Order is not valid: count: Input should be greater than 0"


# ------------------------------------------------------------------ which path is told


def opening(path: str) -> Any:
    @file_tool
    async def tool(filepath: str) -> str:
        """Open another file than the one it was given."""
        with open(path) as file:
            return file.read()

    return tool


async def test_the_path_that_was_missing_is_told_and_not_the_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    assert str(await raised(opening("second.txt"), "first.txt")) == "File not found: 'second.txt'. Check the path."


async def test_a_path_inside_the_workspace_is_told_relative_to_it(tmp_path: Path):
    with use_workspace(tmp_path):
        caught = await raised(opening(str(tmp_path / "sub" / "second.txt")), "first.txt")

    assert "'sub/second.txt'" in str(caught)
    assert str(tmp_path) not in str(caught)


@pytest.mark.parametrize("given", ["a.txt", "./a.txt", "sub/a.txt"])
async def test_the_path_that_the_caller_gave_is_told_as_it_was_given(tmp_path: Path, given: str):
    missing = str(tmp_path / "gone" / given.removeprefix("./"))

    assert f"{given!r}" in str(await raised(opening(missing), given))


async def test_a_path_beside_an_absolute_one_of_the_caller_is_told_whole(tmp_path: Path):
    caught = await raised(opening(str(tmp_path / "b.txt")), str(tmp_path / "a.txt"))

    assert str(tmp_path / "b.txt") in str(caught)


async def test_of_any_other_path_only_the_last_part_is_told(tmp_path: Path):
    with use_workspace(tmp_path):
        caught = await raised(opening("/nowhere/at/all/second.txt"), "first.txt")
        for error in (
            OSError(5, "broken", "/secret/place/x"),
            OSError(18, "cross", "/secret/place/x", None, b"/secret/place/y"),
            PermissionError(13, "denied", "/secret/place/x"),
        ):
            for decorate in DECORATORS:
                assert "secret" not in str(await raised(decorate(raising(error)), "a.txt"))

    assert "'second.txt'" in str(caught)
    assert "nowhere" not in str(caught)


async def test_both_paths_of_a_rename_are_told():
    error = OSError(18, "cross-device", "a", None, "b")

    assert str(await raised(base_tool(raising(error)), "x")).endswith("cross-device: 'a' -> 'b'")


async def test_a_file_descriptor_is_no_path():
    assert str(await raised(file_tool(raising(OSError(9, "bad", 3))), "a.txt")) == "File read failed for 'a.txt': bad"


async def test_a_name_that_is_no_text_is_told_as_text_that_can_be_sent():
    caught = await raised(file_tool(raising(FileNotFoundError(2, "gone", b"caf\xe9"))), "a.txt")

    str(caught).encode()
    assert "udce9" in str(caught)


async def test_a_path_is_told_when_there_is_no_workspace_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert "'b.txt'" in str(await raised(opening("/nowhere/b.txt"), "a.txt"))


async def test_no_message_carries_a_traceback():
    for error, _, _ in ROWS:
        for decorate in DECORATORS:
            text = str(await raised(decorate(raising(error)), "a.txt"))
            assert "Traceback" not in text
            assert __file__ not in text


# ------------------------------------------------------------------ time


async def test_a_tool_over_its_time_is_stopped_and_has_failed():
    stopped = asyncio.Event()

    @base_tool(timeout_seconds=0.01)
    async def slow(text: str) -> str:
        """Take long."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return text

    caught = await raised(slow, "a")
    answer = await call_by_agent(slow, {"text": "a"})

    assert type(caught) is ToolExecutionError
    assert "longer than the 0.01 seconds it may take" in str(caught)
    assert stopped.is_set()
    assert isinstance(answer, ToolReturnPart)
    assert answer.outcome == "failed"


async def test_an_inner_timeout_is_not_told_as_the_tools_own():
    async def waiting(filepath: str) -> str:
        """Wait."""
        raise TimeoutError("the server was silent")

    caught = await raised(file_tool(waiting, timeout_seconds=60), "a")

    assert str(caught) == "Tool 'waiting' failed: the server was silent"


async def test_a_tool_within_its_time_answers():
    async def quick(text: str) -> str:
        """Be quick."""
        return text

    tool = base_tool(quick, timeout_seconds=60)

    assert await tool("a") == "a"
    assert tool_spec(tool).timeout_seconds == 60


async def test_cancelling_a_call_cancels_the_tool():
    started, stopped = asyncio.Event(), asyncio.Event()

    @base_tool(timeout_seconds=60)
    async def slow(text: str) -> str:
        """Take long."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return text

    task = asyncio.ensure_future(slow("a"))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()


# ------------------------------------------------------------------ mistakes of an author


def sync(text: str) -> str:
    return text


async def yields(text: str) -> Any:
    yield text


class Thing:
    async def method(self, text: str) -> str:
        return text

    async def __call__(self, text: str) -> str:
        return text


async def untyped(text) -> str:  # pyright: ignore
    return text


async def many(*texts: str) -> str:
    return ""


async def named(**texts: str) -> str:
    return ""


async def late_context(text: str, ctx: RunContext[None]) -> str:
    return text


async def field_default(text: str = Field("a")) -> str:
    return text


async def wrong_first(path: str, filepath: str) -> str:
    return path


async def wrong_type(filepath: Path) -> str:
    return ""


async def optional_type(filepath: str | None = None) -> str:
    return ""


async def nothing() -> str:
    return ""


async def fine(filepath: str) -> str:
    return ""


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: base_tool(sync), r"@base_tool on 'sync': it is not an async function. Write `async def`"),
    (lambda: file_tool(sync), r"@file_tool on 'sync': it is not an async function"),
    (lambda: base_tool(kind="read")(sync), r"on 'sync': it is not an async function"),
    (lambda: base_tool(yields), r"on 'yields': it yields, and a tool returns one answer"),
    (lambda: base_tool(Thing), r"on 'Thing': a class cannot be a tool"),
    (lambda: base_tool(Thing()), r"it is not an async function"),
    (lambda: base_tool("name"), r"on 'name': options are given by name"),
    (lambda: base_tool(Thing.method), r"'method' is a method of a class.* base_tool\(instance.method\)"),
    (lambda: base_tool(staticmethod(fine)), r"it stands above @staticmethod. Put @base_tool below it"),
    (lambda: file_tool(classmethod(fine)), r"it stands above @classmethod. Put @file_tool below it"),
    (lambda: base_tool(functools.partial(fine, "a")), r"it has no name. Set one"),
    (lambda: base_tool(echo), r"on 'echo': it is a tool already"),
    (lambda: base_tool(untyped), r"tool 'untyped': parameter 'text' has no type"),
    (lambda: base_tool(many), r"tool 'many' takes \*texts"),
    (lambda: base_tool(named), r"tool 'named' takes \*\*texts"),
    (lambda: base_tool(late_context), r"RunContext stands at 'ctx'. Make it the first parameter"),
    (lambda: base_tool(field_default), r"the default of parameter 'text' is a pydantic Field"),
    (lambda: file_tool(wrong_first), r"must be `filepath: str`, and it is 'path: str'"),
    (lambda: file_tool(wrong_type), r"must be `filepath: str`, and it is 'filepath: pathlib"),
    (lambda: file_tool(optional_type), r"must be `filepath: str`"),
    (lambda: file_tool(nothing), r"must be `filepath: str`, and it has none"),
    (lambda: file_tool(late_context), r"RunContext stands at 'ctx'"),
    (lambda: base_tool(kin="read"), r"@base_tool has no option 'kin'. Did you mean kind\?"),
    (lambda: base_tool(writes=True), r"@base_tool has no option 'writes'. It has kind, sensitive, prompt,"),
    (lambda: file_tool(fine, whatever=1), r"@file_tool has no option 'whatever'. It has writes, kind"),
    (lambda: base_tool(fine, kind="reed"), r"tool 'fine': kind='reed' is unknown. Use one of read, write, shell"),
    (lambda: file_tool(fine, writes=True, kind="read"), r"kind='read' and writes=True contradict each other"),
    (lambda: file_tool(fine, kind="write"), r"kind='write' and writes=False contradict each other"),
    (lambda: base_tool(fine, timeout_seconds=0), r"timeout_seconds=0 is no span of time"),
    (lambda: base_tool(fine, timeout_seconds=float("nan")), r"timeout_seconds=nan is no span of time"),
    (lambda: base_tool(fine, timeout_seconds=True), r"timeout_seconds=True is no span of time"),
]


@pytest.mark.parametrize(("decorate", "what"), MISTAKES)
def test_a_mistake_of_an_author_fails_at_decoration_and_says_what_to_change(decorate: Callable[[], Any], what: str):
    with pytest.raises(ToolDefinitionError, match=what):
        decorate()


def test_a_method_decorated_in_the_body_of_its_class_is_an_error():
    with pytest.raises(ToolDefinitionError, match="Decorate the bound method of an object instead"):

        class Service:
            @base_tool
            async def run(self, text: str) -> str:
                return text


def test_a_function_with_a_name_that_is_no_identifier_is_an_error():
    async def tool(text: str) -> str:
        return text

    tool.__name__ = "../x"

    with pytest.raises(ToolDefinitionError, match=r"'../x' is no name for a tool"):
        base_tool(tool)


async def test_calls_that_come_as_data_may_say_path_for_filepath():
    @file_tool
    async def one(filepath: str) -> str:
        """Take a file."""
        return filepath

    @base_tool(kind="read")
    async def some(patch: str, filepath: str | None = None) -> str:
        """Take perhaps a file."""
        return f"{patch} {filepath}"

    @file_tool
    async def both(filepath: str, path: str) -> str:
        """Take two."""
        return filepath + path

    assert list(tool_spec(one).schema["properties"]) == ["filepath"]
    assert tool_spec(one).validate({"path": "a"}) == {"filepath": "a"}
    assert tool_spec(some).validate({"patch": "p", "path": "a"}) == {"patch": "p", "filepath": "a"}
    assert tool_spec(both).validate({"filepath": "a", "path": "b"}) == {"filepath": "a", "path": "b"}
    with pytest.raises(ValidationError, match="path"):
        tool_spec(one).validate({"filepath": "a", "path": "a"})
    assert await one("a") == "a"


def test_no_approval_and_no_preview_can_be_said():
    @base_tool(kind="read", approval=None, preview=None)
    async def look() -> str:
        """Look."""
        return "seen"

    assert tool_spec(look).approval is None
    assert tool_spec(look).preview is None


def not_async(text: str) -> str:
    """Preview nothing."""
    return f"would do {text}"


@pytest.mark.parametrize(
    "options",
    [
        {"sensitive": "no"},
        {"idempotent": 1},
        {"timeout_seconds": "5"},
        {"approval": "no"},
        {"preview": 3},
        {"preview": not_async},
        {"prompt": 5},
    ],
    ids=lambda options: "-".join(options),
)
def test_an_option_of_the_wrong_type_is_named(options: dict[str, Any]):
    with pytest.raises(ToolDefinitionError, match=f"{next(iter(options))}=.* is not "):

        @base_tool(kind="read", **options)
        async def some(text: str) -> str:
            """Do something."""
            return text
