"""How each kind of chat server wants to be asked, and how it answers. Pure."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from bearinmind.models.outbound_http import Caller, CallFailed, Patience

if TYPE_CHECKING:
    from bearinmind.models.outbound_http import Key


_BYTES_PER_TOKEN = 4  # of English words
_BYTES_PER_RARE_TOKEN = 2  # of digits, marks and other scripts, which are cut into smaller pieces
_RARE = re.compile(r"[^a-zA-Z ]+")


def tokens_of(text: str) -> int:
    """About how many tokens a text is, rather too many than too few."""
    rare = sum(len(run.encode(errors="replace")) for run in _RARE.findall(text))
    common = len(text.encode(errors="replace")) - rare
    return -(-common // _BYTES_PER_TOKEN) - (-rare // _BYTES_PER_RARE_TOKEN)


_MOST_BELIEVED = 10_000_000  # tokens of one request; whoever reports more does not count
_ROOM = 512  # tokens beside the texts: what a template puts around them
_SMALLEST_CONTEXT = 4_096  # tokens


class Question(NamedTuple):
    """What a model is asked, and the form that its answer shall have."""

    system: str
    text: str
    name: str  #: of the form
    schema: Mapping[str, Any]  #: the form, as a JSON schema
    most_tokens: int  #: of the answer
    #: Whether `most_tokens` is asked for even where a server refuses everything else.
    bounded: bool = False


def prompt_tokens(asked: Question) -> int:
    """About how many tokens a question is; the form counts, as a server may put it into words."""
    return tokens_of(asked.system) + tokens_of(asked.text) + tokens_of(json.dumps(asked.schema))


class Said(NamedTuple):
    """What a model answered."""

    text: str  #: empty when it said nothing, or refused
    cut: bool = False  #: it reached the limit before its end
    prompt_tokens: int | None = None  #: as the server counts, where it does
    answer_tokens: int | None = None


class Misread(Exception):
    """An answer does not have the form that the protocol gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A protocol."""

    name: str
    path: str
    endings: tuple[str, ...]  #: of an address that go without saying
    hint: str  #: what the address must be like
    headers: Callable[[str], dict[str, str]]  #: that say who asks, by the key or the empty text
    #: The bodies of a request: with all that helps a model, and with ever less for a server that
    #: refuses it.
    bodies: Callable[[str, Question], list[dict[str, Any]]]
    said: Callable[[Any], Said]

    def address(self, url: str) -> str:
        """Where the path begins, by what a user gave as the address."""
        address, mark, query = url.strip().partition("?")
        address = address.rstrip("/")
        for ending in self.endings:
            address = address.removesuffix(ending)
        return address + mark + query


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _messages(asked: Question) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": asked.system},
        {"role": "user", "content": asked.text},
    ]


def _openai_bodies(model: str, asked: Question) -> list[dict[str, Any]]:
    plain = {"model": model, "messages": _messages(asked)}
    schema = {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": asked.name, "schema": asked.schema},
        }
    }
    best = plain | {"temperature": 0, "max_tokens": asked.most_tokens} | schema
    if not asked.bounded:
        return [best, plain]
    return [
        best,
        # The models that think first know no temperature, and call the limit something else.
        plain | {"max_completion_tokens": asked.most_tokens} | schema,
        plain | {"max_tokens": asked.most_tokens, "response_format": {"type": "json_object"}},
        plain | {"max_tokens": asked.most_tokens},
    ]


def _openai_said(answer: Any) -> Said:  # noqa: ANN401  whatever JSON holds
    try:
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        finish = choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError):
        raise Misread from None
    return Said(
        text=content if isinstance(content, str) else "",
        cut=finish == "length",
        prompt_tokens=_count(answer, "usage", "prompt_tokens"),
        answer_tokens=_count(answer, "usage", "completion_tokens"),
    )


def _anthropic_headers(key: str) -> dict[str, str]:
    return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})


def _anthropic_bodies(model: str, asked: Question) -> list[dict[str, Any]]:
    plain = {
        "model": model,
        "max_tokens": asked.most_tokens,
        "system": asked.system,
        "messages": [{"role": "user", "content": asked.text}],
    }
    tool = {
        "name": asked.name,
        "description": "Takes the answer.",
        "input_schema": asked.schema,
    }
    formed = plain | {"tools": [tool], "tool_choice": {"type": "tool", "name": asked.name}}
    return [formed | {"temperature": 0}, formed, plain]


def _anthropic_said(answer: Any) -> Said:  # noqa: ANN401
    try:
        pieces = [_anthropic_piece(block) for block in answer["content"]]
        reason = answer.get("stop_reason")
    except (LookupError, TypeError, AttributeError):
        raise Misread from None
    return Said(
        text="\n".join(pieces),
        cut=reason == "max_tokens",
        prompt_tokens=_count(answer, "usage", "input_tokens"),
        answer_tokens=_count(answer, "usage", "output_tokens"),
    )


def _anthropic_piece(block: Any) -> str:  # noqa: ANN401
    """What a block of an answer says: words, or the input of the tool that takes the answer."""
    if block["type"] == "tool_use":
        return json.dumps(block["input"], ensure_ascii=False)
    return str(block["text"]) if block["type"] == "text" else ""


def _ollama_bodies(model: str, asked: Question) -> list[dict[str, Any]]:
    # What does not fit its context is left out in silence, so the context is made to fit.
    needed = tokens_of(asked.system + asked.text) + asked.most_tokens + _ROOM
    context = max(_SMALLEST_CONTEXT, 1 << (needed - 1).bit_length())
    options = {"temperature": 0, "num_predict": asked.most_tokens, "num_ctx": context}
    plain = {"model": model, "messages": _messages(asked), "stream": False, "options": options}
    return [plain | {"format": asked.schema}, plain | {"format": "json"}, plain]


def _ollama_said(answer: Any) -> Said:  # noqa: ANN401
    try:
        content = answer["message"]["content"]
        reason = answer.get("done_reason")
    except (LookupError, TypeError, AttributeError):
        raise Misread from None
    return Said(
        text=content if isinstance(content, str) else "",
        cut=reason == "length",
        prompt_tokens=_count(answer, "prompt_eval_count"),  # left out for a prompt it knew already
        answer_tokens=_count(answer, "eval_count"),
    )


def _count(answer: Any, *path: str) -> int | None:  # noqa: ANN401
    """A number of tokens in an answer, when there is one that can be believed."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer if type(answer) is int and 0 <= answer <= _MOST_BELIEVED else None


