"""What a model gets from `grep`: the lines, what was cut, and what was not searched."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models.test import TestModel

from tests import BUSY_TIMES
from tests.path_cases import Row, Tree, build, rows
from tests.tools.test_read_cases import content
from toolhaft import FileOperationError, LocalWorkspace, ToolText, use_workspace
from toolhaft.tools import grep, read_file
from toolhaft.workspace import search

CASES = Path(__file__).parents[1] / "cases"
IGNORED = [json.loads(line) for line in (CASES / "gitignore.jsonl").read_text(encoding="utf-8").splitlines()]
READS = [json.loads(line) for line in (CASES / "reads.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(params=["ripgrep", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both engines: without any `rg` the Python one answers."""
    if request.param == "python":
        without_ripgrep(monkeypatch)
    return request.param


def without_ripgrep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ripgrep_binary", lambda: None)


@pytest.fixture(autouse=True)
def _in_project(project: Path) -> Iterator[None]:
    with use_workspace(project):
        yield


async def found(*args: Any, **kwargs: Any) -> ToolText:
    """Return an answer, whose facts must be JSON and whose text must be Unicode."""
    answer = await grep(*args, **kwargs)
    assert isinstance(answer, ToolText)
    answer.encode()
    json.dumps(answer.facts).encode()
    return answer


async def test_matches_stand_under_their_file_with_the_line_numbers_of_read_file(engine: str) -> None:
    answer = await found("add", "src")

    assert answer == (
        "src/add.py\n1: def add(a, b):\n\nsrc/main.py\n1: from add import add\n3: print(add(1, 2))\n\n"
        "3 matching lines in 2 files."
    )
    assert "3\tprint(add(1, 2))" in await read_file("src/main.py")
    assert answer.facts == {
        "output_mode": "content",
        "files": [
            {"path": "src/add.py", "count": 1, "matches": ["1:def add(a, b):"]},
            {"path": "src/main.py", "count": 2, "matches": ["1:from add import add", "3:print(add(1, 2))"]},
        ],
        "shown": 3,
        "total": 3,
        "total_files": 2,
        "total_is_exact": True,
        "truncated": False,
        "not_searched": {},
    }


async def test_a_pattern_is_plain_text_unless_it_is_said_to_be_a_regular_expression(engine: str) -> None:
    assert (await found("add(1, 2)")).facts["total"] == 1
    assert (await found(r"add\(\d", use_regex=True)).facts["total"] == 1
    assert (await found("ADD(", case_sensitive=False)).facts["total"] == 2


async def test_a_search_may_be_in_one_folder_or_one_file_and_only_in_some_files(project: Path, engine: str) -> None:
    (project / "src" / "b.js").write_text("add\n")

    assert (await found("add", "src")).facts["total_files"] == 3
    assert (await found("add", f"{project}/src/main.py")).facts["total"] == 2
    assert (await found("adds", recursive=False)).facts["total"] == 1
    assert (await found("add", recursive=False)).facts["total_files"] == 1
    for pattern, files in {"*.py": 2, "*.py,*.js": 3, "src/**/{main,b}.*": 2, "main.py": 1}.items():
        assert (await found("add", file_pattern=pattern)).facts["total_files"] == files


async def test_lines_around_a_match_are_shown(engine: str) -> None:
    answer = await found("import", context_lines=2)

    assert answer.startswith("src/main.py\n1: from add import add\n2- \n3- print(add(1, 2))\n\n")


@pytest.mark.parametrize(
    ("mode", "body"), [("files", "src/add.py\nsrc/main.py"), ("count", "src/add.py: 1\nsrc/main.py: 2")]
)
async def test_files_or_counts_may_be_asked_for(mode: Any, body: str, engine: str) -> None:
    assert (await found("add", "src", output_mode=mode)).partition("\n\n")[0] == body


async def test_what_was_cut_is_told_with_the_way_to_get_it(project: Path, engine: str) -> None:
    for number in range(31):
        (project / f"f{number:02}.txt").write_text("x needle\n" * (17 if number else 14))

    answer = await found("needle", max_results=50)

    assert answer.facts["shown"] == 50
    assert answer.facts["truncated"] is True
    assert "Shown 50 of 524 matching lines in 31 files; narrow the pattern" in answer
    assert (await found("needle", max_results=524)).facts["truncated"] is False


