"""The files of the page and of /docs, read once; no request ever looks a file up on the disk."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import FastAPI, Request, Response

from bearinmind.surfaces.http import responses

_INDEX: Final = "index.html"
_GZIP: Final = "gz"
_KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: Nothing but these files runs, and nobody but this server is asked. Trusted types make the browser
#: refuse any text as markup, so that a memory stays text even if a later change forgets it.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
#: Swagger UI draws its arrows and locks from addresses that hold the picture, and makes markup of
#: the texts in our own description, which it cleans first. Scripts still come from this server.
_DOCS_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: The headers in which a page differs from other answers.
_HEADERS: Final = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",  # asked about each time, so that a new version is seen at once
}


@dataclass(frozen=True, kw_only=True)
class _File:
    """A file that is served."""

    address: str
    stored: bytes
    kind: str
    policy: str
    is_packed: bool  #: whether it lies on the disk as gzip

    @cached_property
    def packed(self) -> bytes:
        """The content as gzip, made when it is first wanted."""
        return self.stored if self.is_packed else gzip.compress(self.stored, mtime=0)

    @cached_property
    def tag(self) -> str:
        """Equal only for the same content."""
        return f'"{hashlib.sha256(self.stored).hexdigest()[:16]}"'

    async def answer(self, request: Request) -> Response:
        """The file, or that the browser has it as it is."""
        headers = {**_HEADERS, "Content-Security-Policy": self.policy, "ETag": self.tag}
        if responses.is_known(request.headers.get("If-None-Match"), self.tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        headers["Vary"] = "Accept-Encoding"
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, media_type=self.kind, headers=headers)
        content = gzip.decompress(self.stored) if self.is_packed else self.stored
        return Response(content, media_type=self.kind, headers=headers)


def mount(app: FastAPI) -> None:
    """Serve the page at `/` and Swagger UI at `/docs`; neither needs a key: they hold nothing."""
    folder = resources.files(__package__)
    for file in (
        *_files(folder / "static", "/", "/page", POLICY),
        *_files(folder / "docs", "/docs", "/docs", _DOCS_POLICY),
    ):
        # A file is no verb: it has no place in the description of the API.
        app.add_route(file.address, file.answer, methods=["GET"], include_in_schema=False)


def _files(folder: Traversable, index: str, root: str, policy: str) -> Iterator[_File]:
    """The files in and below a folder; licences travel with them and are not served."""
    for each in sorted(folder.iterdir(), key=lambda x: x.name):
        if each.is_dir():
            yield from _files(each, index, f"{root}/{each.name}", policy)
        name = each.name.removesuffix(f".{_GZIP}")
        if kind := _KINDS.get(name.rpartition(".")[2]):
            yield _File(
                address=index if name == _INDEX else f"{root}/{name}",
                stored=each.read_bytes(),
                kind=kind,
                policy=policy,
                is_packed=name != each.name,
            )
