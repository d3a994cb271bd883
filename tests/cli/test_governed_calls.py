"""A person's own calls: they ask nobody unless told to, and the rules of a configuration hold."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import toolhaft

WRITE = ("call", "write_file", '{"filepath": "a.txt", "content": "text"}')


def on_terminal(typed: str, *args: str) -> tuple[int, str]:
    """The exit status of a command line on a terminal at which this is typed, and what it shows."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    done = subprocess.run(
        [sys.executable, "-m", "toolhaft.cli", *args], stdin=theirs, capture_output=True, timeout=120, check=False
    )
    os.close(ours)
    os.close(theirs)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_a_persons_own_call_asks_nobody(tmp_path: Path) -> None:
    assert toolhaft(*WRITE, "-w", str(tmp_path)).returncode == 0
    assert (tmp_path / "a.txt").read_text() == "text"


def test_without_a_terminal_a_call_that_is_to_be_confirmed_is_refused(tmp_path: Path) -> None:
    done = toolhaft(*WRITE, "-w", str(tmp_path), "--mode", "confirm-sensitive", "--json")

    result = json.loads(done.stdout)
    assert (done.returncode, result["metadata"]["stage"]) == (1, "confirmation")
    assert "use --mode yolo or --dry-run" in result["error"]
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("typed", "status", "written"), [("y\n", 0, "text"), ("n\n", 1, None), ("a\n", 130, None), ("\x04", 130, None)]
)
def test_on_a_terminal_it_asks(typed: str, status: int, written: str | None, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"

    code, shown = on_terminal(typed, *WRITE, "-w", str(tmp_path), "--mode", "confirm-sensitive")

    assert code == status
    assert "Run 'write_file' with args=filepath='a.txt', content='text'" in shown
    assert (file.read_text() if file.exists() else None) == written


def test_abort_ends_a_batch(tmp_path: Path) -> None:
    request = json.dumps({"tool": "list_dir", "args": {}, "workspace": str(tmp_path)})

    done = toolhaft("call", "--stdin", "--mode", "confirm-all", stdin=f"{request}\n{request}\n")

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["success"] for answer in answers] == [False, False]
    assert all("No terminal to confirm" in answer["error"] for answer in answers)


def test_a_dry_run_tells_and_does_nothing(tmp_path: Path) -> None:
    done = toolhaft(*WRITE, "-w", str(tmp_path), "--dry-run")

    assert done.stdout.startswith("[DRY-RUN] Would run: write_file(filepath='a.txt', content='text'")
    assert not (tmp_path / "a.txt").exists()


def test_commands_can_be_left_out(tmp_path: Path) -> None:
    call = ("call", "bash", '{"command": "ls"}', "-w", str(tmp_path))

    assert toolhaft(*call).returncode == 0
    without = toolhaft(*call, "--no-commands")
    assert without.returncode == 2
    assert without.stderr.startswith("Unknown tool: no tool is named 'bash'")


def test_the_rules_of_a_configuration_hold_whatever_the_mode(tmp_path: Path) -> None:
    config = tmp_path / "toolhaft.toml"
    config.write_text(
        '[workspace]\nroot = "repo"\nallow_delete = true\n\n[guardrails]\nprotected_files = ["*.lock"]\n'
        'max_files_modified = 1\n\n[[hooks.pre_tool_use]]\nname = "no readme"\nmatcher = "delete_file"\n'
        'command = "echo not today >&2; exit 2"\n'
    )
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "b.txt").write_text("b")

    def result(tool: str, **args: str) -> dict[str, object]:
        return json.loads(toolhaft("call", tool, json.dumps(args), "--config", str(config), "--json").stdout)

    locked = result("write_file", filepath="uv.lock", content="x")
    assert str(locked["error"]).startswith("Guardrail:")
    assert locked["metadata"] == {"stage": "guardrails", "rule": "protected_files", "source": "toolhaft.toml:6"}
    hooked = result("delete_file", filepath="b.txt")
    assert str(hooked["error"]).startswith("Blocked by hook no readme: not today")
    assert result("write_file", filepath="a.txt", content="x")["success"]
    assert sorted(file.name for file in (tmp_path / "repo").iterdir()) == ["a.txt", "b.txt"]


def test_a_mistake_in_a_configuration_is_told_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "toolhaft.toml"
    config.write_text("[workspace]\nread_onyl = true\n")

    done = toolhaft("call", "list_dir", "--config", str(config))
    missing = toolhaft("call", "list_dir", "--config", str(tmp_path / "no.toml"))

    assert done.returncode == missing.returncode == 2
    assert "toolhaft.toml:2" in done.stderr
    assert "read_only" in done.stderr
    assert "no.toml" in missing.stderr
