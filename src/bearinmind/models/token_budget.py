"""The daily token budget of a chat model, counted in a file that processes share.

The count is on the safe side: before a request all tokens that it could use are taken, and the
unused ones are given back after the answer. A process that is killed in between has spent them.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.errors import ExtractorFailure, InvalidSetting, WorkFailure
from bearinmind.models import forks
from bearinmind.models.chat import (
    DIALECTS,
    ChatAnswer,
    ChatClient,
    NotAChat,
    Question,
    prompt_tokens,
    tokens_of,
)
from bearinmind.models.outbound_http import CallFailed, Patience
from bearinmind.text.sql_statements import statements_of

if TYPE_CHECKING:
    from bearinmind.models.outbound_http import Key

_SQL = statements_of(files("bearinmind.models").joinpath("sql", "tokens.sql").read_text("utf-8"))
_BUSY_SECONDS = 30.0  # others write for milliseconds, and nobody waits for us
_KEPT_DAYS = 31


class Taken(NamedTuple):
    """The tokens that were taken for one request."""

    day: str
    tokens: int


@dataclass(frozen=True, slots=True)
class DailyTokens:
    """The tokens of one model at one address. Threads and processes may share the file."""

    file: Path
    account: str
    limit: int
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _: KW_ONLY
    setting: str = "llm_daily_tokens"  #: that names the limit
    failure: type[WorkFailure] = ExtractorFailure  #: what is raised when it is reached

    def spent(self) -> int:
        """The tokens that were used or taken today."""
        if not self.file.exists():
            return 0
        with self._writing() as connection:
            return self._spent(connection, self._today())

    def take(self, tokens: int) -> Taken:
        """Take the tokens that a request could use; raises a failure when too few are left."""
        today = self._today()
        with self._writing() as connection:
            spent = self._spent(connection, today)
            if spent + tokens > self.limit:
                raise self._used_up(spent, tokens)
            self._add(connection, today, tokens)
            oldest = str((self.now().astimezone(UTC) - timedelta(days=_KEPT_DAYS)).date())
            connection.execute(_SQL["forget"], {"day": oldest})
        return Taken(today, tokens)

    def settle(self, taken: Taken, used: int) -> None:
        """Give back the tokens that a request did not use, or count those that it used beyond."""
        with self._writing() as connection:
            self._add(connection, taken.day, used - taken.tokens)

    def _today(self) -> str:
        return str(self.now().astimezone(UTC).date())

    def _spent(self, connection: sqlite3.Connection, day: str) -> int:
        parameters = {"day": day, "account": self.account}
        row = connection.execute(_SQL["spent"], parameters).fetchone()
        return int(row[0]) if row else 0

    def _add(self, connection: sqlite3.Connection, day: str, tokens: int) -> None:
        connection.execute(_SQL["add"], {"day": day, "account": self.account, "tokens": tokens})

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; other threads and processes wait for its end."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.file, os.O_CREAT | os.O_RDWR, 0o600))
            with (
                closing(sqlite3.connect(self.file, timeout=_BUSY_SECONDS)) as connection,
                connection,
            ):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SQL["create"])
                yield connection
        except (OSError, sqlite3.Error) as exc:
            raise self.failure(
                f"the tokens of {self.account} cannot be counted in {str(self.file)!r}: {exc}",
                hint="Nothing is asked uncounted. Make the file writable; if it is damaged, delete "
                "it: today's count then begins anew.",
            ) from exc

    def _used_up(self, spent: int, wanted: int) -> WorkFailure:
        now = self.now().astimezone(UTC)
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        never = wanted > self.limit
        hint = f"It goes on tomorrow (UTC); raise `{self.setting}` to go on now."
        return self.failure(
            f"{self.account} may use {self.limit:,} tokens a day ({self.setting}): "
            f"{spent:,} are spent, and the next request may take {wanted:,}",
            hint=f"Raise `{self.setting}` to {wanted:,} at least." if never else hint,
            retry_after=(tomorrow - now).total_seconds(),
            untried=True,
        )


#: Nobody waits for an answer, but a worker must be able to stop.
PATIENCE = Patience(answer=120.0, total=300.0, tries=3, longest_pause=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What settings say about a chat model that reads texts."""

    setting: str = "llm"  #: the family of these settings
    url: str | None = None
    key: Key = None
    model: str | None = None
    dialect: str = "openai"
    cache: Path  #: the folder for what was read, and for the count of tokens
    daily_tokens: int = 100_000


class MeteredChat:
    """A chat model with a daily budget; requests are sent one after the other."""

    def __init__(
        self,
        options: ModelOptions,
        needed_by: str,
        *,
        otherwise: str = "",
        purpose: str = "",
        failure: type[WorkFailure] = WorkFailure,
        patience: Patience = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Raise `InvalidSetting` when a setting is missing; nothing is sent or made yet.

        Tokens are counted by model, address and `purpose`, and a day ends by the clock `now`.
        """
        self._setting = setting = options.setting
        if not (options.url and options.model):
            remedy = f"`{setting}_url` to the address of a server and `{setting}_model` to a model"
            raise InvalidSetting(
                f"{needed_by} needs {setting}_{'model' if options.url else 'url'}",
                hint=f"Set {remedy} there{otherwise and ', '}{otherwise}.",
            )
        self.client = ChatClient(
            DIALECTS[options.dialect],
            options.url,
            options.model,
            key=options.key,
            setting=setting,
            patience=patience,
            sleep=sleep,
            before_each=self._take,
            after_failure=self._failed,
        )
        self.account = f"{options.model} at {self.client.where}"  #: by which tokens are counted
        self.tokens = DailyTokens(
            options.cache / "llm-tokens.db",
            f"{purpose}{self.account}",
            options.daily_tokens,
            now,
            setting=f"{setting}_daily_tokens",
            failure=failure,
        )
        self._lock = forks.Lock()
        self._most = 0  # tokens of the request that is under way
        self._taken: Taken | None = None

    def ask(self, question: Question) -> ChatAnswer:
        """The model's answer; raises a `WorkFailure` when no tokens are left for it."""
        with self._lock:
            used = prompt_tokens(question)
            self._most = used + question.most_tokens
            answer = self.client.ask(question)
            if answer.prompt_tokens is not None:
                used = answer.prompt_tokens
            counted = answer.answer_tokens
            self._settle(used + (tokens_of(answer.text) if counted is None else counted))
            return answer

    def failure(self, exc: CallFailed) -> WorkFailure:
        """The error to raise for an answer that did not come, or is not one of the dialect."""
        dialect, problem = self.client.dialect, exc.problem
        hint = ""
        if self._setting != "llm":
            hint = (
                f"Check the `{self._setting}_` settings, and the `llm_` ones that stand for them."
            )
        if isinstance(exc, NotAChat):
            return self.tokens.failure(
                f"{self.account} does not answer as {dialect.name} does: it {problem}",
                hint=hint or dialect.hint,
            )
        refused = exc.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        if refused and not hint:
            hint = "Check the `llm_key` setting."
        return self.tokens.failure(
            f"{self.account} {problem}", hint=hint, retry_after=exc.retry_after
        )

    def _take(self) -> None:
        self._taken = self.tokens.take(self._most)

    def _failed(self, failed: CallFailed) -> None:
        """A refused request costs nothing; one without an answer may have cost all."""
        if not failed.sent or failed.status not in (None, HTTPStatus.OK):
            self._settle(0)

    def _settle(self, used: int) -> None:
        if self._taken is not None:
            self.tokens.settle(self._taken, used)
        self._taken = None
