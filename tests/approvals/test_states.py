"""The table is the law, and the README draws it."""

import subprocess
import sys
from pathlib import Path

import pytest

from toolhaft.approvals import ApprovalRecord, State, diagram
from toolhaft.approvals.states import BY_TIME, FINAL, WAYS, IllegalMoveError, check, stored_as
from toolhaft.testing.approvals import call

README = Path(__file__).parents[2] / "README.md"

TABLE = {
    "pending": {"approved", "rejected", "expired"},
    "approved": {"executing", "expired"},
    "executing": {"done", "failed", "unknown"},
    "unknown": {"approved", "done", "failed"},
}


def test_the_diagram_of_the_readme_is_drawn_from_the_table() -> None:
    assert f"```mermaid\n{diagram()}\n```" in README.read_text()


@pytest.mark.parametrize("source", list(State))
@pytest.mark.parametrize("target", list(State))
def test_there_are_these_ways_and_no_others(source: State, target: State) -> None:
    record = ApprovalRecord(conversation_id="c", call_id="c1", tool="t", arguments={}, state=source)

    if target.value in TABLE.get(source.value, set()):
        assert record.moved(target, 1.0).state is target
    else:
        with pytest.raises(IllegalMoveError, match=source.value):
            check(source, target)


def test_time_takes_only_ways_of_the_table() -> None:
    assert all(way in WAYS for way in BY_TIME.items())
    assert sorted(state.value for state in FINAL) == ["done", "expired", "failed", "rejected"]


def test_what_time_moves_is_stored_under_what_it_was() -> None:
    assert stored_as(State.EXPIRED) == [(State.EXPIRED, False), (State.PENDING, True), (State.APPROVED, True)]
    assert stored_as(State.DONE) == [(State.DONE, False)]


def test_a_record_comes_back_from_json() -> None:
    record = call(preview={"diff": ["+1"]}, message="\ud800")

    assert ApprovalRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_what_json_does_not_have_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        call(arguments={"a": value})


def test_approvals_load_no_library_of_a_store() -> None:
    """Redis alone takes a quarter of a second to import."""
    libraries = "{'redis', 'psycopg', 'pytest', 'pydantic_ai'}"
    code = f"import sys, toolhaft.approvals; print(*{libraries} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
