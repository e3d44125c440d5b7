"""Where servers are."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from bearinmind.errors import InvalidSetting


def address_of(url: str, setting: str) -> SplitResult:
    """The parts of an address.

    Raises:
        InvalidSetting: it is none; the setting whose `_url` it came from is named.
    """
    address = split(url)
    if address is None:
        raise InvalidSetting(
            f"{setting}_url = {url.rpartition('@')[2]!r} is not an address",
            hint="Give one such as http://localhost:11434/v1.",
        )
    return address


def split(url: str) -> SplitResult | None:
    """The parts of an address; None when it is none."""
    try:
        address = urlsplit(url.strip())
        good = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # a port that is none
        return None
    return address if good and not re.search(r"\s", url.strip()) else None


def is_loopback(host: str) -> bool:
    """Whether what is sent to a host stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
