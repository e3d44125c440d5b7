"""Arrays of numbers as a parameter, in the server's own form: psycopg sends a list one by one."""

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
