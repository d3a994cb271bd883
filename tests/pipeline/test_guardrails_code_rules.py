"""Code rules: what no added line may match, judged before it is written."""

import time
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from tests.pipeline.calls import call_of, through
from toolhaft import base_tool
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.guardrails import CodeRule, Guardrails
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.pipeline.preview import Preview
from toolhaft.spec import ToolKind
from toolhaft.tools import apply_patch, bash, delete_file, edit_file, read_file, update_file, write_file
from toolhaft.workspace import LocalWorkspace, use_workspace

NO_EVAL = CodeRule(pattern=r"\beval\(", message="eval is not used here", severity="block", file_patterns=("*.py",))


@pytest.fixture(autouse=True)
def place(tmp_path: Path) -> Any:
    (tmp_path / "a.py").write_text("x = eval(y)\nz = 1\n")
    with use_workspace(LocalWorkspace(tmp_path, allow_delete=True)):
        yield


def rails(*rules: CodeRule) -> Guardrails:
    return Guardrails(code_rules=rules or [NO_EVAL], sources={"code_rules[0]": "toolhaft.toml:8"})


async def warnings_of(guardrails: Guardrails, call: Call) -> list[str]:
    return (await guardrails.admit(call, preview=Preview(call))).warnings


PATCH = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n{}\n z = 1\n"
LONG = "\n".join(f"line_{number} = 0" for number in range(1_000))


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (write_file, {"filepath": "b.py", "content": "1\neval(x)\n"}),
        (write_file, {"filepath": "a.py", "content": "\neval(x)\n", "mode": "append"}),
        (write_file, {"filepath": "b.py", "content": f"{LONG}\neval(x)\n"}),
        (write_file, {"filepath": "b.py", "content": f"{'x' * 5_000} eval(x)\n"}),
        (edit_file, {"filepath": "a.py", "old_str": "z = 1", "new_str": "z = eval(q)"}),
        (update_file, {"filepath": "a.py", "old_text": "z = 1", "new_text": "z = eval(q)"}),
        (apply_patch, {"patch": PATCH.format(" x = eval(y)\n+q = eval(y)")}),
        (bash, {"command": "cat > b.py <<'EOF'\neval(x)\nEOF"}),
        (bash, {"command": "echo 'eval(x)' >> a.py"}),
    ],
)
async def test_an_added_line_that_a_blocking_rule_matches_refuses_the_call(
    tmp_path: Path, tool: Any, args: dict[str, Any]
) -> None:
    before = (tmp_path / "a.py").read_text()

    with pytest.raises(Refused, match=r"^Guardrail: eval is not used here \(the new line ") as raised:
        await warnings_of(rails(), call_of(tool, args))

    assert (raised.value.rule, raised.value.source) == ("code_rules", "toolhaft.toml:8")
    assert (tmp_path / "a.py").read_text() == before
    assert not (tmp_path / "b.py").exists()


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (write_file, {"filepath": "b.md", "content": "eval(x)\n"}),
        (edit_file, {"filepath": "a.py", "old_str": "x = eval(y)", "new_str": "x = 0"}),
        (edit_file, {"filepath": "a.py", "old_str": "z = 1", "new_str": "z = evaluate(1)"}),
        (apply_patch, {"patch": PATCH.format("-x = eval(y)")}),
        (delete_file, {"filepath": "a.py"}),
        (bash, {"command": "grep 'eval(' a.py"}),
        (read_file, {"filepath": "a.py"}),
    ],
)
async def test_what_was_there_or_goes_away_or_is_in_another_file_is_no_matter(tool: Any, args: dict[str, Any]) -> None:
    assert await warnings_of(rails(), call_of(tool, args)) == []


async def test_a_rule_that_warns_says_so_in_the_answer(tmp_path: Path) -> None:
    guardrails = rails(CodeRule(pattern="print", message="Use the logger."))
    pipeline = Pipeline(mode="yolo", guardrails=guardrails)

    answer = await through(pipeline, write_file, {"filepath": "b.py", "content": "print(1)\n"})

    assert "Warning: Use the logger. (the new line 'print(1)' in b.py) [code_rules, toolhaft.toml:8]" in str(
        answer.return_value
    )
    assert (tmp_path / "b.py").read_text() == "print(1)\n"


