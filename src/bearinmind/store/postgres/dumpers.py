"""Parameters that psycopg would send one element at a time: many numbers, and plain lists."""

from __future__ import annotations

from psycopg.adapt import Dumper
from psycopg.postgres import types
from psycopg.pq import Format

REAL = types["float4"].oid


class Reals(bytes):
    """A `real[]` as it is sent."""


class RealsDumper(Dumper):
    """Sends it as it is."""

    format = Format.BINARY
    oid = types["float4"].array_oid

    def dump(self, obj: Reals) -> bytes:
        """All of it."""
        return obj


class PlainListDumper(Dumper):
    """Sends a list of texts or of numbers; of what type it is the statement says."""

    format = Format.TEXT

    def dump(self, obj: list[str] | list[int] | list[float]) -> bytes:
        """The list as a literal."""
        return f"{{{','.join([_written(each) for each in obj])}}}".encode()


def _written(each: str | float) -> str:
    if not isinstance(each, str):
        return repr(each)
    escaped = each.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
