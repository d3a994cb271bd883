"""Files that guardrails protect: judged where a path leads, for every kind of tool and for commands."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai.workspaces import FileEntry, Workspace, WorkspaceRef, WrapperWorkspace

from tests.pipeline.calls import call_of
from toolhaft import base_tool
from toolhaft.exceptions import FileOperationError
from toolhaft.pipeline.call import Call, Refused
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.preview import Preview
from toolhaft.spec import ToolKind, tool_spec
from toolhaft.tools import apply_patch, bash, delete_file, edit_file, grep, list_dir, read_file, undo_change, write_file
from toolhaft.workspace import LocalWorkspace, use_workspace
from toolhaft.workspace.current import tool_workspace

RULES = {"sensitive_files": ["*.secret", "vault/**"], "protected_files": ["*.lock", "gen/**"]}
SOURCES = {"sensitive_files": "toolhaft.toml:3", "protected_files[1]": "toolhaft.toml:7"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("vault", "gen", "src"):
        (tmp_path / name).mkdir()
    for name in ("api.secret", "vault/key.txt", "uv.lock", "gen/a.py", "src/a.py", ".env"):
        (tmp_path / name).write_text("one\n")
    (tmp_path / "notes.txt").symlink_to("api.secret")
    (tmp_path / "made.py").symlink_to("gen/a.py")
    (tmp_path / "lib").symlink_to("vault")
    return tmp_path


@pytest.fixture
def rails() -> Guardrails:
    return Guardrails(**RULES, sources=SOURCES)  # type: ignore[arg-type]


@pytest.fixture(params=["made with the rules", "not made with them"])
def place(request: pytest.FixtureRequest, folder: Path, rails: Guardrails) -> Iterator[None]:
    """The workspace: one that guards links itself, and one that knows nothing of the rules."""
    plain = LocalWorkspace(folder, allow_delete=True)
    with use_workspace(rails.over(plain) if request.param == "made with the rules" else plain):
        yield


def foreign(**args: Any) -> Call:
    return Call(name="mcp_x", args=args, kind=ToolKind.MCP, sensitive=True, call_id="c1", conversation_id="talk")


async def refused(rails: Guardrails, call: Call) -> Refused:
    """The refusal of a call: by the guardrails, or in their name by the workspace once the tool is awaited."""

    async def run() -> None:
        await rails.admit(call, preview=Preview(call))
        if call.spec is not None:
            await call.spec.function(**call.args)

    with pytest.raises((Refused, FileOperationError)) as raised:
        await run()
    found = raised.value if isinstance(raised.value, Refused) else rails.refused(raised.value)
    assert found is not None, raised.value
    return found


PATCH = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-one\n+two\n"


@pytest.mark.parametrize(
    ("tool", "args", "rule"),
    [
        (read_file, {"filepath": "api.secret"}, "sensitive_files"),
        (read_file, {"filepath": "src/../api.secret"}, "sensitive_files"),
        (read_file, {"filepath": "./API.SECRET"}, "sensitive_files"),
        (read_file, {"filepath": "notes.txt"}, "sensitive_files"),
        (read_file, {"filepath": "lib/key.txt"}, "sensitive_files"),
        (grep, {"pattern": "x", "path": "vault/key.txt"}, "sensitive_files"),
        (edit_file, {"filepath": "notes.txt", "old_str": "one", "new_str": "two"}, "sensitive_files"),
        (write_file, {"filepath": "new.secret", "content": "x"}, "sensitive_files"),
        (write_file, {"filepath": "uv.lock", "content": "x", "mode": "overwrite"}, "protected_files"),
        (edit_file, {"filepath": "made.py", "old_str": "one", "new_str": "two"}, "protected_files"),
        (delete_file, {"filepath": "gen/a.py"}, "protected_files"),
        (apply_patch, {"patch": PATCH.format("gen/a.py")}, "protected_files"),
        (apply_patch, {"patch": PATCH.format("notes.txt")}, "sensitive_files"),
        (
            apply_patch,
            {"patch": "diff --git a/src/a.py b/x.lock\nrename from src/a.py\nrename to x.lock\n"},
            "protected_files",
        ),
        (bash, {"command": "cat api.secret"}, "sensitive_files"),
        (bash, {"command": "cat < notes.txt"}, "sensitive_files"),
        (bash, {"command": "cd vault && head -1 key.txt"}, "sensitive_files"),
        (bash, {"command": "head -1 key.txt", "cwd": "lib"}, "sensitive_files"),
        (bash, {"command": "cat api.sec*"}, "sensitive_files"),
        (bash, {"command": "sh -c 'cat api.secret'"}, "sensitive_files"),
        (bash, {"command": "echo two > uv.lock"}, "protected_files"),
        (bash, {"command": "rm -r gen"}, "protected_files"),
        (bash, {"command": "sed -i s/one/two/ made.py"}, "protected_files"),
    ],
)
@pytest.mark.usefixtures("place")
async def test_no_way_of_writing_a_path_leads_past_the_rules(
    rails: Guardrails, tool: Any, args: dict[str, Any], rule: str
) -> None:
    found = await refused(rails, call_of(tool, args))

    assert found.message.startswith("Guardrail: ")
    assert (found.stage, found.rule) == ("guardrails", rule)


async def test_the_local_place_itself_and_an_absolute_path_are_one_file(folder: Path, rails: Guardrails) -> None:
    with use_workspace(folder):
        found = await refused(rails, call_of(read_file, {"filepath": str(folder / "api.secret")}))

    assert found.rule == "sensitive_files"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (read_file, {"filepath": "uv.lock"}),
        (read_file, {"filepath": "src/a.py", "offset": 1, "limit": None}),
        (list_dir, {"directory": "."}),
        (edit_file, {"filepath": "src/a.py", "old_str": "one", "new_str": "two"}),
        (apply_patch, {"patch": PATCH.format("src/a.py")}),
        (bash, {"command": "cat uv.lock src/a.py && echo api.secret"}),
        (bash, {"command": "ls -l", "cwd": "gen"}),
        (undo_change, {"change_id": "none"}),
    ],
)
@pytest.mark.usefixtures("place")
async def test_what_no_rule_is_about_passes(rails: Guardrails, tool: Any, args: dict[str, Any]) -> None:
    call = call_of(tool, args)

    admission = await rails.admit(call, preview=Preview(call))

    assert admission.warnings == []


@pytest.mark.parametrize(
    "args",
    [
        {"path": "api.secret"},
        {"options": {"filePath": "lib/key.txt"}},
        {"paths": ["src/a.py", "notes.txt"]},
        {"uri": "file:///x/vault/key.txt"},
        {"uri": "repo:///vault%2Fkey.txt"},
        {"name": "./api.secret"},
        {"files": {"api.secret": "a new text"}},
        {"changes": {"src/a.py": "1", "gen/a.py": "2"}},
        {"path": "uv.lock"},
        {"path": ".env"},
        {"path": "a\0b/.env"},
        {"path": ".env\0.txt"},
        {"paths": ["a\0b", "\ud800", "notes.txt"]},
        {"path": "\ud800/.env"},
        {"command": "cat api.secret"},
        {"cmd": ["cat", "api.secret"]},
        {"script": "cat .env"},
        {"commands": [{"argv": "x"}, "echo > uv.lock"]},
    ],
)
async def test_somebody_elses_tool_is_judged_as_one_that_writes_whatever_its_arguments_name(
    folder: Path, rails: Guardrails, args: dict[str, Any]
) -> None:
    call = foreign(**args)

    with use_workspace(folder), pytest.raises(Refused, match="^Guardrail: "):
        await rails.admit(call, preview=Preview(call))


async def test_without_any_rule_a_tool_of_ours_passes_and_its_preview_is_not_asked(folder: Path) -> None:
    async def preview() -> None:
        raise AssertionError("nobody needs to know")

    with use_workspace(folder):
        for tool, args in ((read_file, {"filepath": "a"}), (write_file, {"filepath": "a", "content": ""})):
            assert (await Guardrails().admit(call_of(tool, args), preview=preview)).warnings == []


async def test_without_any_rule_the_workspaces_own_hold_for_somebody_elses_tool(folder: Path) -> None:
    call = foreign(path=".env")

    with use_workspace(folder), pytest.raises(Refused, match="the workspace's own list") as raised:
        await Guardrails().admit(call, preview=Preview(call))

    assert raised.value.rule == "sensitive_files"


async def test_what_is_no_path_is_left_to_somebody_elses_tool(folder: Path, rails: Guardrails) -> None:
    call = foreign(title="Read the vault. Then go", n=3, url="https://example.com/a", path="src/a.py", none=None)

    with use_workspace(folder):
        admission = await rails.admit(call, preview=Preview(call))

    assert admission.warnings == []


class Place(BaseModel):
    """Where something is."""

    file: Path


@base_tool(kind="read")
async def peek(path: Path | None = None, places: list[Place] | None = None, files: frozenset[str] = frozenset()) -> str:
    """Look at files, however they are told."""
    return "seen"


@pytest.mark.parametrize(
    "args",
    [{"path": "notes.txt"}, {"places": [{"file": "src/a.py"}, {"file": "lib/key.txt"}]}, {"files": ["notes.txt"]}],
)
@pytest.mark.usefixtures("place")
async def test_a_tool_that_may_open_files_by_itself_is_judged_where_links_lead(
    rails: Guardrails, args: dict[str, Any]
) -> None:
    call = call_of(peek, tool_spec(peek).validate(args))

    with pytest.raises(Refused, match="sensitive file"):
        await rails.admit(call, preview=Preview(call))


@base_tool(kind="mcp")
async def twin(name: str) -> str:
    """Do what a tool of a server does."""
    return "done"


async def test_a_card_does_not_make_a_servers_tool_ours(folder: Path) -> None:
    call = call_of(twin, {"name": "./.env"})

    with use_workspace(folder), pytest.raises(Refused, match="sensitive file"):
        await Guardrails().admit(call, preview=Preview(call))


@base_tool(kind="write")
async def save(target_file: str, text: str, file_pattern: str = "*") -> str:
    """Save a text where it is told."""
    return "saved"


async def test_a_tool_of_ones_own_is_judged_by_the_names_of_its_arguments(folder: Path, rails: Guardrails) -> None:
    call = call_of(save, {"target_file": "uv.lock", "text": "x", "file_pattern": "*.lock"})
    other = call_of(save, {"target_file": "x.py", "text": "*.lock", "file_pattern": "*.lock"})

    with use_workspace(folder):
        assert (await rails.admit(other, preview=Preview(other))).warnings == []
        with pytest.raises(Refused, match="'uv.lock' is protected"):
            await rails.admit(call, preview=Preview(call))


def test_a_refusal_says_on_which_line_its_rule_is_written(folder: Path, rails: Guardrails) -> None:
    with use_workspace(folder):
        sensitive = rails.check_file_access("notes.txt", "read_file")
        protected = rails.check_file_access("gen/a.py", "edit_file")
        other = rails.check_file_access("uv.lock", "edit_file")

    assert sensitive is not None
    assert (sensitive.rule, sensitive.source) == ("sensitive_files", "toolhaft.toml:3")
    assert str(sensitive).startswith("Guardrail: 'notes.txt' is a sensitive file (pattern '*.secret')")
    assert protected is not None
    assert protected.source == "toolhaft.toml:7"
    assert other is not None
    assert other.source == "set in code"


@pytest.mark.parametrize(
    ("path", "tool", "is_refused"),
    [
        ("uv.lock", "read_file", False),
        ("uv.lock", "grep", False),
        ("uv.lock", "edit_file", True),
        ("uv.lock", "nobody_knows_it", True),
        ("src/a.py", "edit_file", False),
        (".env", "read_file", True),
        ("src/../../out.secret", "read_file", True),
    ],
)
def test_access_can_be_asked_without_a_pipeline(
    folder: Path, rails: Guardrails, path: str, tool: str, is_refused: bool
) -> None:
    with use_workspace(folder):
        assert (rails.check_file_access(path, tool) is not None) is is_refused


def test_commands_can_be_asked_too(folder: Path, rails: Guardrails) -> None:
    with use_workspace(folder):
        assert rails.check_command("cat notes.txt") is not None
        assert rails.check_command("cat src/a.py") is None


async def test_searches_and_commands_of_a_guarded_folder_leave_the_files_out(folder: Path, rails: Guardrails) -> None:
    with use_workspace(rails.over(LocalWorkspace(folder))):
        found = await grep(pattern="one", include_hidden=True)

    assert "src/a.py" in found
    assert "uv.lock" in found
    assert "api.secret" not in found
    assert "key.txt" not in found


def test_a_guarded_folder_is_the_same_each_time_and_through_views(folder: Path, rails: Guardrails) -> None:
    plain = LocalWorkspace(folder)

    guarded = rails.over(plain)

    assert guarded is not plain
    assert rails.over(plain) is guarded
    assert rails.over(guarded) is guarded
    assert rails.over(Workspace(plain)) is guarded
    assert rails.over(tool_workspace(plain)) is guarded


def test_what_is_no_folder_of_ours_stays_as_it_is(folder: Path, rails: Guardrails) -> None:
    plain = LocalWorkspace(folder)
    wrapped = WrapperWorkspace(plain)
    elsewhere = Elsewhere()

    assert Guardrails().over(plain) is plain
    assert rails.over(wrapped) is wrapped
    assert rails.over(elsewhere) is elsewhere


class Elsewhere:
    """A workspace that is no folder of this machine: `/srv`, where `notes.txt` is a link to `api.secret`."""

    ref = WorkspaceRef(provider="elsewhere", id="/srv")

    async def working_dir(self) -> str:
        return "/srv"

    async def read_bytes(self, path: str) -> bytes:
        return b"one\n"

    async def write_bytes(self, path: str, data: bytes) -> None:
        raise NotImplementedError

    async def stat(self, path: str) -> FileEntry:
        raise NotImplementedError

    async def list_dir(self, path: str) -> list[FileEntry]:
        return []

    async def make_dir(self, path: str) -> None:
        raise NotImplementedError

    async def remove(self, path: str) -> None:
        raise NotImplementedError

    async def exists(self, path: str) -> bool:
        return True

    async def realpath(self, path: str) -> str:
        return os.path.join("/srv", path).replace("notes.txt", "api.secret")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (read_file, {"filepath": "api.secret"}),
        (read_file, {"filepath": "notes.txt"}),
        (bash, {"command": "cat sub/../notes.txt"}),
        (edit_file, {"filepath": "uv.lock", "old_str": "one", "new_str": "two"}),
    ],
)
async def test_the_rules_hold_in_a_workspace_that_is_elsewhere(
    rails: Guardrails, tool: Any, args: dict[str, Any]
) -> None:
    call = call_of(tool, args)

    with use_workspace(Elsewhere()), pytest.raises(Refused, match="^Guardrail: "):
        await rails.admit(call, preview=Preview(call))


def test_access_elsewhere_is_asked_by_the_text_of_the_path(rails: Guardrails) -> None:
    with use_workspace(Elsewhere()):
        assert rails.check_file_access("a/b.secret", "read_file") is not None
        assert rails.check_file_access("a/b.py", "read_file") is None


@pytest.mark.parametrize(
    ("patterns", "text"),
    [
        ("*.lock", r"protected_files='\*.lock' is one text. Give a list"),
        (["ok", "*.{a,b}"], r"toolhaft.toml:9: protected_files\[1\] cannot be: .* has braces"),
        (["./"], r"toolhaft.toml:9: protected_files\[0\] cannot be: './' names no file"),
        (["../uv.lock"], "'../uv.lock' matches no path"),
        (["a/./b", "x"], "'a/./b' matches no path"),
        (["~/x"], "'~/x' matches no path"),
        ([r"migrations\*"], "matches no path"),
        (["a[bc/d"], r"'a\[bc/d' has a '\[' without its '\]'"),
    ],
)
def test_a_pattern_that_would_match_nothing_is_an_error_at_once(patterns: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        Guardrails(protected_files=patterns, sources={"protected_files": "toolhaft.toml:9"})


def test_an_error_that_has_nothing_to_do_with_the_rules_is_none_of_theirs(rails: Guardrails) -> None:
    assert rails.refused(ValueError("x")) is None


async def test_a_default_of_the_workspace_is_not_refused_in_the_name_of_the_rules(
    folder: Path, rails: Guardrails
) -> None:
    with use_workspace(rails.over(LocalWorkspace(folder))), pytest.raises(FileOperationError) as raised:
        await read_file(".env")

    assert rails.refused(raised.value) is None
