"""The files of the page, read once; nothing that is asked for is ever looked up on the disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources
from typing import Final

from fastapi import FastAPI, Request, Response

from bearinmind.surfaces.http import etags

_FOLDER: Final = "page"  # beside this module, and the first part of each address
_INDEX: Final = "index.html"
_KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: Nothing but these files runs, and nobody but this server is asked. Trusted types make the browser
#: refuse any text as markup, so that a memory stays text even if a later change forgets it.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
#: Those in which a page differs from other answers.
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",  # asked about each time, so that a new version is seen at once
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file of the page."""

    name: str
    content: bytes
    kind: str

    async def answer(self, request: Request) -> Response:
        """The file, or that what the browser has is still right."""
        tag = f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'
        headers = {**_HEADERS, "ETag": tag}
        if etags.is_known(request.headers.get("If-None-Match"), tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(self.content, media_type=self.kind, headers=headers)


def mount(app: FastAPI) -> None:
    """Shows the page at `/`; it needs no key, since it holds nothing."""
    for file in _files():
        address = "/" if file.name == _INDEX else f"/{_FOLDER}/{file.name}"
        # A file is no verb: it has no place in the description of the API.
        app.add_route(address, file.answer, methods=["GET"], include_in_schema=False)


def _files() -> list[_File]:
    folder = resources.files(__package__) / _FOLDER
    return [
        _File(name=each.name, content=each.read_bytes(), kind=_KINDS[each.name.rpartition(".")[2]])
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
    ]
