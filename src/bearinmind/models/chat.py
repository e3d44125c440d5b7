"""Chat models behind HTTP: the protocols of OpenAI, Anthropic and Ollama, and a client for them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from bearinmind.models.outbound_http import Caller, CallFailed, Patience, bearer

if TYPE_CHECKING:
    from bearinmind.models.outbound_http import Key

_BYTES_PER_TOKEN = 4  # of English words
_BYTES_PER_RARE_TOKEN = 2  # of digits, marks and other scripts, which are cut into smaller pieces
_RARE = re.compile(r"[^a-zA-Z ]+")
_MOST_BELIEVED = 10_000_000  # tokens of one request; a server that reports more cannot count
_ROOM = 512  # tokens beside the texts: what a template puts around them
_SMALLEST_CONTEXT = 4_096  # tokens
_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_MOST_CHARACTERS = 200_000  # of an answer: more than any that we ask for
_MOST_TRIES = 500  # places at which an object may begin and does not
_decoder = json.JSONDecoder()


class Question(NamedTuple):
    """A question to a model, and the form that its answer shall have."""

    system: str
    text: str
    name: str  #: of the form
    schema: Mapping[str, Any]  #: the form, as a JSON schema
    most_tokens: int  #: of the answer
    #: Whether `most_tokens` is asked for even where a server refuses everything else.
    bounded: bool = False


def prompt_tokens(question: Question) -> int:
    """About how many tokens a question is; the form counts, as a server may put it into words."""
    texts = (question.system, question.text, json.dumps(question.schema))
    return sum(map(tokens_of, texts))


def tokens_of(text: str) -> int:
    """About how many tokens a text is, rather too many than too few."""
    rare = sum(len(run.encode(errors="replace")) for run in _RARE.findall(text))
    common = len(text.encode(errors="replace")) - rare
    return -(-common // _BYTES_PER_TOKEN) - (-rare // _BYTES_PER_RARE_TOKEN)


class ChatAnswer(NamedTuple):
    """The answer of a model."""

    text: str  #: empty when it was empty, or a refusal
    cut: bool = False  #: it reached the limit before its end
    prompt_tokens: int | None = None  #: as the server counts, where it does
    answer_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A protocol."""

    name: str
    path: str
    endings: tuple[str, ...]  #: of an address that may be left out
    hint: str  #: what the address must be like
    headers: Callable[[str], dict[str, str]]  #: of authentication, by the key or the empty text
    #: The bodies of a request: with all that helps a model, and with ever less for a server that
    #: refuses it.
    bodies: Callable[[str, Question], list[dict[str, Any]]]
    #: Reads an answer; raises a `LookupError`, `TypeError` or `AttributeError` for any other JSON.
    read: Callable[[Any], ChatAnswer]

    def address(self, url: str) -> str:
        """The base address, from the one that a user gave."""
        address, mark, query = url.strip().partition("?")
        address = address.rstrip("/")
        for ending in self.endings:
            address = address.removesuffix(ending)
        return address + mark + query


def _messages(question: Question) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": question.system},
        {"role": "user", "content": question.text},
    ]


def _openai_bodies(model: str, question: Question) -> list[dict[str, Any]]:
    plain = {"model": model, "messages": _messages(question)}
    schema = {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": question.name, "schema": question.schema},
        }
    }
    best = plain | {"temperature": 0, "max_tokens": question.most_tokens} | schema
    if not question.bounded:
        return [best, plain]
    return [
        best,
        # The models that think first know no temperature, and call the limit something else.
        plain | {"max_completion_tokens": question.most_tokens} | schema,
        plain | {"max_tokens": question.most_tokens, "response_format": {"type": "json_object"}},
        plain | {"max_tokens": question.most_tokens},
    ]


def _read_openai(answer: Any) -> ChatAnswer:  # noqa: ANN401  any JSON
    choice = answer["choices"][0]
    content = choice["message"]["content"]
    return ChatAnswer(
        text=content if isinstance(content, str) else "",
        cut=choice.get("finish_reason") == "length",
        prompt_tokens=_count(answer, "usage", "prompt_tokens"),
        answer_tokens=_count(answer, "usage", "completion_tokens"),
    )


