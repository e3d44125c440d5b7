"""What the routes of a server have in common: the memory, the threads, the door and the counts."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

from starlette.requests import Request
from starlette.responses import Response

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import MindError, NotAuthenticated
from bearinmind.surfaces.http import auth, problems
from bearinmind.surfaces.http.auth import Door
from bearinmind.surfaces.http.limits import Pool
from bearinmind.surfaces.http.metrics import Metrics
from bearinmind.types import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What the routes of a server have in common."""

    bearinmind: Mind
    settings: Settings
    door: Door
    pool: Pool  #: for verbs
    streams: Pool  #: for imports and exports, which take as long as they take
    metrics: Metrics

    @classmethod
    def of(cls, bearinmind: Mind, settings: Settings) -> Self:
        """The server of a memory."""
        pool = Pool(
            "bearinmind-verb",
            threads=settings.server_threads,
            queue=settings.server_queue,
            seconds=settings.request_seconds,
        )
        streams = Pool("bearinmind-stream", threads=settings.server_streams, queue=0, seconds=None)
        return cls(
            bearinmind=bearinmind,
            settings=settings,
            door=Door(bearinmind, settings),
            pool=pool,
            streams=streams,
            metrics=Metrics(pool, streams, bearinmind.work.status),
        )

    def as_caller(self, request: Request, access: Access) -> Mind:
        """The memory as whoever asks sees it. This asks the store: not for the loop.

        Raises:
            AccessDenied: they may not.
        """
        caller = self.door.admit(
            request.headers.get("Authorization"),
            access,
            address=request.client.host if request.client else None,
        )
        request.state.caller = caller
        return self.bearinmind.for_user(caller.user, caller.key_id)

    def told(self, request: Request, error: MindError) -> Response:
        """The answer that tells an error."""
        headers = {}
        if isinstance(error, NotAuthenticated):
            base = auth.base_url(self.settings, request.url.scheme, request.headers.get("Host"))
            sent = "Authorization" in request.headers
            headers = {"WWW-Authenticate": auth.challenge(base, sent=sent)}
        return problems.answer(error, request.state.request_id, headers)

    def close(self) -> None:
        """Finish what was begun."""
        self.streams.close()
        self.pool.close()


def json_answer(
    content: str | bytes, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> Response:
    """An answer in JSON."""
    return Response(content, status_code=status, media_type="application/json", headers=headers)
