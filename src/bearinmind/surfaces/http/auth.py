"""Who may ask: keys where they are wanted, and under which names the server is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from bearinmind.accounts.gate import Caller
from bearinmind.addresses import is_loopback
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import InvalidSetting, NotAllowed
from bearinmind.types import Access, UserId

METADATA = "/.well-known/oauth-protected-resource"

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY = "*"
_MAKE_A_KEY = (
    "Make a key first: `bearinmind user add NAME`, then "
    "`bearinmind key create NAME --access admin`."
)


class Door:
    """The gate of a server, which stands open while no key is wanted.

    With `auth` set to auto it stands open only on this machine and only until the store has a
    user: from then on a key is wanted, also by a server that was started before.
    """

    def __init__(self, bearinmind: Mind, settings: Settings) -> None:
        self._bearinmind = bearinmind
        self._gate = bearinmind.accounts.gate()
        self._may_be_open = settings.auth == "off" or (
            settings.auth == "auto" and is_loopback(settings.server_host)
        )
        self._always = settings.auth == "off"
        self._anybody = Caller(user=UserId(settings.user), access=Access.ADMIN)

    @property
    def is_open(self) -> bool:
        """Whether no key is wanted; it never opens again."""
        if self._may_be_open and not self._always and self._bearinmind.accounts.users():
            self._may_be_open = False
        return self._may_be_open

    def admit(
        self, authorization: str | None, access: Access, *, address: str | None = None
    ) -> Caller:
        """Who sends a request that needs such an access.

        Raises:
            AccessDenied: they may not.
        """
        caller = self.identify(authorization, address=address)
        self.require(caller, access)
        return caller

    def identify(self, authorization: str | None, *, address: str | None = None) -> Caller:
        """Who sends a request.

        Raises:
            AccessDenied: nobody whom the server knows.
        """
        if self.is_open:
            return self._anybody
        return self._gate.identify(authorization, address=address)

    def require(self, caller: Caller, access: Access) -> None:
        """Let a caller do what needs such an access.

        Raises:
            AccessDenied: they may not.
        """
        self._gate.require(caller, access)

    def count_writes(self, caller: Caller, count: int) -> None:
        """Count what a caller writes beyond one memory a request.

        Raises:
            QuotaUsedUp: the key was used for as many writes as it may be today.
        """
        self._gate.count_writes(caller, count)


def check_start(bearinmind: Mind, settings: Settings) -> None:
    """Refuse to serve memories to whoever reaches the server.

    Raises:
        InvalidSetting: it would listen beyond this machine without keys, or nobody has one.
    """
    local = is_loopback(settings.server_host)
    if settings.auth == "off" and not local:
        raise InvalidSetting(
            f"auth = 'off' and server_host = {settings.server_host!r}: whoever reaches this "
            "machine could read and change everything",
            hint="Set `auth` to auto or on, or listen on 127.0.0.1 alone.",
        )
    wants_keys = settings.auth == "on" or not local
    if wants_keys and not bearinmind.accounts.keys():
        raise InvalidSetting(
            f"server_host = {settings.server_host!r} and auth = {settings.auth!r}: "
            "a key is wanted, and there is none yet",
            hint=_MAKE_A_KEY,
        )


# ---- what clients are told ---------------------------------------------------------------------


def base_url(settings: Settings, scheme: str, host: str | None) -> str:
    """Where the client reaches the server."""
    if settings.server_url:
        return settings.server_url.rstrip("/")
    return f"{scheme}://{host or f'{settings.server_host}:{settings.server_port}'}"


def challenge(base: str, *, sent: bool) -> str:
    """The WWW-Authenticate header of an answer to somebody without a good key."""
    error = 'error="invalid_token", ' if sent else ""
    return f'Bearer realm="bearinmind", {error}resource_metadata="{base}{METADATA}"'


def metadata(settings: Settings, base: str, resource: str = "") -> dict[str, object]:
    """What clients of OAuth 2.1 look for first (RFC 9728)."""
    return {
        "resource": base + resource,
        "resource_name": "Bear in Mind",
        "scopes_supported": [*Access],
        "bearer_methods_supported": ["header"],
        **({"authorization_servers": [*settings.oauth_issuers]} if settings.oauth_issuers else {}),
    }


# ---- under which name it is asked for ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names under which a server may be asked for.

    A page that somebody visits can have its own name lead to this machine and so ask a server that
    listens only here. Its name, and its origin, give it away.
    """

    allowed: frozenset[str]  #: empty: any

    @classmethod
    def of(cls, settings: Settings) -> Names:
        """The names that the settings allow."""
        if _ANY in settings.server_hosts:
            return cls(allowed=frozenset())
        said = {name.casefold() for name in settings.server_hosts}
        if settings.server_url:
            said.add(_host_of(settings.server_url))
        if is_loopback(settings.server_host):
            said |= _LOOPBACK_NAMES | {settings.server_host.casefold()}
        elif said:
            said.add(settings.server_host.casefold())
        return cls(allowed=frozenset(said))

    def check(self, host: str | None, origin: str | None) -> None:
        """Refuse a request that came by another name, or from a page of somebody else.

        Raises:
            NotAllowed: it did.
        """
        asked = _host_of(f"//{host}") if host else ""
        if self.allowed and asked not in self.allowed:
            raise NotAllowed(
                f"the server is not to be asked for as {(host or '')[:100]!r}",
                hint="Add the name to the `server_hosts` setting.",
            )
        if origin is not None and _host_of(origin) not in (self.allowed or {asked}):
            raise NotAllowed(
                f"pages of {origin[:100]!r} may not ask this server",
                hint="Add its host to the `server_hosts` setting if they are yours.",
            )


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:  # brackets that enclose no address
        return ""
