"""Reads the conversations of data exports of Claude and ChatGPT; rules learn from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bearinmind.errors import InvalidRecord
from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import Place, Record, Row, moment, text_of
from bearinmind.learn.model import Message, Role

_ROLES = {
    "human": Role.USER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
}
_DEEPEST = 100_000  # messages of a conversation: more are a cycle


def _has(field: str, source: Source) -> bool:
    item = source.first_item
    return isinstance(item, dict) and field in item


def _claude(place: Place, item: Row) -> Iterator[Record]:
    messages = item.get("chat_messages")
    if not isinstance(messages, list):
        raise InvalidRecord("chat_messages is not a list")
    said = tuple(_claude_message(each) for each in messages)
    yield from _conversation(place, "claude", item.get("uuid"), said, item.get("created_at"))


def _claude_message(message: object) -> Message:
    if not isinstance(message, dict):
        raise InvalidRecord("a message is not a JSON object")
    blocks = message.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    text = "\n".join(texts) or message.get("text") or ""
    return Message(role=_role(message.get("sender")), text=text_of(text, "text"))


def _chatgpt(place: Place, item: Row) -> Iterator[Record]:
    nodes = item.get("mapping")
    if not isinstance(nodes, dict):
        raise InvalidRecord("mapping is not an object")
    said = tuple(_chatgpt_path(nodes, item.get("current_node")))
    id_ = item.get("conversation_id") or item.get("id")
    yield from _conversation(place, "chatgpt", id_, said, item.get("create_time"))


def _chatgpt_path(nodes: Row, last: object) -> list[Message]:
    """The messages from the first to the one that is shown last; other branches were given up."""
    at = last if isinstance(last, str) else next(reversed([*nodes]), None)
    said: list[Message] = []
    for _ in range(_DEEPEST):
        node = nodes.get(at) if isinstance(at, str) else None
        if not isinstance(node, dict):
            break
        if isinstance(message := node.get("message"), dict):
            said.append(_chatgpt_message(message))
        at = node.get("parent")
    return said[::-1]


def _chatgpt_message(message: Row) -> Message:
    author, content, metadata = (message.get(name) for name in ("author", "content", "metadata"))
    role = _role(author.get("role") if isinstance(author, dict) else None)
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        role = Role.SYSTEM
    parts = content.get("parts") if isinstance(content, dict) else None
    texts = [part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, str)]
    return Message(role=role, text="\n".join(texts))


def _role(word: object) -> Role:
    """Who speaks; nothing is learned from anybody that is not known."""
    return _ROLES.get(str(word), Role.TOOL)


def _conversation(
    place: Place, agent: str, id_: object, said: tuple[Message, ...], begun: object
) -> Iterator[Record]:
    messages = tuple(message for message in said if message.text.strip())
    session = f"{agent}:{text_of(id_, 'the id of the conversation')}"
    if not messages:
        yield model.Skipped(place, "the conversation is empty")
        return
    yield model.Conversation(
        place=place, agent=agent, session=session, messages=messages, said_at=moment(begun)
    )


CLAUDE = model.Format(
    name="claude",
    title="Claude: conversations.json of a data export, or the archive",
    recognise=partial(_has, "chat_messages"),
    records=partial(model.json_records, read=_claude),
)
CHATGPT = model.Format(
    name="chatgpt",
    title="ChatGPT: conversations.json of a data export, or the archive",
    recognise=partial(_has, "mapping"),
    records=partial(model.json_records, read=_chatgpt),
)
