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
from http import HTTPStatus
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError

from recollect.calls import Caller, CallFailed, Patience
from recollect.errors import ModelFailure

TIMEOUT = 120.0  # seconds for an answer: a small machine thinks for long
TRIES = 4
MOST_TOKENS = 2_000  # of an answer: ours are short, but some models think aloud first
_CHARACTERS_PER_TOKEN = 4  # of English, about
_BAD_REQUEST = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_PATH = "/chat/completions"
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


class _NoCallLeft(Exception):
    """Another request would be one too many."""


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
        self._most_calls = most_calls
        self._wishing = True  # until the server refuses a request for what it cannot do
        self._caller = Caller(
            url,
            setting="llm",
            key=SecretStr(key) if key else None,
            # One caller that asks one question after the other needs no jitter.
            patience=Patience(answer=timeout, tries=TRIES, jitter=0.0),
            sleep=sleep,
            before_each=self._count,
        )

    @property
    def is_local(self) -> bool:
        """Whether what is sent stays on this machine."""
        return self._caller.is_local

    @property
    def where(self) -> str:
        """The server, without anything secret."""
        return self._caller.where

    @property
    def spent(self) -> bool:
        """Whether no call is left."""
        return self._most_calls is not None and self.calls >= self._most_calls

    def close(self) -> None:
        """Release the connection."""
        self._caller.close()

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
        try:
            answer = self._asked(request, self._wishes(shape))
        except _NoCallLeft:
            return Unusable(reason=f"no call is left of {self._most_calls}")
        except CallFailed as exc:
            if exc.status == HTTPStatus.OK:
                raise self._of_another_kind(exc.problem) from None
            raise self._failure(exc.problem) from None
        return _read(self._content(answer), shape)

    def _asked(self, request: Mapping[str, Any], wishes: Mapping[str, Any]) -> object:
        """What the server answers; asked again without wishes when it refuses them."""
        try:
            return self._caller.post(_PATH, {**request, **wishes})
        except CallFailed as exc:
            if not (self._wishing and exc.status in _BAD_REQUEST):
                raise
        self._wishing = False
        return self._caller.post(_PATH, request)

    def _count(self) -> None:
        if self.spent:
            raise _NoCallLeft
        self.calls += 1

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

    def _content(self, answer: Any) -> str | Unusable:  # noqa: ANN401  whatever JSON holds
        """What the model said, out of the protocol's wrapping."""
        try:
            choice = answer["choices"][0]
            content = choice["message"]["content"]
            finish = choice.get("finish_reason")
        except (LookupError, TypeError, AttributeError):
            raise self._of_another_kind(f"answered {self._caller.excerpt(answer)}") from None
        if finish == "length":
            return Unusable(reason="the answer was cut off before its end")
        if not isinstance(content, str):
            return Unusable(reason="the answer is empty")
        return content

    def _of_another_kind(self, problem: str) -> ModelFailure:
        return self._failure(
            f"does not answer as an OpenAI-compatible server does: it {problem}",
            hint="`llm_url` must end where /chat/completions follows, mostly in /v1.",
        )

    def _failure(self, problem: str, hint: str = "") -> ModelFailure:
        return ModelFailure(f"{self.model} at {self.where} {problem}", hint=hint)


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
