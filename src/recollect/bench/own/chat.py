"""A model behind an OpenAI-compatible `/chat/completions`, asked for answers of a given shape.

What the server does wrong (no connection, errors, no JSON) is a `ModelFailure` after a few patient
retries. What the model does wrong (an answer of another shape) is an `Unusable`, because the next
question may well be answered. The key is never part of a message.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from recollect.errors import InvalidSetting, ModelFailure

TIMEOUT = 120.0  # seconds for an answer: a small machine thinks for long
CONNECT_TIMEOUT = 10.0
TRIES = 4
FIRST_PAUSE = 0.5  # seconds; doubled each time
LONGEST_PAUSE = 60.0  # seconds; a server that wants more is not waited for
MOST_TOKENS = 2_000  # of an answer: ours are short, but some models think aloud first
_SHOWN = 200  # characters of what a server said
_CHARACTERS_PER_TOKEN = 4  # of English, about
_BAD_REQUEST = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_LOCAL = ("localhost", "127.0.0.1", "::1")
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Generic[Shape]):
    """The model answered as it was asked to."""

    value: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """The model answered something else."""

    reason: str


def tokens(*texts: str) -> int:
    """About how many tokens these texts are."""
    return sum(map(len, texts)) // _CHARACTERS_PER_TOKEN


class Chat:
    """One model at one address; every request that is sent counts against `most_calls`."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        most_calls: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self.calls = 0
        self._address = _address(url)
        self._key = key = _key(key)
        self._most_calls = most_calls
        self._sleep = sleep
        self._wishing = True  # until the server refuses a request for what it cannot do
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=CONNECT_TIMEOUT),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            trust_env=not self.is_local,  # a proxy has no business between us and ourselves
        )

    @property
    def is_local(self) -> bool:
        """Whether what is sent stays on this machine."""
        return self._address.host in _LOCAL

    @property
    def where(self) -> str:
        """The server, without anything secret."""
        return f"{self._address.scheme}://{self._address.netloc.decode().rpartition('@')[2]}"

    @property
    def spent(self) -> bool:
        """Whether no call is left."""
        return self._most_calls is not None and self.calls >= self._most_calls

    def close(self) -> None:
        """Release the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, system: str, text: str, shape: type[Shape]) -> Answered[Shape] | Unusable:
        """The model's answer.

        Raises:
            ModelFailure: the server cannot be reached, refuses, or does not speak the protocol.
        """
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": text},
            ],
        }
        response = self._send(request | self._wishes(shape))
        if response is not None and self._wishing and response.status_code in _BAD_REQUEST:
            self._wishing = False
            response = self._send(request)
        if response is None:
            return Unusable(reason=f"no call is left of {self._most_calls}")
        if response.status_code != HTTPStatus.OK:
            raise self._failure(f"answered {_status(response)}: {self._said(response)}")
        return _read(self._content(response), shape)

    def _wishes(self, shape: type[BaseModel]) -> dict[str, Any]:
        """What helps a model to answer well, and not every server accepts."""
        if not self._wishing:
            return {}
        schema = {"name": shape.__name__.lower(), "schema": shape.model_json_schema()}
        return {
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }

    def _send(self, request: Mapping[str, Any]) -> httpx.Response | None:
        """The response, after retries; None when no call is left."""
        pause = FIRST_PAUSE
        trouble = "is not asked"
        for tried in range(TRIES):
            if self.spent:
                return None
            if tried:
                self._sleep(pause)
            self.calls += 1
            try:
                response = self._client.post(self._address, json=request)
            except httpx.TimeoutException:
                trouble, pause = "does not answer in time", FIRST_PAUSE * 2**tried
                continue
            except httpx.TransportError as exc:
                trouble, pause = f"cannot be talked to: {exc}", FIRST_PAUSE * 2**tried
                continue
            if not _is_passing(response):
                return response
            trouble = f"answered {_status(response)}: {self._said(response)}"
            pause = _wanted_pause(response) or FIRST_PAUSE * 2**tried
            if pause > LONGEST_PAUSE:
                raise self._failure(f"{trouble}; it wants us to wait {pause:,.0f} seconds")
        raise self._failure(f"{trouble} ({TRIES} tries)")

    def _content(self, response: httpx.Response) -> str | Unusable:
        """What the model said, out of the protocol's wrapping."""
        try:
            choice = response.json()["choices"][0]
            content = choice["message"]["content"]
        except (ValueError, LookupError, TypeError):
            raise self._failure(
                f"does not answer as an OpenAI-compatible server does: {self._said(response)}",
                hint="`llm_url` must end where /chat/completions follows, mostly in /v1.",
            ) from None
        if choice.get("finish_reason") == "length":
            return Unusable(reason="the answer was cut off before its end")
        if not isinstance(content, str):
            return Unusable(reason="the answer is empty")
        return content

    def _failure(self, problem: str, hint: str = "") -> ModelFailure:
        return ModelFailure(self._without_key(f"{self.model} at {self.where} {problem}"), hint=hint)

    def _said(self, response: httpx.Response) -> str:
        return self._without_key(" ".join(response.text.split()))[:_SHOWN] or "nothing"

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(f"{url.rstrip('/')}/chat/completions")
    except httpx.InvalidURL:
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidSetting(
            f"llm_url = {url.rpartition('@')[2]!r} is not an address",
            hint="Give one such as http://localhost:11434/v1.",
        )
    return address


def _key(text: str | None) -> str | None:
    key = (text or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidSetting(
            "llm_key has characters that cannot be sent",
            hint="Copy the key again; it is plain ASCII.",
        )
    return key or None


def _read(content: str | Unusable, shape: type[Shape]) -> Answered[Shape] | Unusable:
    """The JSON object in an answer, which may be wrapped in thoughts and fences."""
    if isinstance(content, Unusable):
        return content
    text = _THOUGHTS.sub("", content)
    begin, end = text.find("{"), text.rfind("}")
    try:
        return Answered(value=shape.model_validate(json.loads(text[begin : end + 1])))
    except ValidationError as exc:
        problem = exc.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the answer"
        return Unusable(reason=f"{where}: {problem['msg']}")
    except ValueError:
        return Unusable(reason=f"the answer is not JSON: {' '.join(content.split())[:60]!r}")


def _is_passing(response: httpx.Response) -> bool:
    """Whether the trouble may be over in a moment."""
    return (
        response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        or response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    )


def _wanted_pause(response: httpx.Response) -> float | None:
    """How many seconds a server asks us to wait."""
    text = response.headers.get("Retry-After", "")
    if re.fullmatch(r"\d{1,9}", text):
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _status(response: httpx.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()
