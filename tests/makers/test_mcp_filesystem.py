"""The reference server of the protocol's authors, which comes from npm: every one of its tools, called."""

import json
from pathlib import Path

import pytest

from tests.makers.mcp_server import PIXEL
from toolhaft import Executor, Pipeline, Registry
from toolhaft.makers.mcp import mcp_tools

SERVER = ["npx", "-y", "@modelcontextprotocol/server-filesystem"]


@pytest.mark.needs("npm")
async def test_every_tool_of_the_reference_filesystem_server_is_called(tmp_path: Path) -> None:
    import base64

    root = tmp_path.resolve()
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    calls = {
        "read_file": {"path": f"{root}/a.txt"},
        "read_text_file": {"path": f"{root}/a.txt", "head": 1},
        "read_media_file": {"path": f"{root}/pixel.png"},
        "read_multiple_files": {"paths": [f"{root}/a.txt"]},
        "write_file": {"path": f"{root}/b.txt", "content": "three"},
        "edit_file": {"path": f"{root}/a.txt", "edits": [{"oldText": "one", "newText": "1"}]},
        "create_directory": {"path": f"{root}/d"},
        "list_directory": {"path": str(root)},
        "list_directory_with_sizes": {"path": str(root), "sortBy": "size"},
        "directory_tree": {"path": str(root)},
        "move_file": {"source": f"{root}/b.txt", "destination": f"{root}/d/b.txt"},
        "search_files": {"path": str(root), "pattern": "**/*.txt"},
        "get_file_info": {"path": f"{root}/a.txt"},
        "list_allowed_directories": {},
    }

    async with mcp_tools([*SERVER, str(root)], name="fs", timeout_seconds=120) as tools:
        registry = Registry()
        for tool in tools:
            registry.register(tool)
        executor = Executor(registry, Pipeline(mode="yolo"))
        results = {name: await executor.execute(f"mcp_fs_{name}", args) for name, args in calls.items()}
        outside = await executor.execute("mcp_fs_read_text_file", {"path": "/etc/passwd"})
        invalid = await executor.execute("mcp_fs_edit_file", {"path": 1})

    assert {f"mcp_fs_{name}" for name in calls} == set(registry.names())
    assert {name: result.error for name, result in results.items() if not result.success} == {}
    assert results["read_text_file"].output == "one"
    assert results["read_media_file"].parts is not None
    assert (root / "d" / "b.txt").read_text() == "three"
    assert (root / "a.txt").read_text() == "1\ntwo\n"
    assert json.loads(results["directory_tree"].output)
    assert "Access denied" in str(outside.error)
    assert "'edits' is a required property" in str(invalid.error)
