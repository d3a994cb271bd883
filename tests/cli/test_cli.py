"""The command line, as another program meets it: a process, its output, its exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def toolhaft(*args: str, stdin: str | bytes = b"", **options) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "toolhaft.cli", *args],
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_list_prints_names_one_a_line() -> None:
    done = toolhaft("list")

    assert done.returncode == 0
    assert {"list_dir", "read_file", "submit", "write_file"} <= set(done.stdout.split())


def test_list_takes_a_group_and_refuses_an_unknown_one() -> None:
    files, unknown = toolhaft("list", "--group", "files"), toolhaft("list", "--group", "flies")

    assert "read_file" in files.stdout.split()
    assert "submit" not in files.stdout.split()
    assert unknown.returncode == 2
    assert "files" in unknown.stderr


def test_list_shows_that_every_tool_has_its_prompt() -> None:
    done = toolhaft("list", "--prompts")

    assert done.returncode == 0
    for line in done.stdout.splitlines():
        name, file = line.split("\t")
        assert Path(file).name == f"{name}_prompt.xml"


def test_show_prints_what_a_model_reads() -> None:
    done = toolhaft("show", "write_file")

    assert "Write a whole text file." in done.stdout
    assert 'mode (default "create")' in done.stdout


def test_show_prints_the_schema() -> None:
    done = toolhaft("show", "write_file", "--schema")

    function = json.loads(done.stdout)["function"]
    assert function["name"] == "write_file"
    assert function["parameters"]["properties"]["mode"]["enum"] == ["create", "overwrite", "append"]


def test_show_of_an_unknown_tool_names_the_near_ones() -> None:
    done = toolhaft("show", "read_fiel")

    assert done.returncode == 2
    assert "read_file" in done.stderr


def test_call_prints_the_answer(project: Path) -> None:
    done = toolhaft("call", "read_file", '{"filepath": "README.md"}', "--workspace", str(project))

    assert done.returncode == 0
    assert "It adds numbers." in done.stdout


def test_call_prints_one_json_object(project: Path) -> None:
    done = toolhaft("call", "read_file", '{"filepath": "README.md"}', "--workspace", str(project), "--json")

    result = json.loads(done.stdout)
    assert list(result) == [
        "tool_name",
        "success",
        "output",
        "error",
        "metadata",
        "truncated",
        "diff",
        "exit_code",
    ]
    assert result["success"]


def test_call_acts_in_the_current_folder(project: Path) -> None:
    done = toolhaft("call", "read_file", '{"filepath": "README.md"}', cwd=project)

    assert done.returncode == 0


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (["read_file", '{"filepath": "no.txt"}'], 1, "no.txt"),
        (["read_file", "{not json"], 2, "Invalid arguments"),
        (["read_file", "{}"], 1, "filepath"),
        (["reed_file", "{}"], 2, "read_file"),
        (["read_file", "{}", "--workspace", "/no/such/folder"], 2, "/no/such/folder"),
        ([], 2, "--stdin"),
    ],
)
def test_a_call_that_fails_says_why_and_exits_with_its_status(
    project: Path, args: list[str], status: int, says: str
) -> None:
    done = toolhaft("call", *args, cwd=project)

    assert done.returncode == status
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_lines_are_answered_in_order_whatever_they_hold(project: Path) -> None:
    lines = [
        json.dumps({"tool": "read_file", "args": {"filepath": "README.md"}, "workspace": str(project)}),
        "{broken",
        json.dumps({"tool": "nope", "args": {}}),
        json.dumps(["a", "list"]),
        json.dumps({"tool": "read_file", "args": {"filepath": "../x"}, "workspace": str(project)}),
        json.dumps({"tool": "read_file", "args": 7, "workspace": str(project)}),
        json.dumps({"tool": "read_file", "args": {}, "workspace": "/no/such/folder"}),
        "",
        json.dumps({"tool": "list_dir", "workspace": str(project)}),
    ]

    done = toolhaft("call", "--stdin", stdin=("\n".join(lines) + "\n").encode() + b"\xff\xfe\n" + b"[" * 100_000)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [answer["success"] for answer in answers] == [
        True,
        False,
        False,
        False,
        False,
        False,
        False,
        True,
        False,
        False,
    ]
    assert "Traceback" not in done.stderr


def test_without_a_command_it_tells_what_there_is() -> None:
    done = toolhaft()

    assert "demo" in done.stdout + done.stderr


def test_without_typer_it_tells_what_to_install(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "import toolhaft.cli\n"
        "toolhaft.cli.find_spec = lambda name: None if name == 'typer' else find(name)\n"
        "toolhaft.cli.main()\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "pip install 'toolhaft[cli]'" in done.stderr


def test_the_demo_does_the_job_on_a_copy_and_its_counts_are_true(project: Path) -> None:
    before = sorted(path.relative_to(project) for path in project.rglob("*"))

    done = toolhaft("demo", str(project))

    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("list_dir", "read_file", "write_file", "submit"):
        assert name in done.stdout
    assert "| src/add.py | 2 | 1 |" in done.stdout
    assert "Checked: the counts of all 2 files are true." in done.stdout
    assert sorted(path.relative_to(project) for path in project.rglob("*")) == before


def test_a_change_is_previewed_made_and_taken_back(project: Path) -> None:
    args = json.dumps({"filepath": "README.md", "old_str": "adds", "new_str": "sums"})
    before = (project / "README.md").read_text()

    preview = toolhaft("call", "edit_file", args, "--preview", cwd=project)
    assert (project / "README.md").read_text() == before
    done = toolhaft("call", "edit_file", args, "--json", cwd=project)
    undone = toolhaft("undo", json.loads(done.stdout)["metadata"]["change_id"], cwd=project)

    assert preview.stdout.startswith("Preview, nothing has changed yet.")
    assert json.loads(done.stdout)["diff"][0]["unified"] in preview.stdout
    assert undone.returncode == 0, undone.stderr
    assert (project / "README.md").read_text() == before


def test_files_are_deleted_only_where_the_option_says_so(project: Path) -> None:
    args = json.dumps({"path": "README.md"})

    refused = toolhaft("call", "delete_file", args, cwd=project)
    allowed = toolhaft("call", "delete_file", args, "--allow-delete", cwd=project)

    assert refused.returncode == 1
    assert "allow_delete" in refused.stderr
    assert allowed.returncode == 0
    assert not (project / "README.md").exists()


def test_the_demo_repairs_a_fault_in_a_copy_of_this_project() -> None:
    done = toolhaft("demo")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "One function of the copy is broken: [0, 0, 1, 1]" in done.stdout
    assert "-    return text.count(" in done.stdout
    assert "The function now: [0, 1, 1, 2]" in done.stdout


def test_a_line_with_half_a_character_is_answered_and_the_next_one_too(project: Path) -> None:
    lines = ['{"tool": "submit", "args": {"summary": "\\ud800"}}', '{"tool": "\\ud800"}', '{"tool": "list_dir"}']

    done = toolhaft("call", "--stdin", stdin="\n".join(lines), cwd=project)

    assert [json.loads(line)["success"] for line in done.stdout.splitlines()] == [True, False, True], done.stderr


def test_a_demo_of_no_folder_says_so(tmp_path: Path) -> None:
    done = toolhaft("demo", str(tmp_path / "nowhere"))

    assert done.returncode == 2
    assert "is not a folder" in done.stdout + done.stderr
