"""Calls to HTTP servers: their addresses, time-outs, retries with back-off, rate limits.

Every failure is a `CallFailed`, which an adapter turns into its own error. No key is ever part of a
message, a log or a repr.
"""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import unquote

from bearinmind.errors import InvalidSetting
from bearinmind.models import forks
from bearinmind.text.addresses import address_of, is_loopback

if TYPE_CHECKING:  # httpx takes long to import, and most commands call nobody
    import httpx
    from pydantic import SecretStr

    Key = SecretStr | Callable[[], str] | None  #: a callable is asked again for every request

Item = TypeVar("Item")

MOST_BYTES = 64 * 1024 * 1024  # of an answer: a thousand long vectors written out in decimals
_MOST_BYTES_OF_AN_ERROR = 64 * 1024
_SHOWN = 200  # characters of an answer
_HIDDEN = "***"
_JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
#: Trouble that may be over in a moment; so may everything from 500 on.
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long, and how often, a server is waited for."""

    connect: float = 10.0  #: seconds for a connection
    answer: float = 60.0  #: seconds for an answer to begin, and between two pieces of it
    total: float = math.inf  #: seconds for everything, all tries and pauses included
    tries: int = 4
    first_pause: float = 0.5  #: seconds before the second try; doubled before each further one
    longest_pause: float = 60.0  #: a server that wants more is not waited for
    jitter: float = 0.25  #: up to this share is added, lest many callers come back at once


def batches(
    items: Iterable[Item], size_of: Callable[[Item], int], *, most: int, size: int
) -> Iterator[list[Item]]:
    """Items in order, as many together as one request takes; one that is too large goes alone."""
    batch: list[Item] = []
    filled = 0
    for item in items:
        more = size_of(item)
        if batch and (len(batch) == most or filled + more > size):
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += more
    if batch:
        yield batch


def bearer(key: str) -> dict[str, str]:
    """The header of a bearer token, if there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