@pytest.mark.parametrize(
    "args",
    [
        {"path": "b.py", "content": "eval(x)"},
        {"path": "b.py", "edits": [{"oldText": "a", "newText": "eval(x)"}]},
        {"path": "b.py", "patch": "@@ -1 +1 @@\n-a\n+eval(x)"},
    ],
)
async def test_somebody_elses_tool_is_judged_by_its_arguments(args: dict[str, Any]) -> None:
    call = Call(name="mcp_x", args=args, kind=ToolKind.MCP, sensitive=True, call_id="c1", conversation_id="talk")

    with pytest.raises(Refused, match="eval is not used here"):
        await warnings_of(rails(), call)


@pytest.mark.parametrize(
    "args",
    [
        {"title": "About eval(x)"},
        {"path": "b.py", "oldText": "eval(x)", "newText": "1"},
        {"path": "b.py", "patch": "@@ -1 +1 @@\n-eval(x)\n+1"},
    ],
)
async def test_what_somebody_elses_tool_does_not_write_to_a_file_is_no_matter(args: dict[str, Any]) -> None:
    call = Call(name="mcp_x", args=args, kind=ToolKind.MCP, sensitive=True, call_id="c1", conversation_id="talk")

    assert await warnings_of(rails(), call) == []


@base_tool(kind="write")
async def store(text: str) -> str:
    """Store a text nobody knows where."""
    return "stored"


async def test_text_that_goes_nobody_knows_where_meets_every_rule() -> None:
    with pytest.raises(Refused, match="eval is not used here"):
        await warnings_of(rails(), call_of(store, {"text": "eval(x)"}))


@pytest.mark.parametrize("text", ["a\ud800b eval(x)", "a\U0010fffe eval(x)"])
def test_no_strange_character_hides_a_line(text: str) -> None:
    assert rails().check_code_rules("b.py", text) is not None


def test_rules_can_be_asked_without_a_pipeline() -> None:
    guardrails = rails(NO_EVAL, CodeRule(pattern="TODO", message="later"))

    refusal = guardrails.check_code_rules("src/b.py", "ok\n  eval(x)\n")

    assert refusal is not None
    assert refusal.reason == "eval is not used here (the new line 'eval(x)' in src/b.py)"
    assert guardrails.check_code_rules("src/b.txt", "eval(x)") is None
    assert guardrails.check_code_rules("src/b.py", "TODO") is None


def test_a_pattern_that_backtracks_elsewhere_takes_no_time_here() -> None:
    guardrails = rails(CodeRule(pattern="^(a+)+$", message="x", severity="block"))
    started = time.monotonic()

    assert guardrails.check_code_rules("b.py", "a" * 100_000 + "!") is None

    assert time.monotonic() - started < 20  # backtracking would take longer than the universe


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"pattern": "(", "message": "x"}, r"toolhaft.toml:8: code_rules\[0\] cannot be: .* unclosed group"),
        ({"pattern": "x", "message": "x", "severity": "fatal"}, "severity='fatal' is none"),
        ({"pattern": "x", "message": "x", "file_patterns": "*.py"}, "file_patterns='\\*.py' is one text"),
        ({"pattern": "x"}, "message"),
    ],
)
def test_a_rule_that_cannot_be_is_an_error_that_names_rule_and_source(rule: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Guardrails(code_rules=[rule], sources={"code_rules": "toolhaft.toml:8"})


async def test_a_preview_that_fails_is_told_as_the_tool_tells_it() -> None:
    patch = PATCH.replace("a.py", "not/there.py").format("-1")

    with pytest.raises(ModelRetry, match="not/there.py: there is no such file"):
        await warnings_of(rails(), call_of(apply_patch, {"patch": patch}))
