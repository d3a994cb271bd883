"""`toolhaft serve --mcp`, called by the official SDK's own client and by pydantic-ai's, over stdio and over HTTP."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, ImageContent, TextContent
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.makers.mcp_server import PIXEL
from toolhaft.makers.mcp import mcp_tools

CLI = [sys.executable, "-m", "toolhaft.cli"]


def command(folder: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(command=CLI[0], args=[*CLI[1:], "serve", "--mcp", "-w", str(folder), *options])


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@asynccontextmanager
async def over_http(folder: Path, *options: str) -> AsyncGenerator[str]:
    """The address of a server in a process of its own."""
    port = free_port()
    args = [*CLI, "serve", "--mcp", "http", "--port", str(port), "-w", str(folder), *options]
    process = await asyncio.create_subprocess_exec(*args, stderr=asyncio.subprocess.DEVNULL)
    try:
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                break
            except OSError:
                assert process.returncode is None
                await asyncio.sleep(0.05)
        writer.close()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.fixture
def folder(project: Path) -> Path:
    import base64

    (project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    (project / ".env").write_text("SECRET=1")
    return project


async def fixed_list(client: Client, folder: Path) -> None:
    """What every client must be able to do, by whatever way it comes; the server runs what is sensitive."""
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"read_file", "grep", "write_file", "edit_file", "apply_patch", "bash"} <= names

    read = await client.call_tool("read_file", {"filepath": "README.md"})
    assert "It adds numbers." in text(read)
    assert "src/add.py" in text(await client.call_tool("grep", {"pattern": "def add"}))
    assert not (await client.call_tool("write_file", {"filepath": "new.txt", "content": "one\n"})).is_error
    edited = await client.call_tool("edit_file", {"filepath": "new.txt", "old_str": "one", "new_str": "two"})
    assert not edited.is_error, text(edited)
    assert (folder / "new.txt").read_text() == "two\n"
    assert edited.meta is not None
    assert edited.meta["toolhaft"]["diff"][0]["path"] == "new.txt"
    ran = await client.call_tool("bash", {"command": "echo out; echo err >&2; exit 3"})
    assert "out" in text(ran)
    image = await client.call_tool("read_file", {"filepath": "pixel.png"})
    assert [block.data for block in image.content if isinstance(block, ImageContent)] == [PIXEL]

    failures = {
        "missing.txt": await client.call_tool("read_file", {"filepath": "missing.txt"}),
        ".env": await client.call_tool("read_file", {"filepath": ".env"}),
        "outside": await client.call_tool("read_file", {"filepath": "/etc/passwd"}),
        "near: 'read_file'": await client.call_tool("reed_file", {}),
        "filepath": await client.call_tool("read_file", {"limit": "many"}),
    }
    for said, failed in failures.items():
        assert failed.is_error, said
        assert said in text(failed), text(failed)
        assert "Traceback" not in text(failed)


async def test_the_sdks_client_over_stdio(folder: Path) -> None:
    async with Client(command(folder, "--mode", "yolo")) as client:
        await fixed_list(client, folder)


async def test_a_client_of_an_older_protocol_over_stdio(folder: Path) -> None:
    async with Client(command(folder, "--mode", "yolo"), mode="legacy") as client:
        await fixed_list(client, folder)


async def test_the_sdks_client_over_http(folder: Path) -> None:
    async with over_http(folder, "--mode", "yolo") as url:
        async with Client(url) as client:
            await fixed_list(client, folder)
        (folder / "new.txt").unlink()
        async with Client(url, mode="legacy") as client:
            await fixed_list(client, folder)


async def test_pydantic_ais_own_client(folder: Path) -> None:
    answers: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answers.extend(part.model_response_str() for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if answers:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("read_file", {"filepath": "README.md"})])

    async with over_http(folder) as url:
        await Agent(FunctionModel(model), toolsets=[MCPToolset(url)]).run("go")

    assert "It adds numbers." in answers[0]


async def test_our_own_client_of_our_own_server(folder: Path) -> None:
    async with mcp_tools(command(folder), name="own") as tools:
        named = {tool.__name__: tool for tool in tools}

        assert "It adds numbers." in (await named["mcp_own_read_file"]({"filepath": "README.md"}))[0:400]


async def test_what_is_sensitive_is_refused_by_default(folder: Path) -> None:
    async with Client(command(folder)) as client:
        refused = await client.call_tool("write_file", {"filepath": "new.txt", "content": "x"})

    assert refused.is_error
    assert "needs approval" in text(refused)
    assert not (folder / "new.txt").exists()


async def test_what_is_sensitive_is_filed_in_a_store_and_runs_once_approved(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "approvals.db"

    def approvals(*args: str) -> str:
        done = subprocess.run([*CLI, "approvals", *args, "--store", str(store)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async with Client(command(folder, "--store", str(store))) as client:
        write = {"filepath": "new.txt", "content": "approved"}
        filed = await client.call_tool("write_file", write)
        call_id = (await asyncio.to_thread(approvals, "list")).split("\t")[1]
        await asyncio.to_thread(approvals, "approve", call_id)
        done = await client.call_tool("write_file", write)

    assert call_id in text(filed)
    assert not done.is_error, text(done)
    assert (folder / "new.txt").read_text() == "approved"


async def test_options_hold(folder: Path) -> None:
    async with Client(command(folder, "--mode", "yolo", "--no-commands", "--dry-run")) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        told = await client.call_tool("write_file", {"filepath": "new.txt", "content": "x"})

    assert "bash" not in names
    assert "[DRY-RUN]" in text(told)
    assert not (folder / "new.txt").exists()


async def test_a_package_of_tools_is_served(folder: Path) -> None:
    package = folder / "my_tools"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "shout.py").write_text(
        "from toolhaft import base_tool\n\n\n@base_tool(kind='read')\nasync def shout(word: str) -> str:\n"
        "    '''Shout.'''\n    print('this must not reach the protocol')\n    return word.upper()\n"
    )
    server = command(folder, "--package", "my_tools")
    server.cwd = folder

    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["shout"]
        assert text(await client.call_tool("shout", {"word": "hi"})) == "HI"


def test_standard_output_carries_nothing_but_the_protocol(folder: Path) -> None:
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_dir", "arguments": {}}},
    ]
    process = subprocess.Popen(
        [*CLI, "serve", "--mcp", "-w", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    rest, _ = process.communicate()

    assert [answer["id"] for answer in answers] == [1, 2]
    assert "README.md" in answers[1]["result"]["content"][0]["text"]
    assert (rest, process.returncode) == ("", 0)


async def test_a_web_page_of_another_origin_is_not_answered(folder: Path) -> None:
    async with over_http(folder) as url:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import sys, urllib.request, urllib.error\n"
            "asked = urllib.request.Request(sys.argv[1], b'{}', {'Origin': 'https://evil.example', "
            "'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream'})\n"
            "try: print(urllib.request.urlopen(asked).status)\n"
            "except urllib.error.HTTPError as error: print(error.code)",
            url,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()

    assert out.strip() == b"403"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["serve"], "toolhaft serve --mcp"),
        (["serve", "--mcp", "-w", "/no/such/folder"], "is not a folder"),
        (["serve", "--mcp", "--package", "no_such_package"], "there is no package 'no_such_package'"),
    ],
)
def test_what_cannot_begin_says_why(args: list[str], said: str) -> None:
    done = subprocess.run([*CLI, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


async def test_without_the_library_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from toolhaft.cli.serve import serve_mcp
    from toolhaft.cli.settings import Settings

    monkeypatch.setattr("toolhaft.cli.serve.find_spec", lambda name: None)

    assert await serve_mcp(Settings(), packages=(), store=None, port=None) == 2
    assert "pip install 'toolhaft[mcp]'" in capsys.readouterr().err
