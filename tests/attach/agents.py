"""Agents whose model makes the calls that a test names."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def calling(*steps: Sequence[tuple[str, dict[str, Any]]]) -> FunctionModel:
    """A model that makes the calls of each step in turn and then answers 'done'."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = sum(isinstance(message, ModelResponse) for message in messages)
        if step >= len(steps):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(name, args) for name, args in steps[step]])

    return FunctionModel(respond)


def answers(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    """What the tools answered, in order."""
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
