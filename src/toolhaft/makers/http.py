"""An HTTP endpoint as a tool.

    arguments ─► checked ─► transform ─► request ─► pre_request ─► workspace/net ─► post_process ─► redacted, shown
                                                                      └─ failed: told, redacted

The request goes through the only door there is, so it reaches public addresses, and private ones of hosts that are
allowed by name.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature
from typing import Any, Unpack, cast

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from toolhaft.arguments import arguments_model, evaluated_signature
from toolhaft.decorators import make_tool
from toolhaft.decorators.making import AsyncFunction, ToolOptions
from toolhaft.decorators.routing import route_base
from toolhaft.exceptions import ToolDefinitionError, ToolExecutionError, describe
from toolhaft.makers.function import as_dictionary
from toolhaft.makers.http_answer import Answer, answer_of, processed, raise_failure
from toolhaft.makers.http_attempts import attempted
from toolhaft.makers.http_config import HttpSettings, HttpToolConfig
from toolhaft.makers.http_request import request_of
from toolhaft.makers.http_url import UrlTemplate
from toolhaft.makers.json_schema import type_from_schema
from toolhaft.makers.redaction import Redaction
from toolhaft.prompts import check_name
from toolhaft.spec import ToolKind
from toolhaft.workspace import workspace
from toolhaft.workspace.net import fetch
from toolhaft.workspace.net_limits import HttpLimits

Parameters = type[BaseModel] | Mapping[str, Any] | Callable[..., Any]


def http_tool(
    name: str,
    url: str,
    method: str = "POST",
    *,
    description: str = "",
    parameters: Parameters | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
    pre_request: Callable[[httpx2.Request], Any] | None = None,
    post_process: Callable[[httpx2.Response], Any] | None = None,
    client: httpx2.AsyncClient | None = None,
    limits: HttpLimits | None = None,
    **settings: Unpack[HttpSettings],
) -> AsyncFunction:
    """A tool that asks an HTTP endpoint. The settings are the fields of `HttpToolConfig`.

    Args:
        name: The tool's name.
        url: With `{argument}` where a value goes. A value fills its place and nothing more.
        method: Arguments go into the query of GET, HEAD, OPTIONS and DELETE, and as JSON into the body of the others.
        description: What the model reads; the docstring of `parameters` if left out.
        parameters: A pydantic model, a JSON schema, or a function whose signature is meant and which is never called.
        transform: Makes of the checked arguments those that are sent.
        pre_request: Changes the `httpx2.Request` before it is sent, or returns another one.
        post_process: Makes of the `httpx2.Response` what the tool answers: text, JSON, or a list with media.
        client: Its headers, cookies, authentication and TLS settings are used. It is never closed.
        limits: In place of the two of the settings; one may serve any number of tools.
        settings: The fields of `HttpToolConfig`.

    The three functions may be async. Every method but GET and HEAD is sensitive, and so are these where an argument
    has a part in the host. Raises `ToolDefinitionError` for what cannot work.

    ```python
    weather = http_tool(
        "weather", "https://api.example.com/v1/{city}", "GET", description="The weather in a city.",
        headers_from_env={"Authorization": "Bearer ${WEATHER_KEY}"}, redact=["token"],
    )
    ```
    """
    if callable(parameters):
        description = description or inspect.cleandoc(parameters.__doc__ or "")
    else:
        settings = cast("HttpSettings", {**settings, "parameters": parameters})
    try:
        config = HttpToolConfig.model_validate(
            {"name": name, "url": url, "method": method, "description": description, **settings}
        )
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_input=False, include_context=False)
        each = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'settings'}: {one['msg']}" for one in mistakes)
        raise ToolDefinitionError(f"tool {name!r}: {each}") from error
    return http_tool_of(
        config,
        parameters=parameters,
        transform=transform,
        pre_request=pre_request,
        post_process=post_process,
        client=client,
        limits=limits,
    )


def http_tool_of(
    config: HttpToolConfig,
    *,
    parameters: Parameters | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
    pre_request: Callable[[httpx2.Request], Any] | None = None,
    post_process: Callable[[httpx2.Response], Any] | None = None,
    client: httpx2.AsyncClient | None = None,
    limits: HttpLimits | None = None,
) -> AsyncFunction:
    """The tool that a configuration describes, with what a file cannot hold; see `http_tool`."""
    check_name(config.name)
    if not config.description.strip():
        raise ToolDefinitionError(f"tool {config.name!r}: the description is empty. Say in it what the tool does.")
    shape, kind = _shape(config, parameters or config.parameters)
    _check_names(config, kind)
    call = _Call(
        config,
        TypeAdapter[Any](kind),
        transform=transform,
        pre_request=pre_request,
        post_process=post_process,
        client=client,
        limits=limits
        or HttpLimits(max_response_bytes=config.max_response_bytes, max_total_bytes=config.max_total_bytes),
    )

    async def ask(*positional: Any, **named: Any) -> Answer:
        return await call.answer(_given(shape, positional, named))

    return make_tool(
        ask,
        config.name,
        shape=shape,
        route=lambda error, args, kwargs: route_base(config.name, error),
        description=config.description,
        made_from="an HTTP endpoint",
        options=ToolOptions(
            kind=ToolKind.NETWORK,
            sensitive=config.is_sensitive,
            timeout_seconds=config.timeout_seconds,
            idempotent=config.is_idempotent,
        ),
    )


class _Call:
    """What every call of one tool does."""

    def __init__(
        self,
        config: HttpToolConfig,
        kind: TypeAdapter[Any],
        *,
        transform: Callable[..., Any] | None,
        pre_request: Callable[..., Any] | None,
        post_process: Callable[..., Any] | None,
        client: httpx2.AsyncClient | None,
        limits: HttpLimits,
    ) -> None:
        self._config, self._kind = config, kind
        self._transform, self._pre_request, self._post_process = transform, pre_request, post_process
        self._client, self._limits = client, limits

    async def answer(self, given: Any) -> Answer:
        arguments = as_dictionary(self._kind.validate_python(given))
        if self._transform is not None:
            arguments = await _awaited(self._transform(arguments))
            if not isinstance(arguments, Mapping):
                raise TypeError(f"transform returned {type(arguments).__name__}. Return a dictionary of arguments.")
        request = await self._prepared(request_of(self._config, cast("Mapping[str, Any]", arguments)))
        response = await attempted(
            partial(self._sent, request), retries=self._config.retries if self._config.is_idempotent else 0
        )
        await asyncio.to_thread(raise_failure, self._config, response)
        if self._post_process is None:
            return await asyncio.to_thread(answer_of, self._config, response)
        return await asyncio.to_thread(processed, self._config, await self._processed(response))

    async def _prepared(self, request: httpx2.Request) -> httpx2.Request:
        if self._pre_request is None:
            return request
        changed = await _awaited(self._pre_request(request))
        return request if changed is None else changed

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        return await fetch(
            request,
            rules=workspace().network_rules.allowing(self._config.allowed_hosts),
            limits=self._limits,
            timeout_seconds=self._config.timeout_seconds,
            client=self._client,
        )

    async def _processed(self, response: httpx2.Response) -> Any:
        assert self._post_process is not None
        redaction = Redaction(self._config.redact)
        try:
            return await _awaited(self._post_process(response))
        except Exception as error:
            if not redaction:
                raise
            # Its text may quote what is to be hidden, and so may the error itself, to whoever prints it.
            told = redaction.text(describe(error))
        raise ToolExecutionError(self._config.name, f"post_process failed: {told}")


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _shape(config: HttpToolConfig, parameters: Parameters | None) -> tuple[Signature, type[Any]]:
    """The signature of the tool, and the type that checks its arguments."""
    if callable(parameters) and not isinstance(parameters, type):
        shape = evaluated_signature(parameters, config.name).replace(return_annotation=Answer)
        return shape, arguments_model(config.name, shape)
    if parameters is None:
        places = UrlTemplate(config.url).places
        texts = {place: {"type": "string"} for place in places}
        parameters = {"type": "object", "properties": texts, "required": list(places), "additionalProperties": False}
    if isinstance(parameters, Mapping):
        kind = type_from_schema(config.name, parameters)
    elif issubclass(cast("type", parameters), BaseModel):
        kind = cast("type[BaseModel]", parameters)
    else:
        raise ToolDefinitionError(
            f"tool {config.name!r}: parameters={parameters!r} is neither a pydantic model, nor a JSON schema, nor a "
            "function. Give one of them."
        )
    one = Parameter("arguments", Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    return Signature([one], return_annotation=Answer), kind


def _given(shape: Signature, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The arguments of one call: a model or a dictionary of them, or each by its name or place."""
    if list(shape.parameters) != ["arguments"]:
        return shape.bind(*positional, **named).arguments
    if positional:
        return positional[0]
    whole = named.get("arguments")
    return cast("object", whole) if len(named) == 1 and isinstance(whole, Mapping | BaseModel) else named


def _check_names(config: HttpToolConfig, kind: type[Any]) -> None:
    """Raise where the configuration is about an argument that there is not."""
    known = set(TypeAdapter[Any](kind).json_schema().get("properties", {}))
    meant = {
        *UrlTemplate(config.url).places,
        *config.query_arguments,
        *config.header_arguments,
        *config.body_arguments,
    }
    if unknown := sorted(meant - known):
        raise ToolDefinitionError(
            f"tool {config.name!r}: {', '.join(unknown)} is placed and is no parameter. It has "
            f"{', '.join(sorted(known)) or 'none'}."
        )