class CallFailed(Exception):
    """A server did not answer, or its answer cannot be used.

    The message is a predicate ("answered 500 …"); the adapter puts the subject before it.
    """

    def __init__(
        self,
        problem: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        permanent: bool = False,
        sent: bool = True,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.status = status  #: None when no answer came
        self.retry_after = retry_after  #: seconds that the server asked for
        self.permanent = permanent  #: the same call would fail again
        self.sent = sent  #: whether the server may have got the request


class Caller:
    """Posts JSON to one server and returns the JSON of its answer. Safe to share among threads."""

    def __init__(
        self,
        url: str,
        *,
        setting: str,
        key: Key = None,
        patience: Patience | None = None,
        per_minute: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
        before_each: Callable[[], None] = lambda: None,
        after_failure: Callable[[CallFailed], None] = lambda _: None,
        headers: Callable[[str], Mapping[str, str]] = bearer,
    ) -> None:
        """Nothing is sent or imported before the first call.

        `setting` is the family of settings that errors name: `llm` for `llm_url` and `llm_key`.
        Further requests than `per_minute` wait. `before_each` is called before every request,
        retries too, and may raise; `after_failure` gets the error of each. `headers` makes the
        headers of authentication from the key or the empty text.
        """
        self._setting = setting
        self._address = address = address_of(url, setting)
        #: The server, without anything secret.
        self.where = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
        self.is_local = is_loopback(address.hostname or "")  #: what is sent stays on this machine
        self._key = key
        self._patience = patience or Patience()
        self._pace = _Pace(per_minute, sleep) if per_minute else None
        self._sleep = sleep
        self._before_each = before_each
        self._after_failure = after_failure
        self._identify = headers
        self._opening = forks.Lock()
        self._client: httpx.Client | None = None
        password = unquote(address.password or "")
        self._secrets = {password} if password else set()  # never in a message
        if key is not None and not callable(key):
            self._secret()  # raises now rather than at the first call

    def __repr__(self) -> str:
        return f"Caller({self.where!r})"

    def close(self) -> None:
        """Release the connections; a later call opens new ones."""
        with self._opening:
            if self._client is not None:
                self._client.close()
            self._client = None

    def post(self, path: str, body: Mapping[str, Any], *, patience: Patience | None = None) -> Any:  # noqa: ANN401  any JSON
        """The server's answer to this body at a path below its address."""
        patience = patience or self._patience
        deadline = time.monotonic() + patience.total
        pause = 0.0
        for tried in range(1, patience.tries + 1):
            self._before_each()
            if pause:
                self._sleep(pause)
            try:
                return self._attempt(path, body, patience, deadline)
            except CallFailed as failed:
                self._after_failure(failed)
                if failed.permanent:
                    raise
                if tried == patience.tries:
                    raise _given_up(failed, f" ({tried} tries)" if tried > 1 else "") from None
                left = deadline - time.monotonic()
                try:
                    pause = pause_after(tried, patience, wanted=failed.retry_after, left=left)
                except GivenUp as why:
                    raise _given_up(failed, str(why)) from None
        raise AssertionError("a patience has at least one try")

    def excerpt(self, answer: object) -> str:
        """The beginning of an answer, for a message; no secret is in it."""
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return self.without_secrets(" ".join(text.split()))[:_SHOWN] or "nothing"

    def without_secrets(self, text: str) -> str:
        """The text without the key and the password of the address."""
        for secret in [*self._secrets]:
            text = text.replace(secret, _HIDDEN)
        return text

    def _attempt(
        self, path: str, body: Mapping[str, Any], patience: Patience, deadline: float
    ) -> Any:  # noqa: ANN401
        """One request and its answer."""
        import httpx  # noqa: PLC0415

        if self._pace is not None:
            self._pace.wait(deadline)
        left = max(0.001, deadline - time.monotonic())
        timeout = httpx.Timeout(min(patience.answer, left), connect=min(patience.connect, left))
        try:
            with self._opened().stream(
                "POST",
                self._below(path),
                content=json.dumps(body),
                headers={**_JSON_HEADERS, **self._identify(self._secret())},
                timeout=timeout,
            ) as response:
                if response.status_code != HTTPStatus.OK:
                    self._refuse(response, _read(response, _MOST_BYTES_OF_AN_ERROR, deadline))
                content = _read(response, MOST_BYTES + 1, deadline)
        except httpx.TimeoutException as exc:
            sent = not isinstance(exc, httpx.ConnectTimeout)
            raise CallFailed("does not answer in time", sent=sent) from None
        except (httpx.RequestError, httpx.InvalidURL) as exc:
            reason = self.without_secrets(str(exc)) or type(exc).__name__
            sent = not isinstance(exc, httpx.ConnectError | httpx.InvalidURL)
            raise CallFailed(f"cannot be talked to: {reason}", sent=sent) from None
        return self._decoded(content)

    def _opened(self) -> httpx.Client:
        import httpx  # noqa: PLC0415

        address = self._address
        with self._opening:
            if self._client is None:
                # A name and password from the address are then in no URL that is logged.
                own = self._key is None and address.username is not None
                names = unquote(address.username or ""), unquote(address.password or "")
                login = names if own else None
                self._client = httpx.Client(
                    auth=login,
                    verify=self._address.scheme == "https",  # else reading certificates is a waste
                    follow_redirects=False,  # a key goes to the server it was given for
                    trust_env=not self.is_local,  # no proxy on this machine
                )
            return self._client

    def _below(self, path: str) -> str:
        netloc = self._address.netloc.rpartition("@")[2]
        base = self._address.path.rstrip("/")
        return self._address._replace(netloc=netloc, path=base + path, fragment="").geturl()

    def _secret(self) -> str:
        if self._key is None:
            return ""
        key = (self._key() if callable(self._key) else self._key.get_secret_value()).strip()
        if not (key.isascii() and key.isprintable()):
            problem = f"{self._setting}_key has characters that cannot be sent"
            raise InvalidSetting(problem, hint="Copy the key again; it is plain ASCII.")
        if key:
            self._secrets.add(key)
        return key

    def _refuse(self, response: httpx.Response, content: bytes) -> NoReturn:
        status = response.status_code
        named = f"{status} {response.reason_phrase}".strip()
        if response.has_redirect_location:
            place = self.without_secrets(response.headers["Location"])[:_SHOWN]
            problem = f"answered {named} and points to {place!r}, which is not followed"
            raise CallFailed(problem, status=status, permanent=True)
        raise CallFailed(
            f"answered {named}: {self.excerpt(content.decode(errors='replace'))}",
            status=status,
            retry_after=wanted_pause(response.headers.get("Retry-After", "")),
            permanent=status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING,
        )

    def _decoded(self, content: bytes) -> Any:  # noqa: ANN401
        if len(content) > MOST_BYTES:
            problem = f"answered more than {MOST_BYTES:,} bytes"
            raise CallFailed(problem, status=HTTPStatus.OK, permanent=True)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            excerpt = self.excerpt(content[:_MOST_BYTES_OF_AN_ERROR].decode(errors="replace"))
            problem = f"answered something that is not JSON: {excerpt}"
            raise CallFailed(problem, status=HTTPStatus.OK, permanent=True) from None


class _Pace:
    """Spreads requests evenly, so that no more are sent in a minute than allowed."""

    def __init__(self, per_minute: float, sleep: Callable[[float], None]) -> None:
        self._interval = 60.0 / per_minute
        self._sleep = sleep
        self._lock = forks.Lock()
        self._next = 0.0  # when the next request may be sent

    def wait(self, deadline: float) -> None:
        """Wait for a turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            if turn > deadline:
                problem = "is not asked: our own rate limit leaves no turn in time"
                raise CallFailed(problem, retry_after=turn - now, sent=False)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)


def _read(response: httpx.Response, most: int, deadline: float) -> bytes:
    """At most so many bytes of an answer, within the time."""
    pieces: list[bytes] = []
    size = 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size >= most:
            break
        if time.monotonic() > deadline:
            raise CallFailed("does not answer in time")
    return b"".join(pieces)[:most]


class GivenUp(Exception):
    """Waiting for another try is of no use; the message ends a sentence about what went wrong."""


def pause_after(tried: int, patience: Patience, *, wanted: float | None, left: float) -> float:
    """Seconds to wait after so many tries, when so many seconds are left in all.

    Raises `GivenUp` when the time is too short, or the server wants too long a pause.
    """
    grown = min(patience.first_pause * 2.0 ** (tried - 1), patience.longest_pause)
    pause = wanted or grown
    if pause > patience.longest_pause:
        raise GivenUp(f"; it wants us to wait {pause:,.0f} seconds")
    pause *= 1.0 + patience.jitter * random.random()  # noqa: S311  no secret depends on it
    if pause >= left:
        raise GivenUp(" (no time is left for another try)")
    return pause


def _given_up(failed: CallFailed, why: str) -> CallFailed:
    problem = failed.problem + why
    return CallFailed(
        problem, status=failed.status, retry_after=failed.retry_after, sent=failed.sent
    )


def wanted_pause(text: str) -> float | None:
    """The seconds of a `Retry-After` header, which holds a number or a date."""
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
