"""A chat model that is asked only as long as the day's tokens last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.calls import CallFailed, Patience
from bearinmind.chat.budget import DailyTokens, Taken
from bearinmind.chat.client import ChatClient
from bearinmind.chat.dialects import Dialect, Question, Said, prompt_tokens
from bearinmind.chat.tokens import tokens_of

if TYPE_CHECKING:
    from bearinmind.calls import Key

#: Nobody waits for an answer, but a worker that is to stop does not hang for ever either.
PATIENCE = Patience(answer=120.0, total=300.0, tries=3, longest_pause=30.0)


class Address(NamedTuple):
    """Where a model is asked, and as whom."""

    url: str
    key: Key
    model: str


class MeteredChat:
    """One model; requests are sent one after the other, and every one is paid for."""

    def __init__(
        self,
        address: Address,
        dialect: Dialect,
        tokens: Callable[[str], DailyTokens],
        *,
        setting: str = "llm",
        patience: Patience = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent before the first question.

        Args:
            address: of the model.
            dialect: that its server speaks.
            tokens: the day's tokens of an account, by its name.
            setting: how the settings of the address begin, for messages.
            patience: how long to wait for answers.
            sleep: how pauses between two tries are made.
        """
        self.client = ChatClient(
            dialect,
            address.url,
            address.model,
            key=address.key,
            setting=setting,
            patience=patience,
            sleep=sleep,
            before_each=self._take,
            after_failure=self._failed,
        )
        self.tokens = tokens(self.account)
        self._lock = threading.Lock()
        self._most = 0  # tokens of the request that is under way
        self._taken: Taken | None = None

    @property
    def account(self) -> str:
        """Who is paid."""
        return f"{self.client.model} at {self.client.where}"

    def ask(self, asked: Question) -> Said:
        """What the model answers.

        Raises:
            WorkFailure: no tokens are left for it.
            CallFailed: the server does not answer, or refuses.
            NotAChat: it answers something else than a chat server does.
        """
        with self._lock:
            prompt = prompt_tokens(asked)
            self._most = prompt + asked.most_tokens
            said = self.client.ask(asked)
            used = prompt if said.prompt_tokens is None else said.prompt_tokens
            used += tokens_of(said.text) if said.answer_tokens is None else said.answer_tokens
            self._settle(used)
            return said

    def _take(self) -> None:
        self._taken = self.tokens.take(self._most)

    def _failed(self, failed: CallFailed) -> None:
        """A request that was refused costs nothing; of one without an answer nobody knows."""
        if not failed.sent or failed.status not in (None, HTTPStatus.OK):
            self._settle(0)

    def _settle(self, used: int) -> None:
        if self._taken is not None:
            self.tokens.settle(self._taken, used)
        self._taken = None