async def test_what_was_not_searched_is_counted_with_an_example(project: Path, engine: str) -> None:
    (project / ".gitignore").write_text("build/\n")
    (project / "build").mkdir()
    (project / ".env").write_text("add")
    (project / "key.pem").write_text("add")
    (project / "a.bin").write_bytes(b"add\0")
    (project / "out").symlink_to("/etc")
    os.mkfifo(project / "pipe")

    answer = await found("add", "src/..")

    assert answer.facts["not_searched"] == {
        "ignored": {"count": 1, "example": "build/"},
        "hidden": {"count": 2, "example": ".env"},
        "sensitive": {"count": 1, "example": "key.pem"},
        "binary": {"count": 1, "example": "a.bin"},
        "linked_out": {"count": 1, "example": "out"},
        "not_a_file": {"count": 1, "example": "pipe"},
    }
    assert "Not searched: 1 ignored (include_ignored=True searches them), such as build/; 2 hidden" in answer


async def test_sensitive_files_are_searched_only_where_the_workspace_allows_it(project: Path, engine: str) -> None:
    (project / ".env").write_text("TOKEN=1\n")
    (project / "notes.txt").symlink_to(".env")

    kept = await found("TOKEN", include_hidden=True)
    with use_workspace(LocalWorkspace(project, sensitive_files=())):
        shown = await found("TOKEN", include_hidden=True)

    assert "TOKEN=1" not in kept
    assert kept.facts["not_searched"]["sensitive"]["count"] == 1
    assert ".env\n1: TOKEN=1" in shown


async def test_ignored_and_hidden_files_are_searched_when_asked_for_or_named(project: Path, engine: str) -> None:
    (project / ".gitignore").write_text("*.log\n")
    (project / "a.log").write_text("needle\n")
    (project / ".hidden").write_text("needle\n")

    assert (await found("needle")).facts["total"] == 0
    assert (await found("needle", "a.log")).facts["total"] == 1
    assert (await found("needle", ".hidden")).facts["total"] == 1
    assert (await found("needle", include_ignored=True)).facts["total"] == 1
    assert (await found("needle", include_hidden=True)).facts["total"] == 1


@pytest.mark.parametrize("row", [row for row in IGNORED if not row["is_dir"]], ids=lambda row: row["id"])
async def test_every_ignore_case_holds(row: dict[str, Any], project: Path, engine: str) -> None:
    files = {row["path"]: "needle\n"}
    files |= {path: "x" for path in row["extra_tree"] if not path.startswith(row["path"] + "/")} | row["ignore_files"]
    if row["info_exclude"] is not None:
        files[".git/info/exclude"] = row["info_exclude"]
    for path, text in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(text.encode())
    needle = files[row["path"]].splitlines()[0] or "needle"

    answer = await found(needle, include_hidden=True, output_mode="files", max_results=1000)

    assert (row["path"] in [file["path"] for file in answer.facts["files"]]) == (not row["ignored"])


@pytest.mark.parametrize("row", rows("grep"), ids=lambda row: row.id)
async def test_every_path_case_ends_as_it_must(row: Row, tmp_path: Path, engine: str) -> None:
    tree: Tree = build(row, tmp_path)
    start = time.perf_counter()

    with use_workspace(tree.root):
        answer = await found("needle", tree.fill(row.path))

    assert answer.facts["total"] == 1
    assert "TOP-SECRET" not in answer
    assert time.perf_counter() - start < 5 * BUSY_TIMES


@pytest.mark.parametrize("row", [row for row in READS if "grep" in row["recipe"]], ids=lambda row: row["name"])
@pytest.mark.parametrize("path", [".", "file"])
async def test_every_read_case_about_searching_ends_as_it_should(
    row: dict[str, Any], path: str, project: Path, engine: str
) -> None:
    (project / "file").write_bytes(content(row["recipe"]["python_bytes"]))
    start = time.perf_counter()

    try:
        await found(row["recipe"]["grep"], path, use_regex=True)
        outcome = "ok"
    except ModelRetry:
        outcome = "refused"

    assert outcome in row["accept"]
    assert time.perf_counter() - start < row["limits"]["seconds"] * BUSY_TIMES


