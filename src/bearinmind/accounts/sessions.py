"""Sessions of browsers, and the links that open one.

A token has 256 random bits, and the store keeps its hash alone. Sessions are in the store and not
in the memory of a server: a restart signs nobody out, and all servers of a database know them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bearinmind.accounts.keys import Caller
from bearinmind.errors import NotAuthenticated
from bearinmind.protocols import AuditEntry, BrowserSession, Store
from bearinmind.types import Access, UserId

LINK_LIFE = timedelta(minutes=10)  # long enough to copy it into a browser

_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)  # 256 bits in base64
_BAD_LINK = "the link was used before, has expired, or is not one of this server"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session or a link that was just made, with its token, which is seen once."""

    session: BrowserSession
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """Opens and ends the sessions of browsers."""

    store: Store
    clock: Callable[[], datetime]
    life: timedelta  #: of a session

    def new_link(self, user: UserId) -> NewSession:
        """A link that signs one browser in as a user with admin access."""
        link = self._made(user, Access.ADMIN, None, LINK_LIFE, is_link=True)
        self.store.add_session(link.session)
        return link

    def open_by_link(self, token: str) -> NewSession:
        """Open a session by a link, which is used up; raises `NotAuthenticated` for a bad one."""
        link = self._live(token)
        if link is None or not link.is_link:
            raise NotAuthenticated(_BAD_LINK)
        opened = self._made(link.user, link.access, None, self.life)
        if not self.store.add_session(opened.session, instead_of=link.hash):
            raise NotAuthenticated(_BAD_LINK)  # another browser was faster
        self._note(opened.session, "sign in", "by a link")
        return opened

    def open_for(self, caller: Caller, how: str) -> NewSession:
        """Open a session for a caller; it ends with their key, if they have one, at the latest."""
        opened = self._made(caller.user, caller.access, caller.key_id, self.life)
        self.store.add_session(opened.session)
        self._note(opened.session, "sign in", how)
        return opened

    def find(self, token: str) -> BrowserSession:
        """The session of a token; raises `NotAuthenticated` when it has none."""
        session = self._live(token)
        if session is None or session.is_link:
            raise NotAuthenticated(
                "the session has ended", hint="Sign in again with a new link or a key."
            )
        return session

    def end(self, token: str) -> None:
        """End the session of a token, if there is one."""
        session = self._live(token)
        if session is not None and self.store.end_session(session.hash):
            self._note(session, "sign out", None)

    def _live(self, token: str) -> BrowserSession | None:
        """The session or the link of a token that has not expired."""
        hash_ = hash_of(token)
        session = self.store.session(hash_) if _TOKEN.fullmatch(token) else None
        if session is None or not hmac.compare_digest(session.hash, hash_):
            return None
        return session if session.expires_at > self.clock() else None

    def _made(
        self,
        user: UserId,
        access: Access,
        key_id: str | None,
        life: timedelta,
        *,
        is_link: bool = False,
    ) -> NewSession:
        token, now = secrets.token_urlsafe(32), self.clock()
        session = BrowserSession(
            hash_of(token), user, access, key_id, is_link, created_at=now, expires_at=now + life
        )
        return NewSession(session=session, token=token)

    def _note(self, session: BrowserSession, action: str, detail: str | None) -> None:
        user, key = session.user, session.key_id
        self.store.note(AuditEntry(self.clock(), user, action, None, None, user, key, detail))


def hash_of(token: str) -> bytes:
    """The hash of a token, which the store keeps."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
