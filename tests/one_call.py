"""One call of one tool by an agent, with a scripted model, and what the model read of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDefinition


def prompt_file(folder: Path, parameters: str = "", *, description: str = "Does it.") -> Path:
    """A prompt in a file of its own, with the inner XML of its `<parameters>` if it has them."""
    inner = f"<parameters>{parameters}</parameters>" if parameters else ""
    file = folder / "a_prompt.xml"
    file.write_text(f"<tool_prompt><description>{description}</description>{inner}</tool_prompt>", encoding="utf-8")
    return file


async def call_by_agent(tool: Any, args: dict[str, Any]) -> ToolReturnPart | DeferredToolRequests:
    """What the tool's call came to in a run that went on to its end, or the pause that it made."""
    seen: list[ToolReturnPart] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answers = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        seen.extend(answers)
        if answers:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, args)])

    agent = Agent(FunctionModel(model), tools=[tool], output_type=[str, DeferredToolRequests])
    output = (await agent.run("go")).output
    return output if isinstance(output, DeferredToolRequests) else seen[0]


async def shown_to_model(**agent: Any) -> ToolDefinition:
    """The definition of the first tool, as the model of an agent with these tools or toolsets gets it."""
    shown: list[ToolDefinition] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown.extend(info.function_tools)
        return ModelResponse(parts=[TextPart("done")])

    await Agent(FunctionModel(model), **agent).run("go")
    return shown[0]


def raising(error: BaseException) -> Callable[..., Any]:
    """An async function about a file that raises `error`."""

    async def failing(filepath: str) -> str:
        """Fail."""
        raise error

    return failing
