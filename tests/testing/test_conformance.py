"""The conformance suite passes good packages, and tells one clear problem for each fault of a bad one."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from pydantic_ai import BinaryContent, RunContext, ToolReturn
from pydantic_core import core_schema

from toolhaft.decorators import base_tool, file_tool
from toolhaft.discovery import ToolLoadError, discover_entry_points, discover_package
from toolhaft.spec import ToolText, tool_spec
from toolhaft.testing import Problem, ToolConformance, package_problems, problems

EXAMPLES = Path(__file__).parents[1] / "examples"

FAULTS = {
    "answers_anything": ("returns", "is not annotated. Write `-> str`"),
    "answers_data": ("returns", r"it returns dict\[str, int\]"),
    "blocks": ("async", "it is not async"),
    "curt": ("described", "'Says it.' is too short"),
    "disagrees": ("loads", "message"),
    "has_a_stray": ("decorated", "it is not decorated"),
    "file_name": ("named", "'other_name', .* and its file 'file_name.py' differ"),
    "lacks_a_dependency": ("loads", "No module named 'no_such_module'"),
    "late_filepath": ("filepath", "is not the first"),
    "leaves": ("loads", "SystemExit: 3"),
    "makes_tools": ("module", "not inside a factory"),
    "no_prompt": ("prompt", "Write prompts/no_prompt_prompt.xml"),
    "not_async": ("loads", "async"),
    "path_filepath": ("filepath", "Write `filepath: str`"),
    "takes_a_function": ("loads", "which has no JSON schema"),
    "undecorated": ("decorated", "Put @base_tool or @file_tool on it"),
    "undescribed": ("parameters", "'text' has no description"),
}
"""The fault of each file of the bad package: its rule, and what is said."""

TOLD_AS = {"has_a_stray": "stray", "file_name": "other_name"}
"""The names of functions that are told under another name than that of their file."""


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example packages on the import path, for one test."""
    monkeypatch.syspath_prepend(EXAMPLES / "good")
    monkeypatch.syspath_prepend(EXAMPLES / "bad")
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("acme_tools", "bad_tools")]:
        del sys.modules[name]


@pytest.mark.usefixtures("examples")
class TestPackages:
    def test_a_good_package_has_no_problems(self) -> None:
        assert package_problems("acme_tools") == []

    @pytest.mark.parametrize("file", FAULTS)
    def test_each_fault_is_one_clear_problem(self, file: str) -> None:
        rule, said = FAULTS[file]

        found = [one for one in package_problems("bad_tools") if one.tool == TOLD_AS.get(file, file)]

        assert [one.rule for one in found] == [rule], [str(one) for one in found]
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(found[0].message)

    def test_every_file_of_the_bad_package_has_its_fault_and_no_other(self) -> None:
        assert set(discover_package("bad_tools").names) == set(FAULTS)
        assert sorted(one.tool for one in package_problems("bad_tools")) == sorted(
            TOLD_AS.get(file, file) for file in FAULTS
        )

    def test_a_package_that_is_not_there_is_an_error(self) -> None:
        with pytest.raises(ToolLoadError, match="no_such_package"):
            package_problems("no_such_package")

    async def test_the_good_package_works_as_its_entry_point_says(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = (EXAMPLES / "good" / "pyproject.toml").read_text()
        assert '[project.entry-points."toolhaft.tools"]\nacme = "acme_tools"' in project
        info = tmp_path / "acme_tools-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[toolhaft.tools]\nacme = acme_tools\n")
        monkeypatch.syspath_prepend(tmp_path)

        shout = discover_entry_points().load("shout")

        assert await shout("hello") == "HELLO!"
        assert tool_spec(shout).description == "Say a text in capitals. Use it for what must not be overheard."


PROMPT = (
    "<tool_prompt><description>Say the text again, as it was given.</description><parameters>"
    '<parameter name="{name}"><description>What to say.</description></parameter></parameters></tool_prompt>'
)


def told(tool: Any, rule: str) -> str:
    """What is said of a tool under a rule."""
    return " ".join(problem.message for problem in problems(tool) if problem.rule == rule)


def rules(tool: Any) -> list[str]:
    """The rules that a tool breaks, but for the two that no tool inside a test can keep."""
    return [problem.rule for problem in problems(tool) if problem.rule not in ("named", "prompt")]


