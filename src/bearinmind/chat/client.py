"""A chat model at an address, asked one question at a time. It keeps no conversation."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from bearinmind.calls import Caller, CallFailed, Patience
from bearinmind.chat.dialects import Dialect, Misread, Question, Said

if TYPE_CHECKING:
    from bearinmind.calls import Key

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
