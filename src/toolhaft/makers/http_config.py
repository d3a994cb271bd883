"""What an HTTP tool is, as plain data: the arguments of `http_tool`, and one `[[http_tools]]` of a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypedDict, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from toolhaft.makers.http_url import UrlTemplate
from toolhaft.workspace.net_limits import MAX_RESPONSE_BYTES, MAX_TOTAL_BYTES
from toolhaft.workspace.net_rules import NetworkRules

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
READING: frozenset[str] = frozenset(("GET", "HEAD"))
IDEMPOTENT: frozenset[str] = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS"))
WITH_BODY: frozenset[str] = frozenset(("POST", "PUT", "PATCH"))

# What the connection is made of is ours to say, and not a tool's.
_OUR_HEADERS = frozenset(("host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer"))
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name) or name.lower() in _OUR_HEADERS:
        raise ValueError(f"{name!r} is no header that a tool can set. Use another name.")
    return name


def _variables(text: str) -> str:
    if not _VARIABLE.fullmatch(text) and not _REFERENCE.search(text):
        raise ValueError(f"{text!r} names no environment variable. Write NAME, or a text with ${{NAME}} in it.")
    return text if _REFERENCE.search(text) else f"${{{text}}}"


def _renamed(names: Any) -> Any:
    """A list of arguments as the mapping that renames none."""
    return {name: name for name in cast("list[Any]", names)} if isinstance(names, list | tuple) else names


HeaderName = Annotated[str, AfterValidator(_header)]
Renamed = Annotated[Mapping[str, str], BeforeValidator(_renamed)]


class HttpSettings(TypedDict, total=False):
    """The settings that `http_tool` takes besides the name, the URL, the method and what a file cannot hold."""

    headers: Mapping[str, str]
    headers_from_env: Mapping[str, str]
    query_arguments: list[str] | Mapping[str, str]
    header_arguments: list[str] | Mapping[str, str]
    body_arguments: list[str] | Mapping[str, str]
    static_query: Mapping[str, Any]
    static_body: Mapping[str, Any]
    timeout_seconds: float
    retries: int
    redact: list[str] | tuple[str, ...]
    allowed_hosts: list[str] | tuple[str, ...]
    max_response_bytes: int
    max_total_bytes: int
    max_characters: int
    sensitive: bool
    idempotent: bool


class HttpToolConfig(BaseModel):
    """An HTTP tool as plain data; see `http_tool`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    url: str
    """With `{argument}` where a value goes; it is escaped."""

    method: Annotated[Method, BeforeValidator(lambda method: method.upper() if isinstance(method, str) else method)] = (
        "POST"
    )
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    """A JSON schema of an object. None: the placeholders of the URL, as required texts."""

    headers: Mapping[HeaderName, str] = {}
    headers_from_env: Mapping[HeaderName, Annotated[str, AfterValidator(_variables)]] = {}
    """Header to environment variable, or to a text with `${NAME}` in it: `{"Authorization": "Bearer ${TOKEN}"}`."""

    query_arguments: Renamed = {}
    """Arguments that go into the query whatever the method: a list, or argument to name on the wire."""

    header_arguments: Annotated[Mapping[str, HeaderName], BeforeValidator(_renamed)] = {}
    body_arguments: Renamed = {}
    static_query: Mapping[str, Any] = {}
    """Always in the query; no argument changes it."""

    static_body: Mapping[str, Any] = {}
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 30
    """For all of a call: retries and redirects too."""

    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a request that may be repeated is, after a failure that may pass."""

    redact: tuple[str, ...] = ()
    """Names of fields whose values nobody sees, at any depth of an answer or of an error."""

    allowed_hosts: tuple[str, ...] = ()
    """Hosts that may have private addresses, besides those of the workspace's `NetworkRules`."""

    max_response_bytes: Annotated[int, Field(ge=1)] = MAX_RESPONSE_BYTES
    max_total_bytes: Annotated[int, Field(ge=1)] = MAX_TOTAL_BYTES
    max_characters: Annotated[int, Field(ge=1)] = 60_000
    """How much of a text a model is shown."""

    sensitive: bool | None = None
    """Whether a person is asked. None: unless it is a GET or HEAD to a host that stands in the URL."""

    idempotent: bool | None = None
    """Whether a request may be repeated. None: by the method."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        UrlTemplate(self.url)
        NetworkRules(allowed_hosts=self.allowed_hosts)
        placed = [*self.query_arguments, *self.header_arguments, *self.body_arguments]
        if twice := {name for name in placed if placed.count(name) > 1}:
            raise ValueError(f"{', '.join(sorted(twice))}: an argument goes to one place. Name it in one mapping.")
        if self.method in READING and (self.body_arguments or self.static_body):
            raise ValueError(f"a {self.method} has no body. Use query_arguments and static_query.")
        return self

    @property
    def is_sensitive(self) -> bool:
        is_free = self.method in READING and UrlTemplate(self.url).has_fixed_host
        return not is_free if self.sensitive is None else self.sensitive

    @property
    def is_idempotent(self) -> bool:
        return self.method in IDEMPOTENT if self.idempotent is None else self.idempotent
