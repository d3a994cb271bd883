"""The commands and their options; what they do stands in the files beside this one."""

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="toolhaft",
    help="Tools for pydantic-ai agents: list them, read about them, call them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Mode(StrEnum):
    """Whom it asks: nobody, somebody about what may change things, somebody about every call."""

    YOLO = "yolo"
    CONFIRM_SENSITIVE = "confirm-sensitive"
    CONFIRM_ALL = "confirm-all"


Asks = Annotated[Mode, typer.Option("--mode", help="Who is asked before a call: nobody, or you, on the terminal.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what every call would do, and do nothing.")]
Commands = Annotated[bool, typer.Option("--allow-commands/--no-commands", help="Whether there are tools for commands.")]
Delete = Annotated[bool, typer.Option("--allow-delete", help="Let tools delete files.")]
Config = Annotated[
    Path | None, typer.Option("--config", help="A file such as toolhaft.toml: workspace, guardrails, ...")
]
Workspace = Annotated[Path | None, typer.Option("--workspace", "-w", help="The folder that tools may touch.")]


@app.command("list")
def list_command(
    group: Annotated[str, typer.Option(help="Only a group: files, search, commands or all.")] = "all",
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show each tool's prompt file; fail if one is missing.")
    ] = False,
) -> None:
    """Print the names of the built-in tools, one a line."""
    from toolhaft.cli.catalogue import print_names, print_prompts

    raise typer.Exit(print_prompts(group) if prompts else print_names(group))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A tool's name.")],
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema in OpenAI function form.")] = False,
) -> None:
    """Print what a model reads about a tool: its description and parameters."""
    from toolhaft.cli.catalogue import print_tool

    raise typer.Exit(print_tool(name, schema=schema))


