"""Addresses: the names of stores, and what people give for a server over HTTP.

A store is a file, a database on a Postgres server, or the embedded server. An address may hold a
password; the text of a name never shows it. `bearinmind.config` reads names.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from bearinmind.errors import InvalidSetting

EMBEDDED = "postgres"  #: names the embedded server
# Stricter than libpq, which quotes what it does not understand: that may be the password.
_CODE = "%(?!00)[0-9A-Fa-f]{2}"
_WORD = rf"(?:[^\s/?#@:,\[\]%]|{_CODE})*"
_HOST = rf"(?:\[[^\s/?#@\]]*\]|{_WORD})(?::\d*)?"
_URL = re.compile(
    rf"""postgres(?:ql)?://
    (?:(?P<user>{_WORD})(?::(?:[^\s/?#@%]|{_CODE})*)?@)?
    (?P<hosts>{_HOST}(?:,{_HOST})*)
    (?P<database>/{_WORD})?
    (?:\?(?P<parameters>[^\s#@]*))?""",
    re.VERBOSE,
)
_PARAMETER = re.compile(rf"([a-z_]+)=((?:[^&=%]|{_CODE})*)")
#: Parameters of a URL that say where and how, and never hold a secret.
_SHOWN = frozenset(
    """
    connect_timeout dbname host hostaddr load_balance_hosts passfile port service sslmode
    target_session_attrs user
    """.split()  # noqa: SIM905  so that it can be read
)


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A SQLite file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class StoreServer:
    """A database on a Postgres server."""

    url: SecretStr

    @classmethod
    def at(cls, url: str) -> StoreServer:
        """The database at this URL; raises `InvalidSetting` when it is not one of Postgres."""
        match = _URL.fullmatch(url)
        parameters = match["parameters"] if match else None
        if match is None or not all(map(_PARAMETER.fullmatch, _parts(parameters))):
            raise InvalidSetting(
                "the URL of the Postgres server is not valid",
                hint="Write postgresql://user:password@host:5432/database; of a name or a password "
                "write @ as %40, : as %3A, / as %2F, % as %25.",
            )
        return cls(SecretStr(url))

    @property
    def address(self) -> str:
        """The whole URL, with its password: only for connecting."""
        return self.url.get_secret_value()

    def __str__(self) -> str:
        match = _URL.fullmatch(self.address)
        if match is None:
            return "postgresql://"
        shown = [each for each in _parts(match["parameters"]) if each.partition("=")[0] in _SHOWN]
        user = f"{match['user']}@" if match["user"] else ""
        query = f"?{'&'.join(shown)}" if shown else ""
        return f"postgresql://{user}{match['hosts']}{match['database'] or ''}{query}"


@dataclass(frozen=True, slots=True)
class EmbeddedStore:
    """The database of a Postgres server that Bear in Mind itself installs and starts."""

    folder: Path | None  #: of its data; None is the user's data folder

    def __str__(self) -> str:
        return EMBEDDED if self.folder is None else f"{EMBEDDED}:{self.folder}"


StoreName = StoreFile | StoreServer | EmbeddedStore


def absolute(name: StoreName) -> StoreName:
    """The store with an absolute path."""
    match name:
        case StoreFile(path):
            return StoreFile(path.absolute())
        case EmbeddedStore(Path() as folder):
            return EmbeddedStore(folder.absolute())
    return name


def complete(name: StoreName) -> str:
    """The absolute name of a store, with its password: not for messages."""
    return name.address if isinstance(name, StoreServer) else str(absolute(name))


def fingerprint(name: StoreName) -> str:
    """A hash of a store's name without its password: it names the files that belong to it."""
    return hashlib.sha256(str(absolute(name)).encode()).hexdigest()[:16]


def _parts(parameters: str | None) -> list[str]:
    return [part for part in (parameters or "").split("&") if part]


# ---- servers over HTTP -------------------------------------------------------------------------


def address_of(url: str, setting: str) -> SplitResult:
    """The parts of an address; raises `InvalidSetting` that names the setting."""
    address = split_url(url)
    if address is None:
        raise InvalidSetting(
            f"{setting}_url = {url.rpartition('@')[2]!r} is not an address",
            hint="Give one such as http://localhost:11434/v1.",
        )
    return address


def split_url(url: str) -> SplitResult | None:
    """The parts of an http or https address; None when it is not one."""
    try:
        address = urlsplit(url.strip())
        valid = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # a port that is not a number
        return None
    return address if valid and not re.search(r"\s", url.strip()) else None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_safe(url: str) -> bool:
    """Whether secrets may be sent to an address: https, or on this machine."""
    address = split_url(url)
    is_here = address is not None and is_loopback(address.hostname or "")
    return address is not None and (address.scheme == "https" or is_here)
