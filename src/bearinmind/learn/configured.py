"""The reader of turns of a process: made once, when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bearinmind.errors import InvalidSetting

if TYPE_CHECKING:
    from bearinmind.calls import Key
    from bearinmind.learn.model import TurnReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What the `learn_` settings say about the model that reads turns."""

    url: str | None
    key: Key
    model: str | None
    dialect: str
    cache: Path
    daily_tokens: int


class ConfiguredReader:
    """Nothing is made before it is asked for; `options` is None unless a model is to read."""

    def __init__(self, options: Callable[[], ModelOptions | None]) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._reader: TurnReader | None = None

    def configured(self) -> TurnReader | None:
        """The model that reads turns; None when rules alone do.

        Raises:
            InvalidSetting: a model is to read, and a setting is missing.
        """
        with self._lock:
            options = self._options()
            if self._reader is None and options is not None:
                self._reader = _open(options)
            return self._reader

    def close(self) -> None:
        """Release the connections."""
        with self._lock:
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


def _open(options: ModelOptions) -> TurnReader:
    from bearinmind.chat.metered import Address  # noqa: PLC0415  most learn by rules alone
    from bearinmind.learn.model import TurnReader  # noqa: PLC0415  likewise

    for setting, value in (("learn_url", options.url), ("learn_model", options.model)):
        if not value:
            raise InvalidSetting(
                f"learn = 'model' needs {setting}",
                hint="Set `learn_url` to the address of a server and `learn_model` to a model "
                "there, or `llm_url` and `llm_model`; `learn = 'rules'` needs neither.",
            )
    return TurnReader(
        Address(str(options.url), options.key, str(options.model)),
        dialect=options.dialect,
        cache=options.cache,
        daily_tokens=options.daily_tokens,
    )
