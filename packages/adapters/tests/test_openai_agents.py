"""The OpenAI Agents SDK with our session and tools; the model is written out by the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents.memory import Session
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from bearinmind import Client, Mind
from bearinmind_adapters.openai_agents import BearInMindSession, memory_tools


class Written(Model):
    """A model that says what a test has written, and keeps what it was given."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = [*outputs]
        self.given: list[Any] = []

    async def get_response(self, *_: Any, **given: Any) -> Any:
        self.given.append(given["input"])
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def says(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(
        id="m", content=[content], role="assistant", status="completed", type="message"
    )


def calls(name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id="c", name=name, arguments=json.dumps(arguments), type="function_call"
    )


def run(model: Model, said: str, mind: Mind | Client, session: Any = None) -> str:
    agent = Agent(name="helper", model=model, tools=[*memory_tools(mind, agent="helper")])
    config = RunConfig(tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, said, session=session, run_config=config))
    return str(result.final_output)


def test_an_agent_remembers_and_recalls_by_tools(mind: Mind) -> None:
    blades = "The turbine has seven blades."
    run(Written(calls("remember", content=blades, tags=["turbine"]), says("Noted.")), "Hi", mind)
    mind.work.run()
    model = Written(calls("recall", query="How many blades has the turbine?"), says("Seven."))

    assert run(model, "How many blades?", mind) == "Seven."

    [memory] = mind.list()
    assert (memory.content, memory.tags, memory.provenance.agent) == (
        blades,
        ("turbine",),
        "helper",
    )
    told = model.given[1][-1]["output"]
    assert told.startswith(("Verdict: found.", "Verdict: perhaps."))
    assert blades in told
    gone = Written(calls("forget", id="zzzzzzzzzzzz"), says("No."))
    run(gone, "Forget it.", mind)
    assert gone.given[1][-1]["output"].startswith("error: ")


def test_a_session_gives_an_agent_what_was_said_before(client: Client) -> None:
    session = BearInMindSession("s-1", client)
    assert isinstance(session, Session)
    run(Written(says("Hello Ana.")), "I am Ana.", client, session)
    model = Written(says("Ana."))

    run(model, "Who am I?", client, session)

    assert [item["content"] for item in model.given[0] if item["role"] == "user"] == [
        "I am Ana.",
        "Who am I?",
    ]


def test_items_are_added_popped_and_cleared_in_their_order(mind: Mind) -> None:
    async def use() -> None:
        session = BearInMindSession("s-1", mind)
        items: Any = [{"role": "user", "content": f"{number}"} for number in range(12)]
        await session.add_items(items[:5])
        await session.add_items(items[5:])
        assert await session.get_items() == items
        assert await session.get_items(limit=3) == items[-3:]
        assert await session.get_items(limit=0) == []
        assert await session.pop_item() == items[-1]
        assert await BearInMindSession("s-2", mind).get_items() == []
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(use())
