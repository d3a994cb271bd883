"""What an import loads, seen from fresh processes; and rule 14 on the built-in tools."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import toolhaft
from toolhaft.discovery import BUILT_IN, discover_package

ROOT = Path(__file__).parents[1]

EVERYTHING_AN_AGENT_NEEDS = (
    "from toolhaft import Toolkit; from toolhaft.tools import list_dir, read_file, submit, write_file; "
    "from toolhaft import base_tool, file_tool"
)


def fresh(code: str) -> list[str]:
    """The lines that a fresh Python prints that runs `code`."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def third_party(code: str) -> set[str]:
    """The top-level packages outside the standard library and toolhaft that `code` loads."""
    before = "import sys; before = set(sys.modules)\n"
    after = "\nprint(*{name.partition('.')[0] for name in set(sys.modules) - before}, sep='\\n')"
    return set(fresh(before + code + after)) - sys.stdlib_module_names - {"toolhaft"}


@pytest.mark.parametrize(
    "code",
    [
        "import toolhaft",
        "import toolhaft.discovery",
        "import toolhaft.spec",
        "import toolhaft.registry",
        "import toolhaft.tools; assert 'grep' not in vars(toolhaft.tools); dir(toolhaft.tools)",
        "from toolhaft import Registry; Registry().register_all().names_of(['files'])",
        "from toolhaft import discover_package; discover_package('toolhaft.tools').names",
    ],
)
def test_names_come_without_any_third_party_module(code: str) -> None:
    assert third_party(code) == set()


def test_listing_the_tools_imports_none_of_them() -> None:
    names = discover_package(BUILT_IN).names

    loaded = fresh(
        "import sys\nfrom toolhaft import Registry\nRegistry().register_all().names()\n"
        f"print(*[name for name in {names!r} if 'toolhaft.tools.' + name in sys.modules])"
    )

    assert loaded == [""]


def test_everything_an_agent_needs_loads_little_beside_pydantic_ai() -> None:
    """What it costs in time is a benchmark; here are the packages that it may load."""
    beside = third_party(EVERYTHING_AN_AGENT_NEEDS) - third_party("import pydantic_ai")

    assert {name for name in beside if "cython" not in name} <= {"lxml"}  # lxml brings its own runtime of Cython


@pytest.mark.parametrize(
    "first",
    [
        "import toolhaft.tools.read_file",
        "from toolhaft.tools.read_file import read_file",
        "from toolhaft import Toolkit",
    ],
)
def test_a_built_in_name_is_the_function_in_whatever_order_modules_are_imported(first: str) -> None:
    printed = fresh(
        f"{first}\nimport toolhaft.tools\nfrom toolhaft.tools import read_file\n"
        "print(type(read_file).__name__, toolhaft.tools.read_file is read_file)"
    )

    assert printed == ["function True"]


@pytest.mark.parametrize("first", ["import toolhaft.workspace", "from toolhaft import workspace", "pass"])
def test_the_top_level_workspace_is_the_function_in_whatever_order(first: str) -> None:
    printed = fresh(f"{first}\nimport toolhaft\nfrom toolhaft import workspace\nprint(type(workspace).__name__)")

    assert printed == ["function"]


def test_every_public_name_is_there() -> None:
    for name in toolhaft.__all__:
        assert getattr(toolhaft, name) is not None
    assert set(toolhaft.__all__) <= set(dir(toolhaft))
    with pytest.raises(AttributeError, match="module 'toolhaft' has no attribute 'no_such_name'"):
        _ = toolhaft.no_such_name  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", ["toolhaft", "toolhaft.tools"])
def test_type_checkers_see_the_names_that_a_program_sees(package: str) -> None:
    module = sys.modules[package] if package in sys.modules else __import__(package, fromlist=["*"])
    tree = ast.parse(Path(str(module.__file__)).read_text())
    imports = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]

    seen = sorted(alias.asname or "" for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names)

    assert seen == sorted(module.__all__)


def test_the_version_is_the_one_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert toolhaft.__version__ == project["version"]
