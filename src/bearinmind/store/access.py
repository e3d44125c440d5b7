"""Who may come in: users, keys and sessions; what is counted of them, and their secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from typing import Any

from bearinmind import errors
from bearinmind.protocols import (
    AuditEntry,
    BrowserSession,
    DeadJob,
    OwnerSize,
    OwnerUse,
    Sealed,
    Step,
    TrafficCount,
    TrafficPoint,
    User,
    UserTraffic,
)
from bearinmind.store import rows, writes
from bearinmind.store.database import Row
from bearinmind.store.rows import OnDatabase, Owned
from bearinmind.types import (
    Access,
    Key,
    Memory,
    MemoryId,
    Scope,
    Share,
    UserId,
)

_MINUTE = 60_000_000  # microseconds
#: What erases an owner, in an order that leaves no row without the one that it refers to.
_GRAPH = (
    *("erase_evidence", "erase_merges", "erase_relations", "erase_mentions", "erase_concepts"),
    *("erase_readings", "erase_work", "erase_vectors"),
)
_OWNED = (
    *("erase_indexed", "erase_links", "erase_secrets", "erase_shares", "erase_memories"),
    *("erase_tenants", "erase_proposals", "erase_feeds", "erase_changes", "erase_peers"),
    *("erase_peer_numbers", "erase_conflicts", "erase_traffic", "erase_audit"),
)
_OF_USER = (
    *("erase_share_changes", "erase_share_numbers", "erase_share_conflicts", "redact_audit"),
    *("redact_sources", "erase_sessions", "erase_uses", "erase_keys", "erase_user"),
)


class AccessInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.{Accounts,BrowserSessions,ServerCounts,Secrets}`."""

    def add_user(self, user: User) -> bool:
        with self._database.writing() as transaction:
            return bool(transaction.change("add_user", rows.from_noun(user)))

    def users(self) -> list[User]:
        return [rows.to_noun(User, row) for row in self._database.read("users")]

    def user(self, name: UserId) -> User | None:
        records = self._database.read("user_to_let_in", {"name": name})
        return rows.to_noun(User, records[0]) if records else None

    def set_disabled(self, name: UserId, at: datetime | None) -> bool:
        changed = {"name": name, "disabled_at": rows.from_end(at)}
        with self._database.writing() as transaction:
            return bool(transaction.change("set_disabled", changed))

    def held_by(self, name: UserId) -> dict[str, int]:
        return dict(self._database.read("held_by_user", {"owner": name}))

    def erase_user(self, name: UserId, pseudonym: str) -> bool:
        copies = [owner for [owner] in self._database.read("copy_owners")]
        owners = [name, *(owner for owner in copies if name in owner.split("/"))]
        before = {"name": name, "keys": [key.id for key in self.keys(name)]}
        with self._database.writing(*owners) as transaction:
            for owner in owners:
                owned = Owned(transaction, UserId(owner))
                for statement in (*_GRAPH, *self._database.steps.vectors_erased, *_OWNED):
                    owned.change(statement)
                writes.scrub_index(self._database, owned)
            for statement in _OF_USER:
                transaction.change(statement, before | {"pseudonym": pseudonym})
        return self.scrub()

    def add_key(self, key: Key) -> None:
        with self._database.writing() as transaction:
            if not transaction.change("add_key", rows.from_noun(key)):
                raise errors.UserNotFound(f"there is no user {key.user!r}")

    def key(self, id: str) -> Key | None:
        records = self._database.read("key_to_let_in", {"id": id})
        return _to_key(records[0]) if records else None

    def keys(self, user: UserId | None = None) -> list[Key]:
        return [*map(_to_key, self._database.read("keys", {"user": user}))]

    def end_key(self, id: str, *, revoked_at: datetime) -> bool:
        ended = {"id": id, "revoked_at": rows.from_time(revoked_at)}
        with self._database.writing() as transaction:
            return bool(transaction.change("end_key", ended))

    def count_writes(self, key_id: str, day: date, most: int, count: int = 1) -> bool:
        place = {"key_id": key_id, "day": rows.from_day(day)}
        counted = {**place, "most": most, "count": count}
        with self._database.writing() as transaction:
            is_counted = bool(transaction.change("count_writes", counted))
        if is_counted:
            midnight = datetime.combine(day, time.min, UTC)
            # In a transaction of its own: two keys never wait for each other.
            with self._database.writing() as transaction:
                transaction.change("count_together", counted | {"since": rows.from_time(midnight)})
        return is_counted

    def carry_writes(self, old: str, new: str, day: date) -> None:
        carried = {"old": old, "key_id": new, "day": rows.from_day(day)}
        with self._database.writing() as transaction:
            transaction.change("carry_writes", carried)

    def writes_with(self, key_id: str, day: date) -> int:
        used = {"key_id": key_id, "day": rows.from_day(day)}
        return sum(writes for [writes] in self._database.read("writes_with", used))

    def take_allowance(self, client: str, now: datetime, per_minute: int, count: int) -> int:
        interval = _MINUTE // per_minute
        taken = {"client": client, "now": rows.from_time(now), "count": count}
        taken |= {"interval": interval, "span": interval * per_minute}
        with self._database.writing() as transaction:
            records = transaction.rows("take_allowance", taken)
        return records[0][0] if records else 0

    def allowance_wait(self, client: str, now: datetime, per_minute: int) -> float:
        interval = _MINUTE // per_minute
        span = {"now": rows.from_time(now), "span": interval * per_minute}
        records = self._database.read("allowance_wait", {"client": client, **span})
        return max(0, records[0][0] + interval) / 1_000_000 if records else 0.0

    def forget_allowances(self, now: datetime) -> None:
        with self._database.writing() as transaction:
            transaction.change("forget_allowances", {"now": rows.from_time(now)})

    def whole_audit(self, limit: int) -> list[AuditEntry]:
        records = self._database.read("list_whole_audit", {"limit": limit})
        return [rows.to_noun(AuditEntry, row) for row in records]

    # ---- sessions of browsers ------------------------------------------------------------------

    def add_session(self, session: BrowserSession, *, instead_of: bytes | None = None) -> bool:
        with self._database.writing() as transaction:
            if instead_of and not transaction.change("end_session", {"hash": instead_of}):
                return False
            transaction.change("forget_sessions", {"now": rows.from_time(session.created_at)})
            if not transaction.change("add_session", rows.from_noun(session)):
                raise errors.UserNotFound(f"there is no user {session.user!r}")
        return True

    def session(self, token_hash: bytes) -> BrowserSession | None:
        records = self._database.read("session_to_let_in", {"hash": token_hash})
        if not records:
            return None
        return rows.to_noun(BrowserSession, records[0], hash=bytes, access=Access, is_link=bool)

    def end_session(self, token_hash: bytes) -> bool:
        with self._database.writing() as transaction:
            return bool(transaction.change("end_session", {"hash": token_hash}))

    # ---- what servers count --------------------------------------------------------------------

    def count_traffic(self, counts: Sequence[TrafficCount], now: datetime) -> None:
        with self._database.writing() as transaction:
            transaction.change_each("count_traffic", _steps_of(counts))
            for step in Step:
                before = rows.from_time(now - step.kept)
                transaction.change("forget_traffic", {"step": _seconds(step), "before": before})

    def traffic(self, scope: Scope, step: Step, since: datetime) -> list[TrafficPoint]:
        return _points(self._read(scope, "traffic_of", **_span(step, since)))

    def whole_traffic(self, step: Step, since: datetime) -> list[TrafficPoint]:
        return _points(self._database.read("traffic_of_all", _span(step, since)))

    def traffic_by_user(self, step: Step, since: datetime) -> list[UserTraffic]:
        records = self._database.read("users_in_traffic", _span(step, since))
        return [UserTraffic(user, **counts) for user, counts in _by_first(records).items()]

    def writes_on(self, day: date) -> dict[str, int]:
        return dict(self._database.read("uses_of_day", {"day": rows.from_day(day)}))

    def all_shares(self, limit: int) -> list[Share]:
        return [*map(rows.to_share, self._database.read("all_shares", {"limit": limit}))]

    def sizes_by_owner(self, limit: int) -> list[OwnerSize]:
        records = self._database.read("versions_by_owner", {"limit": limit})
        return [OwnerSize(*record) for record in records]

    def uses_by_owner(self) -> list[OwnerUse]:
        return [OwnerUse(*record) for record in self._database.read("uses_by_owner")]

    def queue_ends(self) -> list[tuple[str, int, int]]:
        return [(kind, first, last) for kind, first, last in self._database.read("queue_ends")]

    def dead_jobs(self, limit: int) -> list[DeadJob]:
        records = self._database.read("dead_jobs", {"limit": limit})
        return [DeadJob(*record) for record in records]

    # ---- secrets -------------------------------------------------------------------------------

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        return [rows.to_noun(Sealed, row) for row in self._read(scope, "secrets_of", id=id)]

    def sensitive(self, scope: Scope) -> list[Memory]:
        return [*map(rows.to_memory, self._read(scope, "list_sensitive"))]

    def sealed_under(self) -> dict[str, int]:
        return dict(self._database.read("sealed_under"))

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        retired = [{"key_id": key_id, "now": rows.from_time(now)} for key_id in key_ids]
        with self._database.writing(alone=True) as transaction:
            transaction.change_each("retire_key", retired)

    def retired_keys(self) -> frozenset[str]:
        return frozenset(row[0] for row in self._database.read("retired_keys"))

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        place = (after.owner, after.id, after.version) if after else ("", "", 0)
        behind = dict(zip(("owner", "id", "version"), place, strict=True))
        records = self._database.read(
            "sealed_otherwise", behind | {"key_id": key_id, "limit": limit}
        )
        return [rows.to_noun(Sealed, row) for row in records]

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        done = 0
        with self._database.writing(*(old.owner for old, _ in pairs)) as transaction:
            for old, new in pairs:
                record = asdict(new)
                if transaction.change("reseal", record | {"before": old.nonce}):
                    transaction.change("rehash", record | {"before": old.fingerprint})
                    done += 1
        return done

    def note(self, entry: AuditEntry) -> None:
        with self._writing(Scope(user=entry.owner)) as transaction:
            [number] = transaction.numbers(1)
            transaction.change("note_audit", rows.from_noun(entry) | {"number": number})

    def audit(
        self, scope: Scope, limit: int, actions: Sequence[str] | None = None
    ) -> list[AuditEntry]:
        records = self._read(scope, "list_audit", actions=actions and [*actions], limit=limit)
        return [rows.to_noun(AuditEntry, row) for row in records]