@app.command()
def call(
    tool: Annotated[str | None, typer.Argument(help="A tool's name.")] = None,
    args: Annotated[str, typer.Argument(help='Its arguments as JSON, such as \'{"filepath": "a.txt"}\'.')] = "{}",
    workspace: Workspace = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as one JSON object.")] = False,
    stdin: Annotated[
        bool, typer.Option("--stdin", help='Read one {"tool", "args", "workspace"} a line, answer one line each.')
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Tell what the call would do, and do nothing.")] = False,
    mode: Asks = Mode.YOLO,
    dry_run: DryRun = False,
    allow_commands: Commands = True,
    allow_delete: Delete = False,
    config: Config = None,
) -> None:
    """Call a tool. Exit status: 0 it succeeded, 1 it failed, 2 it could not be run, 130 you aborted."""
    from toolhaft.cli.call import call_lines, call_once
    from toolhaft.cli.settings import Settings, load

    settings = Settings(
        workspace=workspace,
        mode=mode.value,
        dry_run=dry_run,
        preview=preview,
        allow_commands=allow_commands,
        allow_delete=allow_delete,
        configuration=load(config),
    )
    if stdin:
        raise typer.Exit(asyncio.run(call_lines(sys.stdin.buffer, sys.stdout, settings)))
    if tool is None:
        typer.echo("No tool named. Give a name and its arguments, or --stdin.", err=True)
        raise typer.Exit(2)
    raise typer.Exit(asyncio.run(call_once(tool, args, settings, as_json=as_json)))


class Transport(StrEnum):
    """How a client and a server of MCP speak."""

    STDIO = "stdio"
    HTTP = "http"


@app.command()
def serve(
    transport: Annotated[
        Transport, typer.Argument(help="stdio for a client that starts this command, http on this machine.")
    ] = Transport.STDIO,
    mcp: Annotated[bool, typer.Option("--mcp", help="Speak the Model Context Protocol.")] = False,
    workspace: Workspace = None,
    mode: Annotated[
        Mode, typer.Option("--mode", help="yolo runs what is sensitive; else it is refused, or filed in --store.")
    ] = Mode.CONFIRM_SENSITIVE,
    dry_run: DryRun = False,
    allow_commands: Commands = True,
    allow_delete: Delete = False,
    config: Config = None,
    package: Annotated[
        list[str] | None, typer.Option("--package", help="A package of tools to serve instead of the built-in ones.")
    ] = None,
    store: Annotated[
        str | None, typer.Option("--store", help="File what needs approval here: SQLite file, redis://..., ...")
    ] = None,
    port: Annotated[int, typer.Option("--port", help="For http: it listens on 127.0.0.1.")] = 8000,
) -> None:
    """Offer the tools to a client of another kind, with the pipeline before them."""
    from toolhaft.cli.serve import serve_mcp
    from toolhaft.cli.settings import Settings, load

    if not mcp:
        typer.echo("Say what to speak: toolhaft serve --mcp", err=True)
        raise typer.Exit(2)
    settings = Settings(
        workspace=workspace,
        mode=mode.value,
        dry_run=dry_run,
        allow_commands=allow_commands,
        allow_delete=allow_delete,
        configuration=load(config),
    )
    port_of_http = port if transport is Transport.HTTP else None
    raise typer.Exit(asyncio.run(serve_mcp(settings, packages=package or (), store=store, port=port_of_http)))


@app.command("classify")
def classify_command(
    command: Annotated[str | None, typer.Argument(help="A command line for bash.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read one JSON string a line, answer one line each.")] = False,
) -> None:
    """Print how far a command may be trusted, why, and the paths it names, as one JSON object. Nothing is run."""
    from toolhaft.cli.classify import classify_lines, classify_once

    if stdin:
        raise typer.Exit(classify_lines(sys.stdin.buffer, sys.stdout))
    if command is None:
        typer.echo("No command given. Give one, or --stdin.", err=True)
        raise typer.Exit(2)
    raise typer.Exit(classify_once(command, sys.stdout))


@app.command()
def undo(
    change_id: Annotated[str, typer.Argument(help="The id that the answer of a change gave.")],
    workspace: Workspace = None,
) -> None:
    """Take back a change that a tool made."""
    import json

    from toolhaft.cli.call import call_once
    from toolhaft.cli.settings import Settings

    settings = Settings(workspace=workspace, allow_delete=True)
    raise typer.Exit(
        asyncio.run(call_once("undo_change", json.dumps({"change_id": change_id}), settings, as_json=False))
    )


@app.command()
def demo(
    project: Annotated[
        Path | None, typer.Argument(help="A project to work on a copy of; toolhaft's own if left out.")
    ] = None,
    mode: Asks = Mode.YOLO,
    dry_run: DryRun = False,
    allow_delete: Delete = False,
    config: Config = None,
) -> None:
    """Let an agent do a job on a copy of a project, and show every call as it happens.

    Without TOOLHAFT_MODEL the model is a script that answers to what the tools return; with
    TOOLHAFT_MODEL=provider:name it is that model.
    """
    from toolhaft.cli.demo import run_demo
    from toolhaft.cli.settings import Settings, load

    settings = Settings(mode=mode.value, dry_run=dry_run, allow_delete=allow_delete, configuration=load(config))
    raise typer.Exit(asyncio.run(run_demo(project, settings)))


approvals_app = typer.Typer(help="Calls that wait for somebody: decide and go on.", no_args_is_help=True)
app.add_typer(approvals_app, name="approvals")

Store = Annotated[str, typer.Option("--store", help="A file of SQLite, redis://..., or postgresql://...")]
Conversation = Annotated[str | None, typer.Option("--conversation", help="Which conversation's call it is.")]
CallId = Annotated[str, typer.Argument(help="The call's id.")]


@approvals_app.command("list")
def list_approvals(store: Store = "approvals.db") -> None:
    """Print the calls that wait for a person, one a line."""
    from toolhaft.cli.approvals import print_waiting

    raise typer.Exit(asyncio.run(print_waiting(store)))


@approvals_app.command("show")
def show_approval(call_id: CallId, store: Store = "approvals.db", conversation: Conversation = None) -> None:
    """Print what is known of a call, with the diff that it would make."""
    from toolhaft.cli.approvals import print_call

    raise typer.Exit(asyncio.run(print_call(store, call_id, conversation)))


@approvals_app.command()
def approve(call_id: CallId, store: Store = "approvals.db", conversation: Conversation = None) -> None:
    """Approve a call as it was asked for."""
    from toolhaft.cli.approvals import decide

    raise typer.Exit(asyncio.run(decide(store, call_id, conversation)))


@approvals_app.command()
def edit(
    call_id: CallId,
    edits: Annotated[str, typer.Argument(help="JSON that is laid over the arguments.")],
    store: Store = "approvals.db",
    conversation: Conversation = None,
) -> None:
    """Approve a call with other arguments."""
    from toolhaft.cli.approvals import decide

    raise typer.Exit(asyncio.run(decide(store, call_id, conversation, edits=edits)))


@approvals_app.command()
def reject(
    call_id: CallId,
    reason: Annotated[str, typer.Argument(help="What the model is told.")] = "",
    store: Store = "approvals.db",
    conversation: Conversation = None,
) -> None:
    """Reject a call."""
    from toolhaft.cli.approvals import decide

    raise typer.Exit(asyncio.run(decide(store, call_id, conversation, reject=reason)))


@approvals_app.command()
def resume(
    conversation_id: Annotated[str, typer.Argument(help="The conversation whose run waits.")],
    agent: Annotated[str, typer.Option("--agent", help="Where the agent is: module:name.")],
    store: Store = "approvals.db",
) -> None:
    """Continue the run of a conversation, once all of its calls are decided."""
    from toolhaft.cli.approvals import resume

    raise typer.Exit(asyncio.run(resume(store, conversation_id, agent)))


@approvals_app.command()
def audit(
    store: Store = "approvals.db",
    verify: Annotated[bool, typer.Option("--verify", help="Find any edited or missing row.")] = False,
) -> None:
    """Print every decision and every step, oldest first."""
    from toolhaft.cli.approvals import audit

    raise typer.Exit(asyncio.run(audit(store, verify=verify)))
