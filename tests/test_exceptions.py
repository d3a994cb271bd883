"""The exceptions: what a model reads, what is kept, what survives a pickle."""

import copy
import pickle
import threading

import pytest
from pydantic import TypeAdapter
from pydantic_ai.exceptions import ToolFailed

from toolhaft.exceptions import FileOperationError, ModelRetry, ToolExecutionError, describe


class OddError(Exception):
    """Pickles, and then does not load: its constructor wants two arguments."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class TooBroadError(ToolExecutionError):
    """A subclass with a constructor of its own."""

    def __init__(self, pattern: str, *, seconds: float) -> None:
        super().__init__("grep", f"{pattern} took {seconds} s")
        self.pattern = pattern


def test_fix_and_recovery_commands_are_part_of_the_text():
    error = ToolExecutionError("t", "it broke", suggested_fix="Try X", recovery_commands=["cmd1", "cmd2"])

    assert error.message == str(error)
    assert str(error) == ("Tool 't' failed: it broke\n\nSuggested fix: Try X\n\nRecovery commands:\n  - cmd1\n  - cmd2")


def test_every_argument_is_kept_as_an_attribute():
    cause = ValueError("x")

    error = ToolExecutionError("t", "m", cause, "fix", ["cmd"])
    about_a_file = FileOperationError("read", "a.txt", "gone", cause)

    assert (error.tool_name, error.reason, error.original_error) == ("t", "m", cause)
    assert (error.suggested_fix, error.recovery_commands) == ("fix", ["cmd"])
    assert str(about_a_file) == "File read failed for 'a.txt': gone"
    assert (about_a_file.operation, about_a_file.path, about_a_file.original_error) == ("read", "a.txt", cause)


def test_both_are_tool_failures_and_model_retry_is_the_one_of_pydantic_ai():
    import pydantic_ai

    assert issubclass(ToolExecutionError, ToolFailed)
    assert issubclass(FileOperationError, ToolFailed)
    assert ModelRetry is pydantic_ai.ModelRetry


def test_one_recovery_command_may_be_given_as_text():
    assert ToolExecutionError("t", "m", recovery_commands="make lock").recovery_commands == ["make lock"]


@pytest.mark.parametrize(
    ("message", "original", "reason"),
    [
        ("", AssertionError(), "AssertionError"),
        (" \n", ValueError("why"), "why"),
        ("", None, "no reason was given"),
        ("", "OSError('x')", "OSError('x')"),
    ],
)
def test_a_message_is_never_empty(message: str, original: BaseException | str | None, reason: str):
    assert ToolExecutionError("t", message, original).reason == reason
    assert FileOperationError("read", "a", message, original).reason == reason


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "TimeoutError"),
        (KeyError("k"), "KeyError: 'k'"),
        (KeyError(), "KeyError"),
        (ValueError(" x "), "x"),
        (ValueError("bad\udcff"), "bad\\udcff"),
        (MuteError(), "MuteError"),
    ],
)
def test_an_exception_is_described_by_its_text_or_its_type(error: Exception, text: str):
    assert describe(error) == text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_keeps_every_attribute(protocol: int):
    error = ToolExecutionError("t", "m", ValueError("x"), "fix", ["cmd"])
    error.add_note("seen")

    back = pickle.loads(pickle.dumps(error, protocol))

    assert back == error
    assert (back.tool_name, back.reason, back.suggested_fix, back.recovery_commands) == ("t", "m", "fix", ["cmd"])
    assert repr(back.original_error) == "ValueError('x')"
    assert back.__notes__ == ["seen"]


def test_an_original_error_that_does_not_pickle_is_replaced_by_its_repr():
    class LocalError(Exception):
        pass

    for cause in (LocalError("here"), ValueError(threading.Lock()), OddError("a", "b")):
        back = pickle.loads(pickle.dumps(FileOperationError("read", "a.txt", "m", cause)))

        assert back.original_error == repr(cause)
        assert (back.operation, back.path) == ("read", "a.txt")
    mute = ToolExecutionError("t", "m", MuteError(threading.Lock()))
    assert pickle.loads(pickle.dumps(mute)).original_error == "MuteError"


def test_an_original_error_whose_class_the_reader_lacks_is_replaced_by_its_repr(monkeypatch: pytest.MonkeyPatch):
    packed = pickle.dumps(ToolExecutionError("t", "m", ForgottenError("x")))
    monkeypatch.delattr(f"{__name__}.ForgottenError")

    assert pickle.loads(packed).original_error == "ForgottenError('x')"


class ForgottenError(Exception):
    pass


def test_a_text_in_place_of_the_original_error_survives_a_second_pickle():
    once = pickle.loads(pickle.dumps(ToolExecutionError("t", "m", OddError("a", "b"))))

    assert pickle.loads(pickle.dumps(once)).original_error == once.original_error


def test_a_chain_of_twenty_failures_pickles():
    error: Exception = ValueError("first")
    for number in range(20):
        error = ToolExecutionError("t", f"level {number}", error)

    assert pickle.loads(pickle.dumps(error)) == error


def test_a_subclass_with_its_own_constructor_pickles_and_copies():
    error = TooBroadError("x*", seconds=3.0)

    for back in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error), copy.copy(error)):
        assert back == error
        assert back.pattern == "x*"


def test_failures_are_equal_when_type_and_text_are():
    error = ToolExecutionError("t", "m")

    assert error == ToolExecutionError("t", "m")
    assert hash(error) == hash(ToolExecutionError("t", "m"))
    assert error != ToolExecutionError("t", "other")
    assert error != ToolFailed(error.message)
    assert error != "text"


def test_pydantic_carries_a_failure_as_a_tool_failed():
    adapter = TypeAdapter(ToolExecutionError)
    error = ToolExecutionError("t", "m")

    assert adapter.validate_python(error) is error
    assert adapter.validate_json(adapter.dump_json(error)) == ToolFailed(error.message)
