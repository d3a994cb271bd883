"""What the options of the command line say about every call: a person's own call, which asks nobody unless told to."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from toolhaft.attach.configuration import Configuration, ConfigurationError, hooks_of, load_configuration
from toolhaft.attach.profiles import COMMANDS
from toolhaft.discovery import BUILT_IN, discover_package
from toolhaft.pipeline.confirmation import Mode
from toolhaft.pipeline.guardrails import Guardrails
from toolhaft.pipeline.hooks import Hooks
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.pipeline.terminal import Terminal
from toolhaft.registry import Registry
from toolhaft.workspace import LocalWorkspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options, and what they make."""

    workspace: Path | None = None
    """The folder; the configuration's if left out, else the current one."""

    mode: Mode = "yolo"
    dry_run: bool = False
    preview: bool = False
    allow_commands: bool = True
    allow_delete: bool = False
    configuration: Configuration | None = None

    @property
    def folder(self) -> str:
        """The folder in which tools act, unless a call names another."""
        if self.workspace is not None:
            return str(self.workspace)
        return str(self.configuration.root) if self.configuration else "."

    def registry(self) -> Registry:
        """The built-in tools, without commands where these are not allowed, and those of the configuration."""
        source = discover_package(BUILT_IN)
        has_commands = self.allow_commands and (self.configuration is None or self.configuration.commands.enabled)
        barred = frozenset[str]() if has_commands else COMMANDS
        kept = {name: tool for name, tool in source.tools.items() if name not in barred}
        registry = Registry().register_source(replace(source, tools=kept))
        for tool in self.configuration.http_tools() if self.configuration else ():
            registry.register(tool)
        return registry

    def pipeline(self) -> Pipeline:
        """The rules of the calls; where somebody is to be asked, it is whoever sits at the terminal."""
        configured = self.configuration
        return Pipeline(
            mode=self.mode,
            dry_run=self.dry_run,
            answerer=Terminal(),
            guardrails=configured.guardrails() if configured else Guardrails(),
            hooks=Hooks(hooks_of(configured)) if configured else Hooks(),
        )

    def open(self, folder: str) -> LocalWorkspace:
        """A folder as tools see it."""
        if self.configuration is None:
            return LocalWorkspace(folder, allow_delete=self.allow_delete)
        return self.configuration.open_workspace(folder, allow_delete=self.allow_delete)


def load(file: Path | None) -> Configuration | None:
    """The configuration in a file; what is wrong with it is told, and the program ends with status 2."""
    if file is None:
        return None
    try:
        return load_configuration(file)
    except (ConfigurationError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
