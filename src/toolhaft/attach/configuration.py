"""`toolhaft.toml`, or the same keys in YAML or JSON: what an agent may do, written down where people look for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from toolhaft.attach.configuration_file import ConfigurationError, read_file
from toolhaft.attach.configuration_keys import CommandKeys, HookKeys, Keys, WorkspaceKeys
from toolhaft.attach.configuration_lines import Key, Lines
from toolhaft.attach.configuration_mistakes import line_of, mistakes
from toolhaft.discovery import BUILT_IN, discover_package
from toolhaft.exceptions import ToolDefinitionError
from toolhaft.makers import http_tool_of
from toolhaft.pipeline.confirmation import Mode
from toolhaft.pipeline.guardrails import Guardrails, QualityGate
from toolhaft.pipeline.hooks import POST_EDIT_MATCHER, Hook
from toolhaft.workspace import CommandRules, LocalWorkspace, NetworkRules

__all__ = ["Configuration", "ConfigurationError", "HookSetting", "hooks_of", "load_configuration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSetting:
    """One hook of a configuration, as plain data."""

    event: str
    name: str
    command: str
    matcher: str = "*"
    file_patterns: tuple[str, ...] = ()
    timeout: float = 10
    background: bool = False
    enabled: bool = True
    on_hook_error: Literal["block", "allow"] | None = None
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What a configuration file says. Paths in it are relative to the folder of the file."""

    path: Path
    keys: Keys
    """The settings by their keys, those that the file leaves out too."""

    lines: Lines = field(default_factory=dict[Key, int], repr=False)

    @property
    def mode(self) -> Mode:
        return self.keys.mode

    @property
    def dry_run(self) -> bool:
        return self.keys.dry_run

    @property
    def tools(self) -> str | tuple[str | Callable[..., Any], ...]:
        """A profile's name, or names of tools and groups; and the tools of `[[http_tools]]`, where there are any."""
        named = self.keys.tools
        made = self.http_tools()
        return (*([named] if isinstance(named, str) else named), *made) if made else named

    def http_tools(self) -> tuple[Callable[..., Awaitable[Any]], ...]:
        """New tools, one for each of `[[http_tools]]`.

        Raises `ConfigurationError` for one that cannot work, or whose name another tool has.
        """
        taken = set(discover_package(BUILT_IN).names) if self.keys.http_tools else set[str]()
        for place, tool in enumerate(self.keys.http_tools):
            if tool.name in taken:
                raise ConfigurationError(
                    f"{self.source('http_tools', place)}: http_tools[{place}].name: another tool is called "
                    f"{tool.name!r}. Use another name."
                )
            taken.add(tool.name)
        return tuple(self._http_tool(place) for place in range(len(self.keys.http_tools)))

    @property
    def allowed_tools(self) -> tuple[str, ...] | None:
        return self.keys.allowed_tools

    @property
    def workspace(self) -> WorkspaceKeys:
        return self.keys.workspace

    @property
    def commands(self) -> CommandKeys:
        return self.keys.commands

    @property
    def root(self) -> Path:
        """The workspace's folder, absolute."""
        return self.path.absolute().parent / self.keys.workspace.root

    def command_rules(self) -> CommandRules:
        """What `[commands]` says, for a `LocalWorkspace`."""
        commands = self.keys.commands
        return CommandRules(
            safe_commands=commands.safe_commands,
            blocked_patterns=commands.blocked_patterns,
            allowed_only=commands.allowed_only,
            default_timeout_seconds=commands.default_timeout,
            max_output_lines=commands.max_output_lines,
            pass_env=commands.pass_env,
            network=commands.network,
        )

    def open_workspace(self, root: str | Path | None = None, *, allow_delete: bool = False) -> LocalWorkspace:
        """The folder that `[workspace]` and `[commands]` describe, or another one under the same rules.

        `allow_delete` allows it where the file does not.
        The guardrails are not in it: see `Guardrails.over`.
        """
        workspace = self.keys.workspace
        return LocalWorkspace(
            self.root if root is None else root,
            read_only=workspace.read_only,
            allow_delete=allow_delete or workspace.allow_delete,
            sensitive_files=workspace.sensitive_files,
            commands=self.command_rules(),
            network=NetworkRules(allowed_hosts=self.keys.network.allowed_hosts),
        )

    def guardrails(self) -> Guardrails:
        """New guardrails with the rules of `[guardrails]`, which say on which line they stand."""
        keys = self.keys.guardrails
        names = type(keys).model_fields
        values = {name: getattr(keys, name) for name in names if name not in ("quality_gates", "code_rules")}
        return Guardrails(
            **values,
            quality_gates=[
                QualityGate(name=gate.name, command=gate.command, required=gate.required, timeout_seconds=gate.timeout)
                for gate in keys.quality_gates
            ],
            code_rules=[rule.model_dump() for rule in keys.code_rules],
            sources=dict(self._sources()),
        )

    @property
    def hooks(self) -> tuple[HookSetting, ...]:
        """The hooks of every event, in the order of the file; `post_edit` is what it stands for."""
        return tuple(
            self._hook(event, place, hook)
            for event in type(self.keys.hooks).model_fields
            for place, hook in enumerate(getattr(self.keys.hooks, event))
        )

    def source(self, *key: str | int) -> str:
        """Where a key is written: `toolhaft.toml:12`."""
        return f"{self.path.name}:{line_of(self.lines, key)}"

    def _http_tool(self, place: int) -> Callable[..., Awaitable[Any]]:
        try:
            return http_tool_of(self.keys.http_tools[place])
        except ToolDefinitionError as error:
            raise ConfigurationError(f"{self.source('http_tools', place)}: {error}") from error

    def _hook(self, event: str, place: int, hook: HookKeys) -> HookSetting:
        is_old = event == "post_edit"
        return HookSetting(
            event="post_tool_use" if is_old else event,
            name=hook.name,
            command=hook.command,
            matcher=hook.matcher or (POST_EDIT_MATCHER if is_old else "*"),
            file_patterns=hook.file_patterns,
            timeout=hook.timeout,
            background=hook.is_async,
            enabled=hook.enabled,
            on_hook_error=hook.on_hook_error,
            source=self.source("hooks", event, place),
        )

    def _sources(self) -> Iterator[tuple[str, str]]:
        for key in self.lines:
            if key[0] == "guardrails" and len(key) in (2, 3):
                yield str(key[1]) + (f"[{key[2]}]" if len(key) == 3 else ""), self.source(*key)


def load_configuration(path: str | Path) -> Configuration:
    """What the file at `path` says, read as TOML, YAML or JSON by the end of its name.

    Raises `ConfigurationError` that names file, line and key for everything that cannot be meant, and the nearest right
    key for one that is unknown.

    ```python
    rails = load_configuration("toolhaft.toml").guardrails()
    ```
    """
    path = Path(path)
    data, lines = read_file(path)
    try:
        configuration = Configuration(path=path, keys=Keys.model_validate(data), lines=lines)
    except ValidationError as error:
        raise ConfigurationError(mistakes(error, lines, path.name)) from error
    try:
        configuration.http_tools()
        configuration.guardrails()
        hooks_of(configuration)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    return configuration


def hooks_of(configuration: Configuration) -> tuple[Hook, ...]:
    """The hooks of a configuration, ready to run. Raises `ValueError` for one that cannot be meant."""
    return tuple(
        Hook(
            event=setting.event,
            name=setting.name,
            command=setting.command,
            matcher=setting.matcher,
            file_patterns=setting.file_patterns,
            timeout_seconds=setting.timeout,
            background=setting.background,
            enabled=setting.enabled,
            on_hook_error=setting.on_hook_error,
            source=setting.source,
        )
        for setting in configuration.hooks
    )