def _anthropic_bodies(model: str, question: Question) -> list[dict[str, Any]]:
    plain = {
        "model": model,
        "max_tokens": question.most_tokens,
        "system": question.system,
        "messages": [{"role": "user", "content": question.text}],
    }
    tool = {
        "name": question.name,
        "description": "Takes the answer.",
        "input_schema": question.schema,
    }
    formed = plain | {"tools": [tool], "tool_choice": {"type": "tool", "name": question.name}}
    return [formed | {"temperature": 0}, formed, plain]


def _read_anthropic(answer: Any) -> ChatAnswer:  # noqa: ANN401
    return ChatAnswer(
        text="\n".join(map(_anthropic_text, answer["content"])),
        cut=answer.get("stop_reason") == "max_tokens",
        prompt_tokens=_count(answer, "usage", "input_tokens"),
        answer_tokens=_count(answer, "usage", "output_tokens"),
    )


def _anthropic_text(block: Any) -> str:  # noqa: ANN401
    """The text of a block of an answer, or the input of the tool that takes the answer."""
    if block["type"] == "tool_use":
        return json.dumps(block["input"], ensure_ascii=False)
    return str(block["text"]) if block["type"] == "text" else ""


def _ollama_bodies(model: str, question: Question) -> list[dict[str, Any]]:
    # What does not fit its context is left out in silence, so the context is made to fit.
    needed = tokens_of(question.system + question.text) + question.most_tokens + _ROOM
    context = max(_SMALLEST_CONTEXT, 1 << (needed - 1).bit_length())
    options = {"temperature": 0, "num_predict": question.most_tokens, "num_ctx": context}
    plain = {"model": model, "messages": _messages(question), "stream": False, "options": options}
    return [plain | {"format": question.schema}, plain | {"format": "json"}, plain]


def _read_ollama(answer: Any) -> ChatAnswer:  # noqa: ANN401
    content = answer["message"]["content"]
    return ChatAnswer(
        text=content if isinstance(content, str) else "",
        cut=answer.get("done_reason") == "length",
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
    headers=bearer,
    bodies=_openai_bodies,
    read=_read_openai,
)
# https://docs.anthropic.com/en/api/messages
ANTHROPIC = Dialect(
    name="anthropic",
    path="/v1/messages",
    endings=("/messages", "/v1"),
    hint="`llm_url` must end where /v1/messages follows, such as https://api.anthropic.com.",
    headers=lambda key: {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {}),
    bodies=_anthropic_bodies,
    read=_read_anthropic,
)
# https://docs.ollama.com/api/chat
OLLAMA = Dialect(
    name="ollama",
    path="/api/chat",
    endings=("/chat", "/api", "/v1"),
    hint="`llm_url` must end where /api/chat follows, such as http://localhost:11434.",
    headers=bearer,
    bodies=_ollama_bodies,
    read=_read_ollama,
)
DIALECTS = {dialect.name: dialect for dialect in (OPENAI, ANTHROPIC, OLLAMA)}


class NotAChat(CallFailed):
    """An answer is not one of this protocol."""


class ChatClient(Caller):
    """A chat model at one address. Safe to share among threads; the key is in no message."""

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
        """Nothing is sent or imported before the first question; for the rest see `Caller`."""
        self.model = model
        self.dialect = dialect
        self._refused = 0  # bodies that the server is known to refuse, the best first
        super().__init__(
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

    def ask(
        self, question: Question, *, patience: Callable[[], Patience] | None = None
    ) -> ChatAnswer:
        """The model's answer; `patience` is made for each request. Raises `CallFailed`.

        A server that refuses a request gets simpler ones.
        """
        bodies = self.dialect.bodies(self.model, question)
        for number, body in enumerate(bodies):
            if number < min(self._refused, len(bodies) - 1):
                continue
            try:
                limits = patience() if patience else None
                answer = self.post(self.dialect.path, body, patience=limits)
            except CallFailed as exc:
                if exc.status == HTTPStatus.OK:
                    raise NotAChat(exc.problem) from None
                if exc.status not in _REFUSALS or body is bodies[-1]:
                    raise
            else:
                self._refused = number
                try:
                    return self.dialect.read(answer)
                except (LookupError, TypeError, AttributeError):
                    raise NotAChat(f"answered {self.excerpt(answer)}") from None
        raise AssertionError("a dialect has at least one body")


def json_object(text: str) -> Any:  # noqa: ANN401  any JSON
    """The one JSON object in a text; raises `ValueError` when there is no whole one."""
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
            whole, place = _decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            tries += 1
            place += 1
        else:
            yield whole
        place = text.find("{", place)
