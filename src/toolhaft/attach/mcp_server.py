"""Tools of ours for any MCP client, through the official SDK: the pipeline stands before them as before an agent.

A client's model reads the same schemas, texts and errors as an agent of ours. What is neither an answer of a tool nor a
failure that its author meant stays here, in the log. Nobody can be asked in the middle of a call: one that needs
somebody is refused, or filed where the executor has a store; the client is told to call again once it is approved.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic_ai import BinaryContent

from toolhaft.approvals.filing import StoreFiling
from toolhaft.approvals.record import ApprovalRecord, CallKey, digest_of
from toolhaft.approvals.states import State
from toolhaft.attach.executor import Executor, as_text
from toolhaft.attach.model_calls import unknown_tool
from toolhaft.discovery import ToolLoadError
from toolhaft.registry import ToolNotFoundError
from toolhaft.spec import ToolKind, ToolResult, ToolSpec, tool_spec

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolResult, ContentBlock, Tool

LOGGER = logging.getLogger("toolhaft.mcp")

_DESTROYS_NOTHING = (ToolKind.READ, ToolKind.MEMORY)
_REACHES_OUT = (ToolKind.NETWORK, ToolKind.MCP, ToolKind.SHELL)


def mcp_server(executor: Executor, *, name: str = "toolhaft", tools: Sequence[str] | None = None) -> Server[Any]:
    """A server of the SDK that offers the tools of an executor's registry; `tools` are names and groups, None is all.

    All that it runs is one conversation to the limits and consents of the pipeline. A pipeline with an answerer asks
    whoever that is, in the server's process.

    ```python
    server = mcp_server(Executor(Registry().register_all(), workspace="./repo"))
    ```

    Raises `ToolNotFoundError` for names that nothing has.
    """
    from mcp.server import Server
    from mcp.types import ListToolsResult

    offered = executor.registry.names_of(["all"] if tools is None else tools)
    calls = _Calls(executor)

    async def on_list(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=_listed(executor, offered))

    async def on_call(context: Any, params: Any) -> CallToolResult:
        return _told(await calls.result(params.name, params.arguments or {}, offered))

    return Server(name, on_list_tools=on_list, on_call_tool=on_call)


def _listed(executor: Executor, names: Sequence[str]) -> list[Tool]:
    listed: list[Tool] = []
    for name in names:
        try:
            listed.append(_described(tool_spec(executor.registry.get(name))))
        except ToolLoadError as error:
            LOGGER.error("the tool %r is not offered: %s", name, error)
    return listed


def _described(spec: ToolSpec) -> Tool:
    from mcp.types import Tool, ToolAnnotations

    reads = spec.kind is ToolKind.READ
    return Tool(
        name=spec.name,
        description=spec.description,
        input_schema=spec.schema,
        annotations=ToolAnnotations(
            read_only_hint=reads,
            destructive_hint=spec.kind not in _DESTROYS_NOTHING,
            idempotent_hint=reads or spec.idempotent,
            open_world_hint=spec.kind in _REACHES_OUT,
        ),
    )


class _Calls:
    """Runs what clients call. A call that was filed is known by its tool and arguments when it comes again."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._conversation_id = str(uuid4())
        self._filed: dict[str, str] = {}

    async def result(self, name: str, args: Mapping[str, Any], offered: Sequence[str]) -> ToolResult:
        """What the call came to, whatever happens."""
        try:
            if name not in offered and name in self._executor.registry:
                return _failed(name, f"Unknown tool: {name!r} is not offered here. There are: {', '.join(offered)}.")
            return await self._run(name, args)
        except ToolNotFoundError as error:
            return unknown_tool(name, error)
        except Exception:
            LOGGER.exception("the call of %r failed", name)
            return _failed(name, f"{name!r} failed inside the server, whose log says how. Nothing more is known here.")

    async def _run(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        key = digest_of(name, args)
        record = await self._record(self._filed.get(key))
        if record is not None and record.state in (State.PENDING, State.APPROVED, State.REJECTED):
            return await self._decided(key, record)
        result = await self._execute(name, args)
        call_id = result.metadata.get("pending")
        if call_id is None:
            return result
        self._filed[key] = call_id
        return _failed(
            name,
            f"{result.error} It is filed for approval as {call_id!r}. Once a person has approved it, call "
            f"{name!r} again with the same arguments.",
        )

    async def _decided(self, key: str, record: ApprovalRecord) -> ToolResult:
        """What becomes of a call that was filed and comes again."""
        if record.state is State.PENDING:
            return _failed(record.tool, f"Nobody has decided yet about {record.call_id!r}; nothing has run.")
        del self._filed[key]
        if record.state is State.REJECTED:
            reason = record.decision.reason if record.decision else ""
            return _failed(record.tool, f"A person rejected it{f': {reason}' if reason else ''}. Nothing has run.")
        return await self._execute(record.tool, record.final_arguments, call_id=record.call_id, approved=True)

    async def _record(self, call_id: str | None) -> ApprovalRecord | None:
        filing = self._executor.pipeline.filing
        if call_id is None or not isinstance(filing, StoreFiling):
            return None
        return await filing.store.get(CallKey(self._conversation_id, call_id))

    async def _execute(self, name: str, args: Mapping[str, Any], **how: Any) -> ToolResult:
        return await self._executor.execute(name, args, conversation_id=self._conversation_id, **how)


def _failed(name: str, error: str) -> ToolResult:
    return ToolResult(tool_name=name, success=False, error=error)


def _told(result: ToolResult) -> CallToolResult:
    """A result as clients read it; the facts stand in `_meta`, for programs."""
    from mcp.types import CallToolResult, TextContent

    facts = result.to_dict()
    known = {key: facts[key] for key in ("metadata", "truncated", "diff", "exit_code") if facts[key]}
    meta = {"toolhaft": known} if known else None
    if not result.success:
        return CallToolResult(content=[TextContent(text=result.error or "")], is_error=True, _meta=meta)
    parts = result.parts if result.parts is not None else [result.output]
    return CallToolResult(content=[_block(part) for part in parts], _meta=meta)


def _block(part: Any) -> ContentBlock:
    from mcp.types import AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, TextContent

    if not isinstance(part, BinaryContent):
        return TextContent(text=as_text(part))
    data = base64.b64encode(part.data).decode()
    if part.is_image:
        return ImageContent(data=data, mime_type=part.media_type)
    if part.is_audio:
        return AudioContent(data=data, mime_type=part.media_type)
    resource = BlobResourceContents(uri=f"toolhaft://{part.identifier}", blob=data, mime_type=part.media_type)
    return EmbeddedResource(resource=resource)


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client on standard input and output, until it closes them. What else writes there goes to stderr."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


async def serve_http(server: Server[Any], *, port: int) -> None:
    """Serve clients of this machine at `http://127.0.0.1:<port>/mcp`, until the process is told to end.

    Whoever can open a connection here can call: it listens on the loopback interface only, and answers no web page of
    another origin. Put a proxy that knows its users before it to let in others.
    """
    import uvicorn

    settings = uvicorn.Config(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")
    await uvicorn.Server(settings).serve()
