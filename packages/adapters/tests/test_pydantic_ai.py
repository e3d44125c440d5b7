"""Pydantic AI with our toolset; the model is written out by the test."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bearinmind import Client, Mind
from bearinmind_adapters.pydantic_ai import memory_toolset

BLADES = "The turbine has seven blades."


def agent_that(mind: Mind | Client, tool: str, **arguments: Any) -> tuple[Agent, list[Any]]:
    """An agent that calls a tool and then says what the tool answered; and what it was offered."""
    offered: list[Any] = []

    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        offered.append(info)
        last = messages[-1].parts[-1]
        if last.part_kind == "tool-return":
            return ModelResponse(parts=[TextPart(last.content)])
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])

    return Agent(FunctionModel(answer), toolsets=[memory_toolset(mind, agent="pydantic")]), offered


def test_an_agent_remembers_and_recalls(mind: Mind) -> None:
    stored, offered = agent_that(mind, "remember", content=BLADES)
    assert stored.run_sync("Note it.").output.startswith("Stored: ")
    mind.work.run()

    recalled, _ = agent_that(mind, "recall", query="How many blades has the turbine?", limit=1)
    said = recalled.run_sync("How many?").output

    assert said.startswith(("Verdict: found.", "Verdict: perhaps."))
    assert BLADES in said
    tools = {tool.name: tool for tool in offered[0].function_tools}
    assert {*tools} == {"remember", "recall", "history", "forget"}
    assert tools["recall"].parameters_json_schema["required"] == ["query"]
    assert "memory that lasts" in (offered[0].instructions or "")
    assert mind.list()[0].provenance.agent == "pydantic"


def test_it_works_over_a_server(client: Client) -> None:
    stored, _ = agent_that(client, "remember", content=BLADES)
    stored.run_sync("Note it.")
    forgotten, _ = agent_that(client, "forget", id=client.list()[0].id)

    assert forgotten.run_sync("Forget it.").output.startswith("Deleted: ")
    assert not client.list()
