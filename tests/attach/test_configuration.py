"""A configuration file: what it says, and how its mistakes are told."""

import json
import sys
from pathlib import Path

import pytest

from toolhaft.attach.configuration import Configuration, ConfigurationError, hooks_of, load_configuration
from toolhaft.pipeline.hooks import POST_EDIT_MATCHER, HookEvent
from toolhaft.workspace import DEFAULT_SENSITIVE_FILES, use_workspace

WHOLE = """\
mode = "confirm-all"          # of three
dry_run = true
tools = ["files", "bash"]
allowed_tools = ["read_file", "mcp_*"]

[workspace]
root = "sub"
read_only = true
allow_delete = true
sensitive_files = [".env"]

[commands]
enabled = false
default_timeout = 60
max_output_lines = 50
safe_commands = ["terraform plan"]
blocked_patterns = ["terraform (apply|destroy)"]
allowed_only = true
pass_env = ["CI"]
network = false

[guardrails]
protected_files = [
    "*.lock",
    "gen/**",
]
sensitive_files = ["*.secret"]
blocked_commands = ["git push"]
max_files_modified = 3
max_lines_changed = 200
max_commands_executed = 20
require_test_after_edit = true

[[guardrails.quality_gates]]
name = "lint"
command = "exit 4"
required = true
timeout = 30

[[guardrails.code_rules]]
pattern = 'eval\\('
message = "no eval"
severity = "block"
file_patterns = ["*.py"]

[[hooks.pre_tool_use]]
name = "secrets"
command = "sh check.sh"
matcher = "write_file|edit_file"
file_patterns = ["*.py"]
timeout = 5
async = false
enabled = true
on_hook_error = "allow"

[[hooks.pre_tool_use]]
name = "second"
command = "true"

[[hooks.session_end]]
name = "bye"
command = "echo bye"
async = true
"""


