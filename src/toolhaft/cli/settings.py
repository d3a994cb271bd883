"""What the options of the command line say about every call: a person's own call, which asks nobody unless told to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from toolhaft.attach.profiles import COMMANDS
from toolhaft.discovery import BUILT_IN, discover_package
from toolhaft.pipeline.confirmation import Mode
from toolhaft.pipeline.pipeline import Pipeline
from toolhaft.pipeline.terminal import Terminal
from toolhaft.registry import Registry
from toolhaft.workspace import LocalWorkspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options, and what they make."""

    workspace: Path
    mode: Mode = "yolo"
    dry_run: bool = False
    preview: bool = False
    allow_commands: bool = True
    allow_delete: bool = False

    def registry(self) -> Registry:
        """The built-in tools, without those for commands where these are not allowed."""
        source = discover_package(BUILT_IN)
        barred = frozenset[str]() if self.allow_commands else COMMANDS
        kept = {name: tool for name, tool in source.tools.items() if name not in barred}
        return Registry().register_source(replace(source, tools=kept))

    def pipeline(self) -> Pipeline:
        """The rules of the calls; where somebody is to be asked, it is whoever sits at the terminal."""
        return Pipeline(mode=self.mode, dry_run=self.dry_run, answerer=Terminal())

    def open(self, folder: str) -> LocalWorkspace:
        """A folder as tools see it."""
        return LocalWorkspace(folder, allow_delete=self.allow_delete)
