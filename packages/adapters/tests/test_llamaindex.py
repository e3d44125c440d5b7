"""LlamaIndex with our memory block and retriever."""

from __future__ import annotations

import asyncio

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine

from bearinmind import Client, Mind
from bearinmind_adapters.llamaindex import BearInMindMemoryBlock, BearInMindRetriever


def said(role: MessageRole, text: str) -> ChatMessage:
    return ChatMessage(role=role, content=text)


async def talk(memories: Mind | Client) -> tuple[str, int]:
    """Fill the short-term memory until it overflows, and ask for what left it."""
    block = BearInMindMemoryBlock(mind=memories, session_id="s-1")
    memory = Memory.from_defaults(
        session_id="s-1",
        token_limit=60,
        chat_history_token_ratio=0.5,
        token_flush_size=10,
        memory_blocks=[block],
        tokenizer_fn=str.split,
    )
    await memory.aput(said(MessageRole.USER, "The turbine in hall 4 has seven blades."))
    for number in range(20):
        await memory.aput(said(MessageRole.ASSISTANT, f"Note number {number} about other things."))
        await memory.aput(said(MessageRole.USER, f"Question number {number} about the weather."))
    question = said(MessageRole.USER, "How many blades has the turbine?")
    messages = await memory.aget(input=[question])
    content = await block.aget([question])
    return content, len(messages)


def test_what_leaves_the_short_term_memory_is_recalled(mind: Mind) -> None:
    content, count = asyncio.run(talk(mind))

    assert "seven blades" in content
    assert count > 1


def test_it_works_over_a_server(client: Client) -> None:
    assert "seven blades" in asyncio.run(talk(client))[0]


def test_a_query_engine_answers_from_memories(mind: Mind) -> None:
    memory = mind.store("The staging database is db-stage-3.").memory
    mind.store("Ana likes ramen.")
    mind.work.run()
    engine = RetrieverQueryEngine.from_args(BearInMindRetriever(mind, limit=1), llm=MockLLM())

    answer = engine.query("What is the staging database?")

    [node] = answer.source_nodes
    assert (node.node_id, node.text) == (memory.id, memory.content)
    assert (node.score or 0) > 0.5
    assert memory.content in str(answer)