def written(folder: Path, text: str, name: str = "toolhaft.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, text: str, name: str = "toolhaft.toml") -> Configuration:
    return load_configuration(written(folder, text, name))


def mistake(folder: Path, text: str, name: str = "toolhaft.toml") -> str:
    with pytest.raises(ConfigurationError) as raised:
        load_configuration(written(folder, text, name))
    return str(raised.value)


def test_every_key_is_read(tmp_path: Path) -> None:
    found = loaded(tmp_path, WHOLE)

    assert (found.mode, found.dry_run, found.tools) == ("confirm-all", True, ("files", "bash"))
    assert found.allowed_tools == ("read_file", "mcp_*")
    assert found.root == tmp_path / "sub"
    assert found.workspace.allow_delete
    assert not found.commands.enabled
    assert [hook.name for hook in found.hooks] == ["secrets", "second", "bye"]


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    found = loaded(tmp_path, "")

    assert (found.mode, found.dry_run, found.tools, found.allowed_tools) == ("confirm-sensitive", False, "coding", None)
    assert found.root == tmp_path
    assert found.workspace.sensitive_files == DEFAULT_SENSITIVE_FILES
    assert found.commands.enabled
    assert found.hooks == ()
    assert loaded(tmp_path, "", "empty.yaml").keys == found.keys


def test_the_workspace_and_its_commands_are_as_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    place = loaded(tmp_path, WHOLE).open_workspace()

    assert place.ref.id == str(tmp_path / "sub")
    assert (place.access.read_only, place.allow_delete) == (True, True)
    assert place.access.sensitive_files == (".env",)
    rules = place.commands.rules
    assert (rules.default_timeout_seconds, rules.max_output_lines, rules.network) == (60, 50, False)
    assert rules.classify("terraform plan").level == "safe"
    assert rules.classify("terraform apply").level == "blocked"


async def test_the_guardrails_say_on_which_line_each_rule_is_written(tmp_path: Path) -> None:
    rails = loaded(tmp_path, WHOLE).guardrails()

    with use_workspace(tmp_path):
        refusals = [
            rails.check_file_access("uv.lock", "edit_file"),
            rails.check_file_access("gen/a.py", "edit_file"),
            rails.check_file_access("a.secret", "read_file"),
            rails.check_command("git push"),
            rails.check_edit_limits("a", 201, 0),
            rails.check_code_rules("a.py", "eval(x)"),
            *await rails.run_quality_gates(),
        ]

    assert [refusal and (refusal.rule, refusal.source) for refusal in refusals] == [
        ("protected_files", "toolhaft.toml:24"),
        ("protected_files", "toolhaft.toml:25"),
        ("sensitive_files", "toolhaft.toml:27"),
        ("blocked_commands", "toolhaft.toml:28"),
        ("max_lines_changed", "toolhaft.toml:30"),
        ("code_rules", "toolhaft.toml:40"),
        ("quality_gates", "toolhaft.toml:34"),
    ]


def test_hooks_are_made_as_the_file_says(tmp_path: Path) -> None:
    first, second, bye = hooks_of(loaded(tmp_path, WHOLE))

    assert (first.event, first.matcher, first.file_patterns) == (
        HookEvent.PRE_TOOL_USE,
        "write_file|edit_file",
        ("*.py",),
    )
    assert (first.timeout_seconds, first.on_hook_error, first.source) == (5, "allow", "toolhaft.toml:46")
    assert (second.matcher, second.timeout_seconds, second.source) == ("*", 10, "toolhaft.toml:56")
    assert (bye.background, bye.event) == (True, HookEvent.SESSION_END)


ARCHITECT = """\
hooks:
  pre_tool_use:
    - name: validate-secrets
      command: "bash scripts/check.sh"
      matcher: "write_file|edit_file"
      file_patterns: ["*.py"]
      timeout: 5
  post_tool_use:
    - name: python-lint
      command: "ruff check {file} --no-fix"
      file_patterns: ["*.py"]
      timeout: 15
  post_edit:
    - name: python-typecheck
      command: "mypy {file} --no-error-summary"
      file_patterns: ["*.py"]
      timeout: 15
      enabled: false
"""


def test_the_hooks_of_architect_are_understood(tmp_path: Path) -> None:
    check, lint, types = hooks_of(loaded(tmp_path, ARCHITECT, ".architect.yaml"))

    assert (check.event, check.source) == (HookEvent.PRE_TOOL_USE, ".architect.yaml:3")
    assert (lint.event, lint.matcher, lint.timeout_seconds) == (HookEvent.POST_TOOL_USE, "*", 15)
    assert (types.event, types.matcher, types.enabled) == (HookEvent.POST_TOOL_USE, POST_EDIT_MATCHER, False)


def test_the_three_languages_say_the_same(tmp_path: Path) -> None:
    import yaml

    toml = loaded(tmp_path, WHOLE)
    data = toml.keys.model_dump(mode="json", by_alias=True, exclude_unset=True)

    as_json = loaded(tmp_path, json.dumps(data, indent=1), "toolhaft.json")
    as_yaml = loaded(tmp_path, yaml.safe_dump(data), "toolhaft.yml")

    assert as_json.keys == as_yaml.keys == toml.keys


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('mod = "yolo"', "toolhaft.toml:1: unknown key 'mod'. Did you mean 'mode'?"),
        ("\n\n[guardrail]\n", "toolhaft.toml:3: unknown key 'guardrail'. Did you mean 'guardrails'?"),
        ("\n[guardrail.x]\na = 1", "toolhaft.toml:2: unknown key 'guardrail'. Did you mean 'guardrails'?"),
        (
            "[guardrails]\nprotected_file = []",
            "toolhaft.toml:2: unknown key 'protected_file' in [guardrails]. Did you mean 'protected_files'?",
        ),
        (
            "[commands]\nallow_delete = true",
            "toolhaft.toml:2: unknown key 'allow_delete' in [commands]. Did you mean 'workspace.allow_delete'?",
        ),
        (
            "[workspace]\nxyzzy = 1",
            "toolhaft.toml:2: unknown key 'xyzzy' in [workspace]. "
            "There are: root, read_only, allow_delete, sensitive_files.",
        ),
        (
            "[[hooks.pre_tol_use]]\nname = 'x'",
            "toolhaft.toml:1: unknown key 'pre_tol_use' in [hooks]. Did you mean 'pre_tool_use'?",
        ),
        (
            "[[hooks.on_error]]\nname = 'x'\ncommand = 'x'\nasinc = true",
            "toolhaft.toml:4: unknown key 'asinc' in [hooks.on_error[0]]. Did you mean 'async'?",
        ),
        (
            "[[guardrails.code_rules]]\npattern='a'\nmessage='b'\n[[guardrails.code_rules]]\npattern='a'\nmessage='b'\n"
            "sevrity='warn'",
            "toolhaft.toml:7: unknown key 'sevrity' in [guardrails.code_rules[1]]. Did you mean 'severity'?",
        ),
        (
            "[[hooks.on_error]]\nname = 'x'",
            "toolhaft.toml:1: hooks.on_error[0].command: it is missing.",
        ),
        (
            'mode = "fast"',
            "toolhaft.toml:1: mode: it should be 'yolo', 'confirm-sensitive' or 'confirm-all' (got 'fast').",
        ),
        ('allowed_tools = "grep"', "toolhaft.toml:1: allowed_tools: a list is wanted (got 'grep')."),
        ("hooks = 4", "toolhaft.toml:1: hooks: a table of keys is wanted (got 4)."),
        (
            'guardrails.max_files_modified = "3"',
            "toolhaft.toml:1: guardrails.max_files_modified: it should be a valid integer (got '3').",
        ),
        (
            "guardrails = { require_test_after_edit = 1 }",
            "toolhaft.toml:1: guardrails.require_test_after_edit: it should be a valid boolean (got 1).",
        ),
        (
            "[commands]\ndefault_timeout = 601",
            "toolhaft.toml:2: commands.default_timeout: it should be less than or equal to 600 (got 601).",
        ),
        (
            "[commands]\nblocked_patterns = [\n'a',\n'(']",
            "toolhaft.toml:4: commands.blocked_patterns[1]: '(' is no regular expression: missing ), "
            "unterminated subpattern at position 0 (got '(').",
        ),
    ],
)
def test_a_mistake_names_file_line_and_key_and_what_may_stand_there(tmp_path: Path, text: str, told: str) -> None:
    assert mistake(tmp_path, text) == told


