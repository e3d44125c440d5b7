"""How many tokens a chat model may use in a day, counted in a file that processes share.

The count is kept on the safe side: before a request all that it could use is taken, and what it did
not use is given back after the answer. A process that is killed in between has spent it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.errors import ExtractorFailure, WorkFailure
from bearinmind.models.chat import ChatClient, Dialect, Question, Said, prompt_tokens, tokens_of
from bearinmind.models.outbound_http import CallFailed, Patience
from bearinmind.text.sql_statements import statements_of

if TYPE_CHECKING:
    from bearinmind.models.outbound_http import Key


_SQL = statements_of(files("bearinmind.models").joinpath("sql", "tokens.sql").read_text("utf-8"))
_BUSY_SECONDS = 30.0  # others write for milliseconds, and nobody waits for us
_KEPT_DAYS = 31


class Taken(NamedTuple):
    """Tokens that one request may use."""

    day: str
    tokens: int


class DailyTokens:
    """The tokens of one model at one address. Threads and processes may share the file.

    `setting` names the limit in messages, and `failure` is what is raised when it is reached.
    """

    def __init__(
        self,
        file: Path,
        account: str,
        limit: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        setting: str = "llm_daily_tokens",
        failure: type[WorkFailure] = ExtractorFailure,
    ) -> None:
        self.limit = limit
        self._setting = setting
        self._failure = failure
        self._file = file
        self._account = account
        self._now = now

    def spent(self) -> int:
        """How many were used today, or are taken.

        Raises:
            WorkFailure: they cannot be counted.
        """
        if not self._file.exists():
            return 0
        with self._writing() as connection:
            return self._spent(connection, self._today())

    def take(self, tokens: int) -> Taken:
        """Take as many as a request could use.

        Raises:
            WorkFailure: there are not so many left today, or they cannot be counted.
        """
        today = self._today()
        with self._writing() as connection:
            spent = self._spent(connection, today)
            if spent + tokens > self.limit:
                raise self._used_up(spent, tokens)
            self._add(connection, today, tokens)
            oldest = str((self._now().astimezone(UTC) - timedelta(days=_KEPT_DAYS)).date())
            connection.execute(_SQL["forget"], {"day": oldest})
        return Taken(today, tokens)

    def settle(self, taken: Taken, used: int) -> None:
        """Give back what a request did not use, or count what it used beyond that."""
        with self._writing() as connection:
            self._add(connection, taken.day, used - taken.tokens)

    def _today(self) -> str:
        return str(self._now().astimezone(UTC).date())

    def _spent(self, connection: sqlite3.Connection, day: str) -> int:
        asked = {"day": day, "account": self._account}
        row = connection.execute(_SQL["spent"], asked).fetchone()
        return int(row[0]) if row else 0

    def _add(self, connection: sqlite3.Connection, day: str, tokens: int) -> None:
        connection.execute(_SQL["add"], {"day": day, "account": self._account, "tokens": tokens})

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction of its own; whoever comes at the same time waits for its end."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))
            with (
                closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS)) as connection,
                connection,
            ):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SQL["create"])
                yield connection
        except (OSError, sqlite3.Error) as exc:
            raise self._failure(
                f"the tokens of {self._account} cannot be counted in {str(self._file)!r}: {exc}",
                hint="Nothing is asked uncounted. Make the file writable; if it is damaged, delete "
                "it: today's count then begins anew.",
            ) from exc

    def _used_up(self, spent: int, wanted: int) -> WorkFailure:
        now = self._now().astimezone(UTC)
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        never = wanted > self.limit
        hint = f"It goes on tomorrow (UTC); raise `{self._setting}` to go on now."
        return self._failure(
            f"{self._account} may use {self.limit:,} tokens a day ({self._setting}): "
            f"{spent:,} are spent, and the next request may take {wanted:,}",
            hint=f"Raise `{self._setting}` to {wanted:,} at least." if never else hint,
            retry_after=(tomorrow - now).total_seconds(),
            untried=True,
        )


#: Nobody waits for an answer, but a worker that is to stop does not hang for ever either.
PATIENCE = Patience(answer=120.0, total=300.0, tries=3, longest_pause=30.0)


class Address(NamedTuple):
    """Where a model is asked, and as whom."""

    url: str
    key: Key
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What settings say about a chat model that reads texts."""

    url: str | None = None
    key: Key = None
    model: str | None = None
    dialect: str = "openai"
    cache: Path  #: the folder for what was read, and for the count of tokens
    daily_tokens: int


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
