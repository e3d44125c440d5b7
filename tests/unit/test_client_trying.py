"""When a call is tried again, by steps alone: no server, no sockets, no time that passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.errors import MindError
from bearinmind.models.server_calls import (
    Answered,
    Lost,
    Pause,
    Paused,
    Reply,
    Send,
    Server,
    Settled,
    Trouble,
    judged,
    trying,
)
from bearinmind.surfaces.client.verb_calls import Requests, call_of
from bearinmind.surfaces.client.verbs import ServerVerbs
from bearinmind.surfaces.verbs import requests as r
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.surfaces.verbs.verb import Nothing

NEVER_SENT = Lost("cannot be reached: refused", sent=False)
LOST = Lost("broke off", sent=True)
WELL = Answered(200, {}, b"{}")
READ = call_of(BY_NAME["stats"], Nothing())
ID = "k7f29qmxt4hd"
LINK = call_of(
    BY_NAME["link"], r.LinkRequest.model_validate({"source": ID, "kind": "causes", "target": "k2"})
)


def busy(retry_after: str | None = "1", status: int = 503) -> Answered:
    return Answered(status, {"retry-after": retry_after} if retry_after else {}, b"busy")


class Life:
    """Takes the steps of a call with replies that are given, on a clock of its own."""

    def __init__(self, *replies: Reply, slow: float = 0.0, **patience: Any) -> None:
        self.server = Server.at(
            "http://localhost:1", **{"timeout": 10.0, "retries": 3, "patience": 60.0, **patience}
        )
        self.replies = iter(replies)
        self.slow = slow  #: seconds until a reply comes
        self.now = 0.0
        self.sent = 0
        self.timeouts: list[float] = []
        self.pauses: list[float] = []

    def settle(self, call: Any) -> Settled:
        steps = trying(call, self.server, lambda: self.now)
        try:
            step = next(steps)
            while True:
                step = steps.send(self.take(step))
        except StopIteration as done:
            settled: Settled = done.value
            return settled

    def take(self, step: Send | Pause) -> Reply | Paused:
        if isinstance(step, Pause):
            self.pauses.append(step.seconds)
            self.now += step.seconds
            return Paused()
        self.sent += 1
        self.timeouts.append(step.seconds)
        self.now += self.slow
        return next(self.replies)


def test_a_good_answer_is_the_end() -> None:
    life = Life(WELL)

    assert life.settle(READ) == Settled(content=b"{}")
    assert (life.sent, life.pauses) == (1, [])


@pytest.mark.parametrize("reply", [NEVER_SENT, LOST, busy(), busy(None), Answered(502, {}, b"")])
def test_a_question_is_asked_again_after_any_passing_trouble(reply: Reply) -> None:
    life = Life(reply, reply, WELL)

    assert life.settle(READ).error is None
    assert life.sent == 3


@pytest.mark.parametrize("reply", [LOST, busy(None), Answered(500, {}, b""), busy("1", 504)])
def test_what_may_have_been_done_is_not_done_again(reply: Reply) -> None:
    life = Life(reply)

    error = life.settle(LINK).error
    assert life.sent == 1
    assert error is not None
    assert "whether it was done is not known" in error.message


@pytest.mark.parametrize("reply", [NEVER_SENT, busy(), busy(status=429)])
def test_what_was_not_done_for_certain_is_tried_again(reply: Reply) -> None:
    life = Life(reply, WELL)

    assert life.settle(LINK) == Settled(content=b"{}", doubtful=False)
    assert life.sent == 2


def test_a_try_that_may_have_been_done_leaves_a_doubt() -> None:
    assert Life(LOST, WELL).settle(READ).doubtful
    assert not Life(busy(), WELL).settle(READ).doubtful


def test_tries_are_counted_and_the_last_trouble_is_told() -> None:
    life = Life(LOST, LOST, LOST, NEVER_SENT, WELL)

    error = life.settle(READ).error
    assert life.sent == 4
    assert isinstance(error, errors.ServerUnreachable)
    assert error.message == (
        "the server at http://localhost:1 cannot be reached: refused (4 tries)"
    )
    assert "bearinmind serve" in error.hint


def test_without_retries_nothing_is_tried_twice() -> None:
    life = Life(LOST, WELL, retries=0)

    assert life.settle(READ).error is not None
    assert life.sent == 1


def test_pauses_grow_and_are_never_shorter_than_the_server_asks_for() -> None:
    life = Life(LOST, LOST, busy("7"), WELL)

    life.settle(READ)
    first, second, asked = life.pauses
    assert first < second < asked
    assert asked >= 7


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for() -> None:
    life = Life(busy("86400", 429))

    error = life.settle(READ).error
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == 86_400
    assert life.sent == 1
    assert life.pauses == []


def test_everything_ends_within_its_patience() -> None:
    life = Life(*[LOST] * 100, slow=9.0, retries=99, patience=30.0)

    error = life.settle(READ).error
    assert error is not None
    assert "no time is left" in error.message
    assert life.now <= 30.0 + 9.0  # the last try may take as long as a try takes
    assert life.timeouts[-1] < 10.0  # and is told how much is left


def test_a_refusal_is_final() -> None:
    life = Life(Answered(404, {}, b'{"code": "memory_not_found", "detail": "gone"}'))

    assert isinstance(life.settle(READ).error, errors.MemoryNotFound)
    assert life.sent == 1


def test_a_store_that_somebody_must_see_to_is_not_asked_again() -> None:
    life = Life(Answered(503, {"retry-after": "1"}, b'{"code": "store_full", "detail": "full"}'))

    assert isinstance(life.settle(READ).error, errors.StoreFull)
    assert life.sent == 1


class Unrun:
    """Leaves the steps of a verb to the test."""

    def run(self, begin: Callable[[], Any]) -> Any:
        return begin()


def test_what_is_stored_may_be_sent_again_because_it_has_a_key() -> None:
    server = Life().server
    calls = Requests(server=server, clock=lambda: 0.0, new_key=lambda: "once")
    verbs: Any = ServerVerbs(calls, Unrun())
    steps = verbs.store("x")

    step = next(steps)
    assert isinstance(step, Send)
    assert step.call.headers["Idempotency-Key"] == "once"
    assert step.call.repeatable
    assert isinstance(steps.send(LOST), Pause)
    assert steps.send(Paused()) == step


@pytest.mark.parametrize(("version", "repeatable"), [(None, False), (3, True)])
def test_a_change_may_be_sent_again_if_it_says_which_version_it_changes(
    version: int | None, repeatable: bool
) -> None:
    request = r.UpdateRequest(id=ID, importance=0.9, expected_version=version)

    assert call_of(BY_NAME["update"], request).repeatable == repeatable


# ---- from answers to errors --------------------------------------------------------------------


def every_kind(kind: type[MindError] = MindError) -> Iterator[type[MindError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__.startswith("bearinmind.errors."):
            yield from every_kind(below)


def error_of(status: int, content: bytes, **headers: str) -> MindError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = judged(Answered(status, named, content), Life().server)
    assert isinstance(found, Trouble)
    return found.error()


@pytest.mark.parametrize("kind", [*every_kind()], ids=lambda kind: kind.code)
def test_an_error_of_the_server_is_the_same_error_here(kind: type[MindError]) -> None:
    document = b'{"code": "%s", "detail": "what was wrong", "hint": "what to do"}'

    error = error_of(400, document % kind.code.encode())

    assert type(error) is kind
    assert (error.message, error.hint) == ("what was wrong", "what to do")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.NotAuthenticated),
        (403, errors.AccessDenied),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (412, errors.VersionConflict),
        (422, errors.InvalidInput),
        (429, errors.Later),
        (500, errors.ServerFailure),
        (503, errors.ServerFailure),
        (504, errors.TimedOut),
        (418, MindError),
    ],
)
def test_an_error_of_a_newer_server_belongs_to_its_family(
    status: int, kind: type[MindError]
) -> None:
    assert type(error_of(status, b'{"code": "from_the_future", "detail": "?"}')) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, errors.InvalidAnswer),
        (404, errors.InvalidAnswer),
        (401, errors.NotAuthenticated),
        (413, errors.RequestTooLarge),
        (502, errors.ServerFailure),
        (503, errors.ServerOverloaded),
        (504, errors.TimedOut),
        (999, errors.ServerFailure),
    ],
)
def test_what_is_no_problem_document_is_judged_by_its_status(
    status: int, kind: type[MindError]
) -> None:
    error = error_of(status, b"<html>no</html>", location="http://elsewhere/")

    assert type(error) is kind
    assert "http://localhost:1" in error.message


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000, b'{"code": 3}'])
def test_nonsense_in_place_of_a_problem_document_is_an_error_too(content: bytes) -> None:
    assert isinstance(error_of(500, content), errors.ServerFailure)


def test_the_key_is_in_no_error_even_if_the_server_says_it() -> None:
    server = Server.at("http://h", "sk-secret", timeout=1, retries=0, patience=1)
    document = b'{"code": "not_allowed", "detail": "sk-secret may not", "hint": "not sk-secret"}'

    for content in (document, b"your key is sk-secret"):
        found = judged(Answered(403, {}, content), server)
        assert isinstance(found, Trouble)
        assert "sk-secret" not in f"{found.error().message} {found.error().hint} {found!r}"
    assert "sk-secret" not in repr(server)
