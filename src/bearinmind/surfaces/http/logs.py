"""What a server writes down: one line of JSON for each request, and for what goes wrong.

Neither bodies nor queries nor keys nor the values in an exception's message are ever in it.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

LOGGER = "bearinmind.server"
LOG = logging.getLogger(LOGGER)  #: what it writes besides a message is in `extra`, as "fields"
_DEPTH = 5  # of the places that led to a fault


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; `fields` of the record are its own entries."""
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1]:
            said |= fault(record.exc_info[1])
        return json.dumps(said, ensure_ascii=False, default=str)


def set_up(stream: TextIO = sys.stderr) -> logging.Handler:
    """Have everything that the server and its libraries say written as lines of JSON."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    for name in (LOGGER, "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return handler


def failure(error: BaseException, request_id: str) -> None:
    """Write down a fault of the server: its kind and where it was, not what it says."""
    LOG.error("internal error", extra={"fields": {"request_id": request_id, **fault(error)}})


def fault(error: BaseException) -> dict[str, object]:
    """The kind of an exception and the last places it came through."""
    places = traceback.extract_tb(error.__traceback__)[-_DEPTH:]
    return {
        "error": type(error).__name__,
        "at": [f"{Path(place.filename).name}:{place.lineno} {place.name}" for place in places],
    }