@pytest.mark.parametrize("name", ["sep-vertical-tab", "sep-u2029", "sep-nel-u0085", "sep-fs-gs-rs"])
async def test_lines_are_those_of_read_file_whatever_separates_them(name: str, project: Path, engine: str) -> None:
    recipe = next(row["recipe"] for row in READS if row["name"] == name)
    (project / "file").write_bytes(content(recipe["python_bytes"]))

    assert "2: TARGET" in await found("TARGET")
    assert "2\tTARGET" in await read_file("file")


@pytest.mark.parametrize(
    ("pattern", "shows"),
    [("a(b", "     ^"), ("(foo)\\1", "backreference"), ("a(?=b)", "look-around"), ("", "empty"), ("a\nb", "line end")],
)
async def test_a_pattern_that_is_not_understood_is_for_the_model_to_mend(pattern: str, shows: str, engine: str) -> None:
    with pytest.raises(ModelRetry, match=r"(?s).*") as refused:
        await grep(pattern, use_regex=True)

    assert shows in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": "nowhere"},
        {"path": "README.md/x"},
        {"file_pattern": "../*"},
        {"file_pattern": "/etc/*"},
        {"file_pattern": "{a"},
        {"max_results": 0},
        {"max_results": 10_001},
        {"context_lines": -1},
    ],
)
async def test_other_arguments_that_cannot_be_right_are_too(wrong: dict[str, Any], engine: str) -> None:
    with pytest.raises(ModelRetry):
        await grep("add", **wrong)


@pytest.mark.parametrize("path", ["..", "/etc", "src/../..", "out", "out/passwd"])
async def test_nothing_outside_is_searched(path: str, project: Path, engine: str) -> None:
    (project / "out").symlink_to("/etc")

    with pytest.raises((FileOperationError, ModelRetry)):
        await grep("root", path)


@pytest.mark.parametrize("text", ["-e", "--files", "--pre=touch", "-"])
async def test_what_begins_with_a_dash_is_no_option(text: str, project: Path, engine: str) -> None:
    (project / text).write_text(f"{text}\n")

    assert (await found(text, text)).facts["files"][0]["path"] == text
    assert (await found(text, file_pattern=text)).facts["total"] == 1


async def test_a_users_configuration_of_ripgrep_changes_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rc").write_text("--invert-match\n--hidden\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))

    assert (await found("adds")).facts["total"] == 1


async def test_names_that_are_not_text_of_one_line_are_shown_escaped(project: Path, engine: str) -> None:
    (project / "two\nlines").write_text("needle\n")
    with open(os.fsencode(project) + b"/caf\xe9", "wb") as file:
        file.write(b"needle\n")

    answer = await found("needle")

    assert answer.startswith("caf\\udce9\n1: needle\n\ntwo\\nlines\n1: needle\n")


async def test_a_catastrophic_pattern_is_answered_in_time(project: Path, engine: str) -> None:
    (project / "a").write_bytes(b"a" * 50_000 + b"!\n")
    start = time.perf_counter()

    assert (await found("(a+)+$", use_regex=True)).facts["total"] == 0
    assert (await found("(a|aa)+b", use_regex=True)).facts["total"] == 0

    assert time.perf_counter() - start < 5 * BUSY_TIMES


async def test_cancelling_a_run_of_an_agent_ends_ripgrep(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = project / "started"
    slow = project.parent / "rg"
    slow.write_text(
        f"#!{sys.executable}\nimport os, time\nopen({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    slow.chmod(0o755)
    monkeypatch.setattr(search, "ripgrep_binary", lambda: str(slow))
    agent = Agent(TestModel(custom_output_args=None), tools=[grep])

    run = asyncio.create_task(agent.run("search"))
    while not (started.exists() and started.read_text()):
        await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


async def test_a_ripgrep_that_fails_is_no_mistake_of_the_model(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ripgrep_binary", lambda: "/bin/false")
    # `false` ends with status 1, which is how ripgrep says that there is no match.
    assert (await found("add")).facts["total"] == 0

    broken = project.parent / "rg"
    broken.write_text("#!/bin/sh\necho rg: out of order >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(search, "ripgrep_binary", lambda: str(broken))
    with pytest.raises(ToolFailed, match="out of order"):
        await grep("add")


def test_ripgrep_comes_with_its_wheel() -> None:
    binary = search.ripgrep_binary()

    assert binary is not None
    assert os.access(binary, os.X_OK)
