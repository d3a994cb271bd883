"""Tools are found by name without being imported, and a tool's name means its function."""

import importlib
import pickle
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from unittest import mock

import pytest

from tests import BUSY_TIMES
from toolhaft.discovery import (
    BUILT_IN,
    ToolLoadError,
    discover_directory,
    discover_entry_points,
    discover_package,
    lazy_tools,
)
from toolhaft.spec import tool_spec

LAZY = "from toolhaft.discovery import lazy_tools\nlazy_tools(__name__)\n"

GREP = 'WIDTH = 80\n\nasync def grep(pattern: str) -> str:\n    """Search."""\n    return f"{pattern} {WIDTH}"\n'

DECORATED = """
from toolhaft.decorators import base_tool

@base_tool
async def {name}(text: str) -> str:
    \"\"\"Say the text again, as it was given.\"\"\"
    return text
"""

MakePackage = Callable[..., str]


@pytest.fixture
def make_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePackage]:
    """Write a package of tools on the import path: its name, then its files by stem. Forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def make(name: str, init: str = LAZY, **files: str) -> str:
        folder = tmp_path.joinpath(*name.split("."))
        folder.mkdir(parents=True)
        for stem, text in {"__init__": init, **files}.items():
            (folder / f"{stem}.py").write_text(text)
        importlib.invalidate_caches()
        return name

    yield make
    for module in set(sys.modules) - before:
        del sys.modules[module]


def fresh(code: str, path: Path) -> str:
    """What a fresh Python prints that runs `code` with `path` on its import path."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class TestLazyTools:
    def test_its_names_are_the_public_modules_and_none_is_imported(self, make_package: MakePackage) -> None:
        make_package("lazy_a", grep=GREP, glob="import no_such_module", _shared="import no_such_module")

        package = importlib.import_module("lazy_a")

        assert package.__all__ == ["glob", "grep"]
        assert {"glob", "grep"} <= set(dir(package))
        assert "_shared" not in dir(package)
        assert not [name for name in sys.modules if name.startswith("lazy_a.")]

    def test_an_attribute_is_the_function(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("lazy_b", grep=GREP))

        assert isinstance(package.grep, FunctionType)
        assert package.grep.__module__ == "lazy_b.grep"

    def test_another_name_is_a_missing_attribute_and_imports_nothing(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("lazy_c", grep=GREP))

        assert not hasattr(package, "grepp")
        with pytest.raises(AttributeError, match="module 'lazy_c' has no attribute 'grepp'"):
            _ = package.grepp
        assert "lazy_c.grep" not in sys.modules

    def test_a_sub_package_and_a_folder_of_prompts_are_no_tools(
        self, make_package: MakePackage, tmp_path: Path
    ) -> None:
        make_package("lazy_d.web", init="", fetch=GREP)
        (tmp_path / "lazy_d" / "__init__.py").write_text(LAZY)
        (tmp_path / "lazy_d" / "prompts").mkdir()

        assert importlib.import_module("lazy_d").__all__ == []
        assert discover_package("lazy_d.web").names == ("fetch",)

    def test_it_works_from_a_zip_file(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "tools.zip", "w") as archive:
            archive.writestr("zipped/__init__.py", LAZY)
            archive.writestr("zipped/grep.py", GREP)

        printed = fresh("import zipped; print(zipped.__all__, zipped.grep.__name__)", tmp_path / "tools.zip")

        assert printed == "['grep'] grep"

    def test_only_a_package_can_be_lazy(self) -> None:
        with pytest.raises(TypeError, match=r"__init__\.py"):
            lazy_tools(__name__)


class TestAFailingImport:
    """It tells its true cause, and never looks like a missing attribute."""

    def test_a_missing_dependency_is_named(self, make_package: MakePackage) -> None:
        package = importlib.import_module(
            make_package("fail_a", grep="import no_such_module", user="from fail_a import grep")
        )

        with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
            hasattr(package, "grep")
        with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
            importlib.import_module("fail_a.user")

    @pytest.mark.parametrize(
        ("code", "cause"),
        [
            ("import os; os.no_such_name", "AttributeError: module 'os' has no attribute 'no_such_name'"),
            ("raise SystemExit(3)", "SystemExit: 3"),
        ],
    )
    def test_what_would_hide_it_or_end_the_program_becomes_an_import_error(
        self, make_package: MakePackage, code: str, cause: str
    ) -> None:
        package = importlib.import_module(make_package("fail_b", grep=code))

        with pytest.raises(ImportError, match=f"importing 'fail_b.grep' failed: {cause}"):
            hasattr(package, "grep")

    @pytest.mark.parametrize("code", ["", "import json as grep", "async def grip(): ..."])
    def test_a_module_without_a_function_of_its_name_says_so(self, make_package: MakePackage, code: str) -> None:
        package = importlib.import_module(make_package("fail_c", grep=code))

        with pytest.raises(ImportError, match=r"'fail_c.grep' defines no 'grep'"):
            hasattr(package, "grep")

    def test_two_tools_that_import_each_other_are_told_it(self, make_package: MakePackage) -> None:
        make_package("fail_d", one="from fail_d import two\n", two="from fail_d import one\n")

        with pytest.raises(ImportError, match="circular import"):
            _ = importlib.import_module("fail_d").one