class TestProblems:
    @pytest.mark.parametrize(
        "result",
        [
            str,
            "str",
            ToolText,
            Literal["yes", "no"],
            list[str],
            list[str | BinaryContent],
            str | list[str | BinaryContent],
            BinaryContent,
            Annotated[str, Field(description="what was said")],
            ToolReturn[str],
        ],
    )
    def test_a_result_that_a_model_can_read_is_right(self, result: Any) -> None:
        async def tool(text: str) -> Any: ...

        tool.__annotations__["return"] = result

        assert rules(base_tool(tool)) == []

    @pytest.mark.parametrize(
        "result", [dict[str, int], Any, None, int, str | None, Literal[1, 2], list[dict[str, str]], "dict[str, str]"]
    )
    def test_a_result_that_is_data_is_a_problem(self, result: Any) -> None:
        async def tool(text: str) -> Any: ...

        tool.__annotations__["return"] = result

        assert rules(base_tool(tool)) == ["returns"]

    def test_filepath_may_stand_after_the_context_and_may_be_optional_elsewhere(self) -> None:
        @file_tool
        async def reads(ctx: RunContext[None], filepath: "str") -> str:
            """Say the path again, as it was given."""
            return filepath

        @base_tool
        async def patches(patch: str, filepath: str | None = None) -> str:
            """Apply a patch, to one file or to many."""
            return patch

        assert rules(reads) == []
        assert rules(patches) == []

    def test_filepath_is_text_also_with_something_said_about_it(self) -> None:
        @base_tool
        async def reads(filepath: Annotated[str, Field(description="where it is")]) -> str:
            """Say the path again, as it was given."""
            return filepath

        assert rules(reads) == []

    def test_a_prompt_that_was_edited_after_the_tool_was_decorated_is_read_anew(self, tmp_path: Path) -> None:
        file = tmp_path / "echo_prompt.xml"
        file.write_text(PROMPT.format(name="text"))

        @base_tool(prompt=file)
        async def echo(text: str) -> str:
            return text

        assert [one for one in problems(echo) if one.rule == "prompt"] == []

        file.write_text(PROMPT.format(name="message"))
        assert f"{file} describes a parameter 'message'" in told(echo, "prompt")

        file.unlink()
        assert "cannot be read" in told(echo, "prompt")

    def test_a_prompt_of_another_name_is_a_problem(self, tmp_path: Path) -> None:
        file = tmp_path / "other_prompt.xml"
        file.write_text(PROMPT.format(name="text"))

        @base_tool(prompt=file)
        async def echo(text: str) -> str:
            return text

        assert "its prompt is 'other_prompt.xml'. Name the file 'echo_prompt.xml'." in told(echo, "named")

    def test_a_type_that_loses_its_schema_is_one_problem(self, tmp_path: Path) -> None:
        class Fickle:
            asked_before = False

            @classmethod
            def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
                if cls.asked_before:
                    raise ValueError("it changed\n its mind.")
                return core_schema.str_schema()

        file = tmp_path / "echo_prompt.xml"
        file.write_text(PROMPT.format(name="text"))

        @base_tool(prompt=file)
        async def echo(text: Fickle) -> str:
            return str(text)

        Fickle.asked_before = True

        assert "ValueError: it changed its mind. Use types that JSON has." in told(echo, "schema")
        assert told(echo, "parameters") == ""

    def test_a_tool_without_parameters_is_right(self) -> None:
        @base_tool
        async def now() -> str:
            """Tell the time, as the clock on the wall does."""
            return "noon"

        assert rules(now) == []

    def test_a_wrapped_tool_is_a_problem(self) -> None:
        import functools

        @base_tool
        async def inner(text: str) -> str:
            """Say the text again, as it was given."""
            return text

        @functools.wraps(inner)
        async def outer(*args: Any) -> str:
            return await inner(*args)

        assert [problem.rule for problem in problems(outer)] == ["decorated"]
        assert "outermost" in problems(outer)[0].message

    def test_a_problem_reads_as_one_line(self) -> None:
        assert (
            str(Problem(tool="grep", rule="prompt", message="it has no prompt.")) == "grep: it has no prompt. [prompt]"
        )


def conformance_of(package: str, **members: Any) -> Any:
    """The suite as a subclass over `package`, with these members, ready to be called."""
    return type("TestTools", (ToolConformance,), {"package": package, **members})


def names_of_tests() -> list[str]:
    return [name for name in dir(ToolConformance) if name.startswith("test_")]


@pytest.mark.usefixtures("examples")
class TestTheClass:
    def test_a_good_package_passes_every_test(self) -> None:
        suite = conformance_of("acme_tools")()

        for name in names_of_tests():
            getattr(suite, name)()

    def test_each_broken_rule_fails_its_own_test(self) -> None:
        suite = conformance_of("bad_tools")()
        failed = set[str]()

        for name in names_of_tests():
            try:
                getattr(suite, name)()
            except AssertionError as error:
                failed.update(line.rpartition("[")[2].rstrip("]") for line in str(error).split("\n") if line)

        assert failed == {rule for rule, _ in FAULTS.values()}

    def test_a_package_without_tools_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "bare_tools").mkdir()
        (tmp_path / "bare_tools" / "__init__.py").touch()
        importlib.invalidate_caches()

        with pytest.raises(AssertionError, match="'bare_tools' has no public module"):
            conformance_of("bare_tools")().test_the_package_has_tools()

    @pytest.mark.parametrize("change", [lambda self: None, None], ids=["overridden", "removed"])
    def test_a_test_cannot_be_changed(self, change: Any) -> None:
        with pytest.raises(TypeError, match="TestTools changes test_every_tool_is_async"):
            conformance_of("acme_tools", test_every_tool_is_async=change)

    def test_a_test_can_be_excused_with_a_reason(self) -> None:
        def excused(self: Any) -> None: ...

        assert conformance_of("acme_tools", test_every_tool_is_async=pytest.mark.xfail(reason="a known one")(excused))
        with pytest.raises(TypeError, match="test_every_tool_is_async"):
            conformance_of("acme_tools", test_every_tool_is_async=pytest.mark.xfail(lambda self: None))

    def test_every_test_says_what_to_do_when_it_fails(self) -> None:
        for name in names_of_tests():
            assert getattr(ToolConformance, name).__doc__.startswith("If this fails, "), name
