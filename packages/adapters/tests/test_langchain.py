"""LangChain with our retriever and chat history, in chains."""

from __future__ import annotations

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from bearinmind import Client, Mind
from bearinmind_adapters.langchain import BearInMindChatMessageHistory, BearInMindRetriever


def test_a_chain_retrieves_memories_with_what_is_known_of_them(mind: Mind) -> None:
    old = mind.store("The staging database is db-stage-3.", tags=["staging"]).memory
    new = mind.store("The staging database is db-stage-4 now.", supersedes=[old.id]).memory
    mind.store("Ana likes ramen.")
    mind.work.run()
    retriever = BearInMindRetriever(mind=mind, limit=1)
    chain = {"found": retriever, "question": RunnablePassthrough()} | RunnablePassthrough()

    [document] = chain.invoke("What is the staging database?")["found"]

    assert (document.id, document.page_content) == (new.id, new.content)
    assert document.metadata["verdict"] == "found"
    assert document.metadata["probability"] > 0.5
    assert BearInMindRetriever(mind=mind, options={"tags": ["nothing"]}).invoke("database") == []


def test_a_chat_keeps_its_messages_in_their_order(mind: Mind) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("Hello Ana."), AIMessage("Ana.")]))
    chat = RunnableWithMessageHistory(
        model, lambda session_id: BearInMindChatMessageHistory(mind, session_id)
    )
    session = {"configurable": {"session_id": "s-1"}}

    chat.invoke([HumanMessage("I am Ana.")], session)
    chat.invoke([HumanMessage("Who am I?")], session)

    history = BearInMindChatMessageHistory(mind, "s-1")
    said = [message.content for message in history.messages]
    assert said == ["I am Ana.", "Hello Ana.", "Who am I?", "Ana."]
    assert BearInMindChatMessageHistory(mind, "s-2").messages == []


def test_messages_of_every_kind_and_length_come_back_as_they_were(client: Client) -> None:
    history = BearInMindChatMessageHistory(client, "s-1")
    messages = [
        SystemMessage("Be brief."),
        HumanMessage("x\r\n" * 2_000, id="m1"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"at": [1]}, "id": "t1"}]),
        ToolMessage("seen", tool_call_id="t1"),
        *(HumanMessage(f"{number}") for number in range(20)),
    ]

    history.add_messages(messages)

    assert history.messages == messages
    history.clear()
    assert history.messages == []