ORDERS = [
    "import pkg.grep",
    "import pkg.grep as m; assert m.__name__ == 'grep'",
    "from pkg import grep",
    "from pkg.grep import grep",
    "from pkg.grep import WIDTH",
    "import importlib; importlib.import_module('pkg.grep')",
    "import pkg.caller",
    "import pkg, pkg.grep, pkg.glob",
    "from pkg import glob; import pkg.grep",
    "from pkg import *",
    "import pkg, pkgutil; [pkgutil.resolve_name(f'pkg.{name}') for name in pkg.__all__]",
]


class TestTheFunctionWins:
    @pytest.mark.parametrize("first", ORDERS)
    def test_in_whatever_order_modules_are_imported(
        self, first: str, make_package: MakePackage, tmp_path: Path
    ) -> None:
        make_package(
            "pkg",
            grep=GREP,
            glob=GREP.replace("grep", "glob"),
            caller="from . import grep\nasync def caller() -> str:\n    return await grep('x')\n",
        )

        printed = fresh(
            f"{first}\nimport pkg, pkg.grep\nfrom pkg import grep\n"
            "print(type(grep).__name__, type(pkg.grep).__name__, type(sys.modules['pkg.grep']).__name__)",
            tmp_path,
        )

        assert printed == "function function module"

    def test_over_a_submodule_that_was_imported_before_the_package_became_lazy(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("win_a", init=f"from . import grep\n{LAZY}", grep=GREP))

        assert isinstance(package.grep, FunctionType)

    def test_in_sixteen_threads_at_once(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("win_b", grep=GREP))
        start = threading.Barrier(16)
        seen: list[object] = []

        def look() -> None:
            start.wait()
            seen.append(package.grep)

        threads = [threading.Thread(target=look) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(seen) == 16
        assert set(seen) == {package.grep}

    def test_and_it_pickles_by_reference(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("win_c", grep=GREP))

        assert pickle.loads(pickle.dumps(package.grep)) is package.grep

    def test_and_a_reloaded_module_gives_the_new_function(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("win_d", grep=GREP))
        old = package.grep

        importlib.reload(sys.modules["win_d.grep"])

        assert package.grep is not old
        assert package.grep is sys.modules["win_d.grep"].grep

    def test_and_a_reloaded_package_sees_a_new_file(self, make_package: MakePackage, tmp_path: Path) -> None:
        package = importlib.import_module(make_package("win_e", grep=GREP))
        (tmp_path / "win_e" / "glob.py").write_text(GREP.replace("grep", "glob"))
        importlib.invalidate_caches()

        importlib.reload(package)

        assert package.__all__ == ["glob", "grep"]
        assert isinstance(package.glob, FunctionType)

    async def test_and_a_name_in_its_module_can_be_patched(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("win_f", grep=GREP))

        with mock.patch("win_f.grep.WIDTH", 7):
            patched = await package.grep("x")

        assert patched == "x 7"
        assert await package.grep("x") == "x 80"

    def test_and_the_tool_itself_can_be_patched(self, make_package: MakePackage) -> None:
        package = importlib.import_module(make_package("win_g", grep=GREP))

        with mock.patch("win_g.grep") as stand_in:
            assert package.grep is stand_in

        assert isinstance(package.grep, FunctionType)


class TestDiscoverPackage:
    @pytest.mark.parametrize("init", [LAZY, ""], ids=["lazy", "plain"])
    def test_names_come_at_once_and_tools_on_demand(self, make_package: MakePackage, init: str) -> None:
        make_package("find_a", init=init, echo=DECORATED.format(name="echo"), broken="import no_such_module")

        source = discover_package("find_a")

        assert source.names == ("broken", "echo")
        assert not [name for name in sys.modules if name.startswith("find_a")]
        assert tool_spec(source.load("echo")).name == "echo"
        assert "find_a.broken" not in sys.modules

    def test_loading_all_gives_what_loads_and_the_causes_of_what_does_not(self, make_package: MakePackage) -> None:
        make_package(
            "find_b",
            echo=DECORATED.format(name="echo"),
            broken="import no_such_module",
            leaves="raise SystemExit",
            plain=GREP.replace("grep", "plain"),
            other=DECORATED.format(name="another") + "\nother = another\n",
        )

        tools, failures = discover_package("find_b").load_all()

        assert list(tools) == ["echo"]
        causes = {failure.name: str(failure) for failure in failures}
        assert "No module named 'no_such_module'" in causes["broken"]
        assert "SystemExit" in causes["leaves"]
        assert "is not decorated. Put @base_tool or @file_tool on it." in causes["plain"]
        assert "the tool's own name is 'another'" in causes["other"]
        assert all(failure.__cause__ for failure in failures)

    def test_an_unknown_tool_is_told_what_there_is(self, make_package: MakePackage) -> None:
        source = discover_package(make_package("find_c", grep=GREP, glob=GREP))

        with pytest.raises(ToolLoadError, match=r"no tool 'grepp' .* Found were: glob, grep\."):
            source.load("grepp")

    def test_a_package_that_is_not_there_is_an_error(self) -> None:
        with pytest.raises(ToolLoadError, match=r"no package 'no_such_package' .* installed"):
            discover_package("no_such_package")
        with pytest.raises(ToolLoadError, match="No module named 'no_such_package'"):
            discover_package("no_such_package.tools")

    def test_a_single_module_is_no_package(self) -> None:
        with pytest.raises(ToolLoadError, match=r"'pickle' .* it is a single module"):
            discover_package("pickle")

    def test_a_thousand_names_come_without_one_import(self, make_package: MakePackage) -> None:
        make_package("find_d", **{f"tool_{number:04}": "raise AssertionError" for number in range(1000)})

        before = time.perf_counter()
        source = discover_package("find_d")
        seconds = time.perf_counter() - before

        assert len(source.names) == 1000
        assert importlib.import_module("find_d").__all__ == list(source.names)
        assert not [name for name in sys.modules if name.startswith("find_d.")]
        assert seconds < 2 * BUSY_TIMES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project's folder of tools, with one good tool."""
    folder = tmp_path / "project" / ".toolhaft" / "tools"
    folder.mkdir(parents=True)
    (folder / "echo.py").write_text(DECORATED.format(name="echo"))
    return folder


class TestDiscoverDirectory:
    def test_it_runs_nothing_unless_the_folder_is_trusted(self, folder: Path) -> None:
        mark = folder / "ran"
        (folder / "marks.py").write_text(f"open({str(mark)!r}, 'w').close()")

        with pytest.raises(PermissionError, match=r"runs the code of its files.*trust=True"):
            discover_directory(folder)

        assert not mark.exists()

    async def test_a_trusted_folder_gives_its_tools(self, folder: Path) -> None:
        source = discover_directory(folder, trust=True)

        assert source.names == ("echo",)
        assert source.failures == ()
        assert await source.load("echo")("hello") == "hello"

    @pytest.mark.parametrize(
        ("code", "cause"),
        [
            ("def (", "SyntaxError: .*bad.py, line 1"),
            ("import sys; sys.exit(2)", "SystemExit: 2"),
            ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
            ("raise ValueError('why')", "ValueError: why"),
            ("x = 1", "defines no tool. Decorate its async function"),
            ("from toolhaft.tools import submit", "defines no tool"),
            ("async def bad(text: str) -> str: ...", "defines no tool"),
        ],
    )
    def test_a_file_that_fails_is_reported_and_the_rest_still_load(self, folder: Path, code: str, cause: str) -> None:
        (folder / "bad.py").write_text(code)

        source = discover_directory(folder, trust=True)

        assert source.names == ("echo",)
        [failure] = source.failures
        assert failure.name == "bad.py"
        assert str(folder / "bad.py") in str(failure)
        with pytest.raises(ToolLoadError, match=cause):
            raise failure
        assert not [name for name in sys.modules if name.endswith(".bad")]

    def test_a_repaired_file_loads_the_next_time(self, folder: Path) -> None:
        (folder / "late.py").write_text("def (")
        assert discover_directory(folder, trust=True).names == ("echo",)

        (folder / "late.py").write_text(DECORATED.format(name="late"))

        assert discover_directory(folder, trust=True).names == ("echo", "late")

    def test_one_stem_in_two_folders_is_two_tools(self, folder: Path, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        (other / "echo.py").write_text(DECORATED.format(name="echo"))

        first = discover_directory(folder, trust=True).load("echo")
        second = discover_directory(other, trust=True).load("echo")

        assert first is not second
        assert first.__module__ != second.__module__

    def test_a_built_in_name_is_refused_unless_asked_for(self, folder: Path) -> None:
        (folder / "mine.py").write_text(DECORATED.format(name="submit"))

        refused = discover_directory(folder, trust=True)
        allowed = discover_directory(folder, trust=True, allow_shadowing=True)

        assert refused.names == ("echo",)
        assert "'submit' of " in str(refused.failures[0])
        assert "allow_shadowing=True" in str(refused.failures[0])
        assert allowed.names == ("echo", "submit")

    def test_a_name_given_twice_in_a_folder_is_reported(self, folder: Path) -> None:
        (folder / "twice.py").write_text(DECORATED.format(name="echo"))

        source = discover_directory(folder, trust=True)

        assert source.names == ("echo",)
        assert "has a tool of this name already" in str(source.failures[0])

    def test_a_file_may_define_several_tools_and_give_them_other_names_too(self, folder: Path) -> None:
        both = DECORATED.format(name="one") + DECORATED.format(name="two") + "\nalias = one\n"
        (folder / "both.py").write_text(both)

        assert discover_directory(folder, trust=True).names == ("echo", "one", "two")

    async def test_files_with_an_underscore_are_helpers_of_the_others(self, folder: Path) -> None:
        (folder / "_shared.py").write_text("GREETING = 'hello from the helper'")
        (folder / "greet.py").write_text(
            "from ._shared import GREETING\n" + DECORATED.format(name="greet").replace("return text", "return GREETING")
        )

        source = discover_directory(folder, trust=True)

        assert source.failures == ()
        assert await source.load("greet")("") == "hello from the helper"

    def test_prompts_lie_beside_the_tools(self, folder: Path) -> None:
        (folder / "prompts").mkdir()
        (folder / "prompts" / "asked_prompt.xml").write_text(
            "<tool_prompt><description>From the folder's own prompt.</description><parameters>"
            '<parameter name="text" required="true"><description>Any text.</description><type>string</type></parameter>'
            "</parameters></tool_prompt>"
        )
        (folder / "asked.py").write_text(DECORATED.format(name="asked"))

        tool = discover_directory(folder, trust=True).load("asked")

        assert tool_spec(tool).description == "From the folder's own prompt."

    def test_a_tool_of_a_folder_pickles(self, folder: Path) -> None:
        tool = discover_directory(folder, trust=True).load("echo")

        assert pickle.loads(pickle.dumps(tool)) is tool

    def test_a_folder_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(NotADirectoryError, match=r"no folder '.*none'"):
            discover_directory(tmp_path / "none", trust=True)


def distribution(path: Path, entry_points: str) -> None:
    """Put a distribution that declares these entry points on the import path."""
    info = path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[toolhaft.tools]\n{entry_points}")


class TestDiscoverEntryPoints:
    def test_a_package_or_a_tool_can_be_declared_and_nothing_is_imported(
        self, make_package: MakePackage, tmp_path: Path
    ) -> None:
        make_package("acme_tools", echo=DECORATED.format(name="echo"))
        make_package("acme_more", init="", weather=DECORATED.format(name="weather"), rain="import no_such_module")
        distribution(tmp_path, "acme = acme_tools\nweather = acme_more.weather:weather\n")

        source = discover_entry_points()

        assert source.names == ("echo", "weather")
        assert not [name for name in sys.modules if name.startswith("acme_")]
        assert tool_spec(source.load("weather")).name == "weather"

    def test_a_broken_one_is_reported_and_the_rest_stay(self, make_package: MakePackage, tmp_path: Path) -> None:
        make_package("acme_tools", echo=DECORATED.format(name="echo"), broken="import no_such_module")
        distribution(
            tmp_path,
            "good = acme_tools\nagain = acme_tools\ngone = acme_gone\nodd = 1 + 1\nlost = acme_tools.echo:lost\n",
        )

        tools, failures = discover_entry_points().load_all()

        assert list(tools) == ["echo"]
        told = "\n".join(map(str, failures))
        assert "'gone' cannot be loaded from the entry point 'acme_gone'" in told
        assert "'odd' cannot be loaded from the entry point '1 + 1'" in told
        assert "defines no 'lost'" in told
        assert "No module named 'no_such_module'" in told
        assert told.count("has a tool of this name already") == 2

    def test_an_unknown_group_has_no_tools(self) -> None:
        assert discover_entry_points("toolhaft.no_such_group").names == ()


def test_the_built_in_tools_are_a_package_like_any_other() -> None:
    assert {"list_dir", "read_file", "submit", "write_file"} <= set(discover_package(BUILT_IN).names)