def test_every_mistake_is_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    told = mistake(tmp_path, "mod = 1\ntools = 3\n[guardrails]\nprotected = 1")

    assert [line.split(": ")[0] for line in told.splitlines()] == [
        "toolhaft.toml:1",
        "toolhaft.toml:2",
        "toolhaft.toml:2",
        "toolhaft.toml:4",
    ]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("c.yaml", "mode: yolo\nguardrails:\n  protect_files: []\n", "c.yaml:3: unknown key 'protect_files'"),
        ("c.json", '{\n"mode": "yolo",\n"guardrails": {"x":\n[]}}', "c.json:3: unknown key 'x' in [guardrails]"),
        ("c.yaml", "a: &x\n  b: *x\n", "c.yaml:1: unknown key 'a'"),
        ("c.toml", "[guardrails]\nblocked_commands = ['a', '(']", "c.toml:2: blocked_commands[1] cannot be"),
        ("c.toml", "[guardrails]\nprotected_files = ['*.{a,b}']", "c.toml:2: protected_files[0] cannot be"),
        (
            "c.toml",
            "[[hooks.session_start]]\nname='x'\ncommand='true'\non_hook_error='block'",
            "c.toml:1: the hook 'x' cannot be: on_hook_error='block' is only for pre hooks",
        ),
        (
            "c.toml",
            "[[hooks.pre_tool_use]]\nname='x'\ncommand='true'\nmatcher='*_file'",
            "c.toml:4: hooks.pre_tool_use[0].matcher: '*_file' is no regular expression",
        ),
        ("c.yaml", "mode: [", "c.yaml: it is not YAML"),
        ("c.yaml", "mode: yolo\nmode: confirm-all\n", "c.yaml: line 2: 'mode' is there already, on line 1"),
        ("c.json", '{"mode": "yolo",\n"mode": "yolo"}', "c.json: line 2: 'mode' is there already, on line 1"),
        ("c.json", "{", "c.json: Expecting property name"),
        ("c.json", "[" * 100_000, "c.json: "),
        ("c.json", "[1]", "c.json: it holds a list, and a table of keys is wanted"),
        ("c.toml", "mode =", "c.toml: Invalid value"),
        ("c.ini", "", "'c.ini' is no configuration file. Its name ends with .toml, .yaml, .yml, .json"),
    ],
)
def test_what_cannot_be_read_as_meant_is_an_error(tmp_path: Path, name: str, text: str, told: str) -> None:
    assert mistake(tmp_path, text, name).startswith(told)


def test_a_file_that_is_not_there_or_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"mode = '\xff'")

    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load_configuration(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match="bad.toml: 'utf-8' codec"):
        load_configuration(tmp_path / "bad.toml")


def test_yaml_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)

    assert "pip install 'toolhaft[yaml]'" in mistake(tmp_path, "mode: yolo", "c.yaml")


def test_lines_are_right_around_everything_that_toml_can_hold(tmp_path: Path) -> None:
    text = """\
# [guardrails]
"mode" = "yolo" # = "x"
workspace.root = '''
[guardrails]
a = 1'''
[commands] # more
safe_commands = [ # one
  "a # b", 'c',

  "d",
]
[guardrails]
code_rules = [
  { pattern = "a", message = "b" },
  { pattern = "a", message = "b", file_patterns = ["x",
     "y"] },
]
max_lines_changed = 1_000
'blocked_commands' = []
[[hooks.on_error]]
name = "x"
command = \"\"\"
a \\\"\"\" b\"\"\"
"""
    found = loaded(tmp_path, text)

    lines = {
        "workspace.root": found.source("workspace", "root"),
        "second command": found.source("commands", "safe_commands", 1),
        "third command": found.source("commands", "safe_commands", 2),
        "second rule": found.source("guardrails", "code_rules", 1),
        "second pattern": found.source("guardrails", "code_rules", 1, "file_patterns", 1),
        "limit": found.source("guardrails", "max_lines_changed"),
        "quoted": found.source("guardrails", "blocked_commands"),
        "hook": found.source("hooks", "on_error", 0, "command"),
        "not written": found.source("guardrails", "sensitive_files"),
    }

    assert [int(line.removeprefix("toolhaft.toml:")) for line in lines.values()] == [3, 8, 10, 15, 16, 18, 19, 22, 12]


def test_a_table_below_an_entry_of_a_list_belongs_to_that_entry(tmp_path: Path) -> None:
    text = "[[hooks.on_error]]\nname='a'\ncommand='b'\n[[hooks.on_error]]\nname='a'\n[hooks.on_error.command]\nx=1\n"

    assert mistake(tmp_path, text).startswith("toolhaft.toml:6: hooks.on_error[1].command: it should be a valid string")
