"""What a model says, as the streamed APIs of Anthropic, OpenAI and Google put it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol

Event = dict[str, Any]


class Api(Protocol):
    """How an API streams an answer: a text, or the call of a tool with arguments."""

    def __call__(self, number: str, said: str, arguments: Event | None = None) -> Iterable[Event]:
        """The events of an answer; the number tells it from others."""


def of(path: str) -> Api | None:
    """The API at a path; None where no model is asked for an answer."""
    if path.endswith("/v1/messages"):
        return _anthropic
    if path.endswith("/responses"):
        return _openai
    return _google if path.endswith(":streamGenerateContent") else None


def streamed(events: Iterable[Event]) -> bytes:
    """Events as they are sent: by name where they have one."""
    lines = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join(lines).encode()


def _anthropic(number: str, said: str, arguments: Event | None = None) -> Iterable[Event]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        },
    }
    if arguments is None:
        block: Event = {"type": "text", "text": ""}
        delta: Event = {"type": "text_delta", "text": said}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": said, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if arguments is None else "tool_use"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": usage,
    }
    yield {"type": "message_stop"}


def _openai(number: str, said: str, arguments: Event | None = None) -> Iterable[Event]:
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    if arguments is None:
        content = [{"type": "output_text", "text": said, "annotations": []}]
        item: Event = {"type": "message", "role": "assistant", "id": f"msg_{number}"}
        item["content"] = content
    else:
        space, _, name = said.rpartition("/")
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": name, "arguments": json.dumps(arguments)}
        item |= {"namespace": space} if space else {}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    yield {
        "type": "response.completed",
        "response": {"id": f"resp_{number}", "status": "completed", "usage": usage},
    }


def _google(number: str, said: str, arguments: Event | None = None) -> Iterable[Event]:
    call = {"functionCall": {"id": number, "name": said, "args": arguments}}
    part: Event = {"text": said} if arguments is None else call
    yield {
        "candidates": [
            {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 1,
            "totalTokenCount": 11,
        },
        "modelVersion": "scripted",
    }
