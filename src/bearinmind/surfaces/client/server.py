"""The server that a client talks to: where it is, who asks, and how long it is waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from urllib.parse import SplitResult

from pydantic import SecretStr

from bearinmind.addresses import is_loopback, split
from bearinmind.calls import Patience
from bearinmind.errors import InvalidSetting

_HIDDEN = "***"
_SHOWN = 200  # characters of what a server said
_CONNECT = 5.0  # seconds
_FIRST_PAUSE = 0.1  # seconds: a server that restarts is back soon
_LONGEST_PAUSE = 30.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server as a client knows it; neither its repr nor a message holds the key."""

    address: SplitResult
    key: SecretStr | None
    patience: Patience

    @classmethod
    def at(
        cls,
        url: str,
        key: str | SecretStr | None = None,
        *,
        timeout: float,
        retries: int,
        patience: float,
    ) -> Self:
        """A server at an address.

        Raises:
            InvalidSetting: the address, the key or a number cannot be used.
        """
        address = split(url)
        if address is None or "@" in address.netloc or address.query or address.fragment:
            raise InvalidSetting(
                f"{_without_password(url)!r} is not the address of a server",
                hint="Give http://HOST:PORT; the key comes apart, as `key` or the setting "
                "`server_key`.",
            )
        for name, value, least in (
            ("timeout", timeout, 0.001),
            ("retries", retries, 0),
            ("patience", patience, 0.001),
        ):
            if not value >= least:
                raise InvalidSetting(
                    f"{name} = {value!r} is not allowed: it is at least {least}",
                    hint="Give seconds, and a number of retries.",
                )
        return cls(
            address=address,
            key=_checked(key),
            patience=Patience(
                connect=_CONNECT,
                answer=timeout,
                total=patience,
                tries=retries + 1,
                first_pause=_FIRST_PAUSE,
                longest_pause=_LONGEST_PAUSE,
            ),
        )

    @property
    def where(self) -> str:
        """The address, as messages name it."""
        return f"{self.address.scheme}://{self.address.netloc}{self.base}"

    @property
    def base(self) -> str:
        """What comes before every path, where a server is not at the root."""
        return self.address.path.rstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether what is sent stays on this machine."""
        return is_loopback(self.address.hostname or "")

    def headers(self) -> dict[str, str]:
        """The headers of every call."""
        who = {"Authorization": f"Bearer {self.key.get_secret_value()}"} if self.key else {}
        return {"Accept": "application/json", **who}

    def shown(self, said: str) -> str:
        """The beginning of what a server said, on one line, without the key."""
        return self.hidden(" ".join(said.split()))[:_SHOWN]

    def hidden(self, text: str) -> str:
        """A text in which the key is not left."""
        return text.replace(self.key.get_secret_value(), _HIDDEN) if self.key else text


def _without_password(url: str) -> str:
    """What may be shown of a text that should be an address."""
    return url.rpartition("@")[2].partition("?")[0]


def _checked(key: str | SecretStr | None) -> SecretStr | None:
    if key is None:
        return None
    text = (key.get_secret_value() if isinstance(key, SecretStr) else key).strip()
    if not text:
        return None
    if not (text.isascii() and text.isprintable()):
        raise InvalidSetting(
            "server_key has characters that cannot be sent",
            hint="Copy the key again; it is plain ASCII.",
        )
    return SecretStr(text)