# https://platform.openai.com/docs/api-reference/chat; vLLM, llama.cpp, LM Studio and many others
OPENAI = Dialect(
    name="openai",
    path="/chat/completions",
    endings=("/chat/completions",),
    hint="`llm_url` must end where /chat/completions follows, mostly in /v1.",
    headers=_bearer,
    bodies=_openai_bodies,
    said=_openai_said,
)
# https://docs.anthropic.com/en/api/messages
ANTHROPIC = Dialect(
    name="anthropic",
    path="/v1/messages",
    endings=("/messages", "/v1"),
    hint="`llm_url` must end where /v1/messages follows, such as https://api.anthropic.com.",
    headers=_anthropic_headers,
    bodies=_anthropic_bodies,
    said=_anthropic_said,
)
# https://docs.ollama.com/api/chat
OLLAMA = Dialect(
    name="ollama",
    path="/api/chat",
    endings=("/chat", "/api", "/v1"),
    hint="`llm_url` must end where /api/chat follows, such as http://localhost:11434.",
    headers=_bearer,
    bodies=_ollama_bodies,
    said=_ollama_said,
)
DIALECTS = {dialect.name: dialect for dialect in (OPENAI, ANTHROPIC, OLLAMA)}


_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


class NotAChat(Exception):
    """A server answers, but not as one of this dialect does; the message is a predicate."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class ChatClient:
    """One model at one address. Safe to share among threads; the key is in no message."""

    def __init__(
        self,
        dialect: Dialect,
        url: str,
        model: str,
        *,
        key: Key = None,
        setting: str = "llm",
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
        before_each: Callable[[], None] = lambda: None,
        after_failure: Callable[[CallFailed], None] = lambda _: None,
    ) -> None:
        """Nothing is sent or imported before the first question; the rest is as for `Caller`."""
        self.model = model
        self.dialect = dialect
        self._refused = 0  # bodies that the server is known to refuse, the best first
        self._caller = Caller(
            dialect.address(url),
            setting=setting,
            key=key,
            patience=patience,
            sleep=sleep,
            before_each=before_each,
            after_failure=after_failure,
            headers=dialect.headers,
        )

    def __repr__(self) -> str:
        return f"ChatClient({self.model!r}, {self.where!r})"

    @property
    def is_local(self) -> bool:
        """Whether what is sent stays on this machine."""
        return self._caller.is_local

    @property
    def where(self) -> str:
        """The server, without anything secret."""
        return self._caller.where

    def close(self) -> None:
        """Release the connections."""
        self._caller.close()

    def excerpt(self, said: object) -> str:
        """The beginning of what a server or a model said, fit for a message."""
        return self._caller.excerpt(said)

    def ask(self, asked: Question, *, patience: Callable[[], Patience] | None = None) -> Said:
        """What the model answers.

        Args:
            asked: the question.
            patience: how long to wait for each of the requests that this takes.

        Raises:
            CallFailed: the server does not answer, or refuses.
            NotAChat: it answers something else than a chat server does.
        """
        bodies = self.dialect.bodies(self.model, asked)
        for number, body in enumerate(bodies):
            if number < min(self._refused, len(bodies) - 1):
                continue
            try:
                limits = patience() if patience else None
                answer = self._caller.post(self.dialect.path, body, patience=limits)
            except CallFailed as exc:
                if exc.status == HTTPStatus.OK:
                    raise NotAChat(exc.problem) from None
                if exc.status not in _REFUSALS or body is bodies[-1]:
                    raise
            else:
                self._refused = number
                return self._said(answer)
        raise AssertionError("a dialect has at least one body")

    def _said(self, answer: object) -> Said:
        try:
            return self.dialect.said(answer)
        except Misread:
            raise NotAChat(f"answered {self.excerpt(answer)}") from None


_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_MOST_CHARACTERS = 200_000  # of an answer: more than any that we ask for
_MOST_TRIES = 500  # places at which an object may begin and does not
_decoder = json.JSONDecoder()


def json_object(text: str) -> Any:  # noqa: ANN401  whatever JSON holds
    """The one object in a text.

    Raises:
        ValueError: there is none, or it is not whole.
    """
    text = _THOUGHTS.sub("", text)
    begin, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[begin : end + 1])
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Every whole object in a text; of one that is not whole, those inside it that are."""
    text = _THOUGHTS.sub("", text)[:_MOST_CHARACTERS]
    place = text.find("{")
    tries = 0
    while place >= 0 and tries < _MOST_TRIES:
        try:
            found, place = _decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            tries += 1
            place += 1
        else:
            yield found
        place = text.find("{", place)
