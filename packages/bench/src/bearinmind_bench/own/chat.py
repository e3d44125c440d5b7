"""A model behind an OpenAI-compatible `/chat/completions`, asked for answers of a given shape.

What the server does wrong (no connection, errors, no JSON) is a `ModelFailure` after a few patient
retries. What the model does wrong (an answer of another shape) is an `Unusable`, because the next
question may well be answered. The key is never part of a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError

from bearinmind.config import Settings
from bearinmind.errors import InvalidSetting, ModelFailure
from bearinmind.errors.flaws import shortened, wrong
from bearinmind.models.chat import OPENAI, ChatAnswer, ChatClient, NotAChat, Question, json_object
from bearinmind.models.outbound_http import CallFailed, Patience
from bearinmind_bench.own.folder import About

TIMEOUT = 120.0  # seconds for an answer: a small machine thinks for long
TRIES = 4
MOST_TOKENS = 2_000  # of an answer: ours are short, but some models think aloud first
HOPELESS = 5  # unusable answers in a row, after which the model is not asked any more
_CHARACTERS_PER_TOKEN = 4  # of English, about

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
        self._chat = ChatClient(
            OPENAI,
            url,
            model,
            key=SecretStr(key) if key else None,
            # One caller that asks one question after the other needs no jitter.
            patience=Patience(answer=timeout, tries=TRIES, jitter=0.0),
            sleep=sleep,
            before_each=self._count,
        )

    @property
    def is_local(self) -> bool:
        """Whether what is sent stays on this machine."""
        return self._chat.is_local

    @property
    def where(self) -> str:
        """The server, without anything secret."""
        return self._chat.where

    @property
    def spent(self) -> bool:
        """Whether no call is left."""
        return self._most_calls is not None and self.calls >= self._most_calls

    def close(self) -> None:
        """Release the connection."""
        self._chat.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, system: str, text: str, shape: type[Shape]) -> Answered[Shape] | Unusable:
        """The model's answer.

        Raises:
            ModelFailure: the server cannot be reached, refuses, or does not speak the protocol.
        """
        question = Question(
            system, text, shape.__name__.lower(), shape.model_json_schema(), MOST_TOKENS
        )
        try:
            reply = self._chat.ask(question)
        except _NoCallLeft:
            return Unusable(reason=f"no call is left of {self._most_calls}")
        except NotAChat as exc:
            raise self._of_another_kind(exc.problem) from None
        except CallFailed as exc:
            raise self._failure(exc.problem) from None
        return _read(reply, shape)

    def _count(self) -> None:
        if self.spent:
            raise _NoCallLeft
        self.calls += 1

    def _of_another_kind(self, problem: str) -> ModelFailure:
        return self._failure(
            f"does not answer as an OpenAI-compatible server does: it {problem}",
            hint=OPENAI.hint,
        )

    def _failure(self, problem: str, hint: str = "") -> ModelFailure:
        return ModelFailure(f"{self.model} at {self.where} {problem}", hint=hint)


def _read(reply: ChatAnswer, shape: type[Shape]) -> Answered[Shape] | Unusable:
    """The JSON object in an answer, which may be wrapped in thoughts and fences."""
    if reply.cut:
        return Unusable(reason="the answer was cut off before its end")
    if not reply.text:
        return Unusable(reason="the answer is empty")
    try:
        return Answered(value=shape.model_validate(json_object(reply.text)))
    except ValidationError as exc:
        problem = exc.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the answer"
        return Unusable(reason=f"{where}: {wrong(problem, shortened(problem['input']))}")
    except ValueError:
        return Unusable(reason=f"the answer is not JSON: {' '.join(reply.text.split())[:60]!r}")


def hopeless(model: Chat, last: Unusable) -> ModelFailure:
    """Why a model is not asked any more."""
    return ModelFailure(
        f"{model.model} at {model.where} gave {HOPELESS} unusable answers in a row; "
        f"the last one: {last.reason}",
        hint="What was answered before is kept. Try a larger model.",
    )


def writer(settings: Settings, most_calls: int) -> Chat:
    """The model that writes questions.

    Raises:
        InvalidSetting: none is configured.
    """
    return _chat(
        settings, _named(settings, "llm_model", "Set both, or leave out --llm."), most_calls
    )


def judge(settings: Settings, about: About) -> Chat:
    """The model that grades, which must not have written the questions.

    Raises:
        InvalidSetting: none is configured, or it would judge its own work.
    """
    hint = "Set both, or grade by hand with `bearinmind bench own label`."
    name = _named(settings, "judge_model", hint)
    if name in about.generators:
        raise InvalidSetting(
            f"judge_model = {name!r} wrote questions of this set, and would judge its own work",
            hint="Choose another model as judge_model.",
        )
    return _chat(settings, name, None)


def _named(settings: Settings, setting: str, hint: str) -> str:
    for needed in ("llm_url", setting):
        if not getattr(settings, needed):
            raise InvalidSetting(
                f"llm_url and {setting} say which model to ask, and {needed} is not set", hint=hint
            )
    return str(getattr(settings, setting))


def _chat(settings: Settings, model: str, most_calls: int | None) -> Chat:
    key = settings.llm_key.get_secret_value() if settings.llm_key else None
    return Chat(str(settings.llm_url), model, key, most_calls=most_calls)
