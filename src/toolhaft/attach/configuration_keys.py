"""The keys that a configuration file may have: each field is one, and there are no others."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from toolhaft.makers import HttpToolConfig
from toolhaft.pipeline.confirmation import Mode
from toolhaft.workspace import DEFAULT_SENSITIVE_FILES, CommandRules, NetworkRules


def _regular(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


def _host(name: str) -> str:
    NetworkRules(allowed_hosts=(name,))
    return name


def _safe_command(text: str) -> str:
    CommandRules(safe_commands=(text,))
    return text


def _passed(name: str) -> str:
    CommandRules(pass_env=(name,))
    return name


Texts = tuple[str, ...]
Count = Annotated[StrictInt, Field(ge=0)]
Seconds = Annotated[float, Field(strict=True)]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WorkspaceKeys(_Keys):
    """`[workspace]`."""

    root: str = "."
    read_only: StrictBool = False
    allow_delete: StrictBool = False
    sensitive_files: Texts = DEFAULT_SENSITIVE_FILES


class CommandKeys(_Keys):
    """`[commands]`."""

    enabled: StrictBool = True
    default_timeout: Annotated[StrictInt, Field(ge=1, le=600)] = 30
    max_output_lines: Annotated[StrictInt, Field(ge=2)] | None = 1_000
    safe_commands: tuple[Annotated[str, AfterValidator(_safe_command)], ...] = ()
    blocked_patterns: tuple[Annotated[str, AfterValidator(_regular)], ...] = ()
    allowed_only: StrictBool = False
    pass_env: tuple[Annotated[str, AfterValidator(_passed)], ...] = ()
    network: StrictBool = True


class NetworkKeys(_Keys):
    """`[network]`: what tools may ask. Whether commands may is `network` of `[commands]`."""

    allowed_hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = ()


class QualityGateKeys(_Keys):
    """`[[guardrails.quality_gates]]`."""

    name: str
    command: str
    required: StrictBool = True
    timeout: Annotated[Seconds, Field(ge=1, le=600)] = 60


class CodeRuleKeys(_Keys):
    """`[[guardrails.code_rules]]`."""

    pattern: str
    message: str
    severity: Literal["warn", "block"] = "warn"
    file_patterns: Texts = ()


class GuardrailKeys(_Keys):
    """`[guardrails]`."""

    protected_files: Texts = ()
    sensitive_files: Texts = ()
    blocked_commands: Texts = ()
    max_files_modified: Count | None = None
    max_lines_changed: Count | None = None
    max_commands_executed: Count | None = None
    require_test_after_edit: StrictBool = False
    quality_gates: tuple[QualityGateKeys, ...] = ()
    code_rules: tuple[CodeRuleKeys, ...] = ()


class HookKeys(_Keys):
    """`[[hooks.EVENT]]`."""

    name: str
    command: str
    matcher: Annotated[str, AfterValidator(lambda text: text if text == "*" else _regular(text))] | None = None
    file_patterns: Texts = ()
    timeout: Annotated[Seconds, Field(ge=1, le=300)] = 10
    is_async: StrictBool = Field(default=False, alias="async")
    enabled: StrictBool = True
    on_hook_error: Literal["block", "allow"] | None = None


Hooks = tuple[HookKeys, ...]


class HooksKeys(_Keys):
    """`[hooks]`: the ten events, and `post_edit` of old configurations."""

    pre_tool_use: Hooks = ()
    post_tool_use: Hooks = ()
    pre_llm_call: Hooks = ()
    post_llm_call: Hooks = ()
    session_start: Hooks = ()
    session_end: Hooks = ()
    on_error: Hooks = ()
    budget_warning: Hooks = ()
    context_compress: Hooks = ()
    agent_complete: Hooks = ()
    post_edit: Hooks = ()


class Keys(_Keys):
    """A whole file."""

    mode: Mode = "confirm-sensitive"
    dry_run: StrictBool = False
    tools: str | Texts = "coding"
    allowed_tools: Texts | None = None
    workspace: WorkspaceKeys = WorkspaceKeys()
    commands: CommandKeys = CommandKeys()
    network: NetworkKeys = NetworkKeys()
    http_tools: tuple[HttpToolConfig, ...] = ()
    hooks: HooksKeys = HooksKeys()
    guardrails: GuardrailKeys = GuardrailKeys()
