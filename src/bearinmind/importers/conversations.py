"""Reads the conversations of data exports of Claude and ChatGPT; rules learn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from bearinmind.errors import InvalidRecord
from bearinmind.importers.files import Source, json_items
from bearinmind.importers.model import (
    Conversation,
    Format,
    Malformed,
    Place,
    Record,
    Skipped,
    each_readable,
    moment,
    text_of,
)
from bearinmind.learn.model import Message, Role

_ROLES = {
    "human": Role.USER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
}
_DEEPEST = 100_000  # messages of a conversation: more are a cycle
_INBOX = "read by the same rules as a turn; what lasts is proposed in the inbox"


def _has(field: str, source: Source) -> bool:
    item = source.first_item
    return isinstance(item, dict) and field in item


def _records(
    read: Callable[[Place, Mapping[str, object]], Iterator[Record]], source: Source
) -> Iterator[Record]:
    for line, item in json_items(source.text):
        place = Place(source.name, line)
        if isinstance(item, InvalidRecord):
            yield Malformed(place, item.message)
        elif isinstance(item, dict):
            yield from each_readable([(place, item)], read)
        else:
            yield Malformed(place, "the conversation is not a JSON object")


# ---- Claude ------------------------------------------------------------------------------------


def _claude(place: Place, item: Mapping[str, object]) -> Iterator[Record]:
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


# ---- ChatGPT -----------------------------------------------------------------------------------


def _chatgpt(place: Place, item: Mapping[str, object]) -> Iterator[Record]:
    nodes = item.get("mapping")
    if not isinstance(nodes, dict):
        raise InvalidRecord("mapping is not an object")
    said = tuple(_chatgpt_path(nodes, item.get("current_node")))
    id_ = item.get("conversation_id") or item.get("id")
    yield from _conversation(place, "chatgpt", id_, said, item.get("create_time"))


def _chatgpt_path(nodes: Mapping[str, object], last: object) -> list[Message]:
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


def _chatgpt_message(message: Mapping[str, object]) -> Message:
    author, content, metadata = (message.get(name) for name in ("author", "content", "metadata"))
    role = _role(author.get("role") if isinstance(author, dict) else None)
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        role = Role.SYSTEM
    parts = content.get("parts") if isinstance(content, dict) else None
    texts = [part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, str)]
    return Message(role=role, text="\n".join(texts))


# ---- both --------------------------------------------------------------------------------------


def _role(word: object) -> Role:
    """Who speaks; nothing is learned from anybody that is not known."""
    return _ROLES.get(str(word), Role.TOOL)


def _conversation(
    place: Place, agent: str, id_: object, said: tuple[Message, ...], begun: object
) -> Iterator[Record]:
    messages = tuple(message for message in said if message.text.strip())
    session = f"{agent}:{text_of(id_, 'the id of the conversation')}"
    if not messages:
        yield Skipped(place, "the conversation is empty")
        return
    yield Conversation(
        place=place, agent=agent, session=session, messages=messages, said_at=moment(begun)
    )


CLAUDE = Format(
    name="claude",
    title="Claude: conversations.json of a data export, or the archive",
    recognise=partial(_has, "chat_messages"),
    records=partial(_records, _claude),
    fields={
        "chat_messages: sender, text, content": _INBOX,
        "uuid": "session of the provenance, `claude:UUID`",
        "created_at": "created_at of what is learned",
        "name, summary, account, updated_at, project": "dropped: no memory is about them",
        "chat_messages: attachments, files": "dropped: shown to the model, not said",
    },
    evidence="not run here: it follows github.com/brandtcormorant/claude-json-schema",
)
CHATGPT = Format(
    name="chatgpt",
    title="ChatGPT: conversations.json of a data export, or the archive",
    recognise=partial(_has, "mapping"),
    records=partial(_records, _chatgpt),
    fields={
        "mapping: author.role, content.parts": f"{_INBOX}; along the branch that is shown",
        "conversation_id, id": "session of the provenance, `chatgpt:ID`",
        "create_time": "created_at of what is learned",
        "current_node, parent, children": "decide the branch",
        "parts that are no text": "dropped: images and files are not said",
        "title, update_time, default_model_slug, gizmo_id and others": "dropped: no memory is "
        "about them",
    },
    evidence="not run here: it follows docs/chatgpt-data-export-format.md of "
    "github.com/mitkury/chatgpt-export-parser",
)