def _to_key(row: Row) -> Key:
    return rows.to_noun(Key, row, access=Access, hash=bytes)


def _span(step: Step, since: datetime) -> dict[str, Any]:
    return {"step": _seconds(step), "since": rows.from_time(since)}


def _seconds(step: Step) -> int:
    return int(step.length.total_seconds())


def _steps_of(counts: Sequence[TrafficCount]) -> list[dict[str, Any]]:
    """The minutes and the hours of counts, in one order: two servers must not wait crosswise."""
    sums: Counter[tuple[str, str, int, int]] = Counter()
    for counted in counts:
        moment = rows.moment(counted.at)
        for step in Step:
            width = _seconds(step) * 1_000_000
            place = (counted.user, counted.kind, _seconds(step), moment // width * width)
            sums[place] += counted.number
    names = ("owner", "kind", "step", "start")
    return [dict(zip(names, place, strict=True), count=sums[place]) for place in sorted(sums)]


def _points(records: Sequence[Row]) -> list[TrafficPoint]:
    turned = [(start, kind, count) for kind, start, count in records]
    return [
        TrafficPoint(rows.to_time(start), **counts) for start, counts in _by_first(turned).items()
    ]


def _by_first(records: Sequence[Row]) -> dict[Any, dict[str, int]]:
    """Counts by kind, of all records that begin alike."""
    grouped: dict[Any, dict[str, int]] = {}
    for first, kind, count in records:
        grouped.setdefault(first, {})[kind] = count
    return grouped
