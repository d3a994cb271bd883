"""Which paths of a call hooks look at."""

from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.hook_calls import call_of
from toolhaft.pipeline.call import Call
from toolhaft.pipeline.hook_paths import paths_of
from toolhaft.spec import ToolKind, tool_spec
from toolhaft.tools import apply_patch, write_file
from toolhaft.workspace import use_workspace

RENAME = """\
diff --git a/old.py b/new.py
similarity index 100%
rename from old.py
rename to new.py
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1 +1 @@
-# A project
+# The project
"""


def call_with_card(tool: Any, **args: Any) -> Call:
    """A call of one of our own tools."""
    spec = tool_spec(tool)
    return Call(
        name=spec.name,
        args=args,
        kind=spec.kind,
        sensitive=spec.sensitive,
        spec=spec,
        call_id="call-1",
        conversation_id="conversation-1",
    )


def test_a_path_is_relative_to_the_root_however_it_is_spelled(project: Path) -> None:
    spelled = ["src/add.py", "./src//add.py", "src/../src/add.py", f"{project}/src/add.py"]

    with use_workspace(project):
        assert {paths_of(call_with_card(write_file, filepath=path, content="")) for path in spelled} == {
            ("src/add.py",)
        }


def test_a_path_outside_stays_as_it_is(project: Path) -> None:
    with use_workspace(project):
        assert paths_of(call_with_card(write_file, filepath="/etc/hosts", content="")) == ("/etc/hosts",)


def test_the_paths_of_a_patch_are_in_its_headers() -> None:
    assert paths_of(call_with_card(apply_patch, patch=RENAME)) == ("old.py", "new.py", "README.md")


@pytest.mark.parametrize("patch", ["no patch", "--- a/../../etc/hosts\n+++ b/../../etc/hosts\n@@ -1 +1 @@\n-a\n+b\n"])
def test_a_patch_that_the_tool_refuses_has_no_paths(patch: str) -> None:
    assert paths_of(call_with_card(apply_patch, patch=patch)) == ()


def test_the_paths_of_a_command_start_where_it_does() -> None:
    call = call_of("bash", command="cat a.txt; cd lib && rm b.py $UNKNOWN", cwd="src")

    assert {"src/a.txt", "src/lib/b.py"} <= set(paths_of(call))


def test_of_a_tool_without_a_card_every_argument_that_looks_like_a_path_is_one() -> None:
    assert paths_of(call_of("mcp_store_put", kind=ToolKind.MCP, where="data/a.csv", body="x")) == ("data/a.csv",)
