"""Faults that syncs have had, planted: each must be caught, or the simulator proves nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from unittest import mock

from bearinmind.changes import Change, Stale, Subject, Taken, Verdict, memory_subject
from bearinmind.errors import MindError
from bearinmind.protocols import Gone, History, Received, Settled, Store
from bearinmind.store.sqlite import SqliteStore
from bearinmind.sync import merge, reconcile, replica, shared_copies
from bearinmind.sync.merge import text_of, versions_of
from bearinmind.sync.model import Arrived, Operation
from bearinmind.sync.reconcile import Reconciled, Reconciliation
from bearinmind.sync.replica import Pull, Push, Replica, SyncReport
from bearinmind.sync.server_side import ServerSide
from bearinmind.types import MemoryId, Scope

Planting = Callable[[], Any]
FAULTS: dict[str, Planting] = {}


def _fault(plant: Callable[[], Iterator[None]]) -> Planting:
    planting = contextmanager(plant)
    FAULTS[plant.__name__.lstrip("_").replace("_", " ")] = planting
    return planting


# ---- those of the system that came before ------------------------------------------------------


@_fault
def _a_full_resync_deletes_what_was_not_sent() -> Iterator[None]:
    def forget(store: Store, scope: Scope, _: datetime) -> None:
        pending = store.changes(scope, 0, 10_000)
        store.receive(
            scope,
            [Received(x.subject, Gone(), x.number, settled=True) for x in pending if not x.gone],
        )

    with mock.patch.object(replica, "resend_everything", forget):
        yield


@_fault
def _retries_drop_an_operation_after_five_tries() -> Iterator[None]:
    tries: Counter[tuple[int, Subject]] = Counter()
    send = Push.send

    def give_up(self: Push, epoch: str) -> None:
        try:
            send(self, epoch)
        except MindError:
            for change in self.store.changes(self.scope, 0, 10_000):
                tries[id(self.store), change.subject] += 1
                if tries[id(self.store), change.subject] >= 5:
                    self.store.settle(self.scope, [Settled(change.subject, change.number, 0)])
            raise

    with mock.patch.object(Push, "send", give_up):
        yield


@_fault
def _an_orphan_becomes_a_twin_that_is_not_sensitive() -> Iterator[None]:
    """What the server will not take as it is, is stored again: another id, and no flag."""
    look_again = Replica._look_again

    def orphaned(self: Replica, numbers: list[int], report: SyncReport) -> None:
        pending = self.store.changes(self.scope, 0, 10_000) if numbers else []
        for subject, state in self.store.states(self.scope, [x.subject for x in pending]).items():
            if isinstance(state, History):
                last = versions_of(state)[-1]
                twin = replace(
                    last.memory,
                    id=MemoryId(subject.parts[0][::-1]),
                    content=text_of(last, self.sealing),
                    sensitive=False,
                    version=1,
                )
                received = Received(memory_subject(twin.id), History(versions=(twin,)), 0)
                self.store.receive(self.scope, [received])
        look_again(self, numbers, report)

    with mock.patch.object(Replica, "_look_again", orphaned):
        yield


# ---- others that are easily made ---------------------------------------------------------------


@_fault
def _the_server_does_not_look_at_the_base() -> Iterator[None]:
    def careless(self: ServerSide, asked: Operation, number: int, present: object) -> Received:
        return Received(asked.subject, asked.state, expected=number)

    with mock.patch.object(ServerSide, "_judged", careless):
        yield


@_fault
def _the_cursor_is_kept_before_its_page_is_taken() -> Iterator[None]:
    take = Pull.take

    def hasty(self: Pull, changes: Sequence[Arrived]) -> None:
        peer = self.store.peer(self.scope)
        if peer is not None and changes:
            self.store.keep_peer(self.scope, replace(peer, cursor=changes[-1].number))
        take(self, changes)

    with mock.patch.object(Pull, "take", hasty):
        yield


@_fault
def _what_was_sent_is_settled_though_it_changed_again() -> Iterator[None]:
    settle = SqliteStore.settle

    def settled(self: SqliteStore, scope: Scope, sent: Sequence[Settled]) -> None:
        now = self.numbers(scope, [each.subject for each in sent])
        settle(self, scope, [x._replace(number=now.get(x.subject, x.number)) for x in sent])

    with mock.patch.object(SqliteStore, "settle", settled):
        yield


@_fault
def _a_merge_drops_what_lost() -> Iterator[None]:
    unsent = merge._unsent

    def dropped(*sides: Any) -> Any:
        left, base = unsent(*sides)
        return left[-1:], base

    with mock.patch.object(merge, "_unsent", dropped):
        yield


@_fault
def _the_server_wins_over_what_was_not_sent() -> Iterator[None]:
    def overwritten(self: Reconciliation, *sides: Any, pending: bool) -> Reconciled:
        return Reconciled(sides[2], settled=True)

    with mock.patch.object(Reconciliation, "__call__", overwritten):
        yield


@_fault
def _a_lost_answer_is_taken_for_a_success() -> Iterator[None]:
    send = Push.send

    def trusting(self: Push, epoch: str) -> None:
        pending = self.store.changes(self.scope, 0, replica.BATCH)
        try:
            send(self, epoch)
        except MindError:
            self.store.settle(self.scope, [Settled(x.subject, x.number, 0) for x in pending])

    with mock.patch.object(Push, "send", trusting):
        yield


@_fault
def _a_stale_change_counts_as_taken() -> Iterator[None]:
    note = Push._note

    def blind(self: Push, changes: Sequence[Change], verdicts: Sequence[Verdict]) -> None:
        seen = [Taken(x.number) if isinstance(x, Stale) else x for x in verdicts]
        note(self, changes, seen)

    with mock.patch.object(Push, "_note", blind):
        yield


@_fault
def _a_new_epoch_is_taken_for_the_old_one() -> Iterator[None]:
    with mock.patch.object(replica, "resend_everything", return_value=None):
        yield


@_fault
def _of_two_judgements_that_of_the_server_is_kept() -> Iterator[None]:
    with mock.patch.object(reconcile, "_judged_links", reconcile._links):
        yield


# ---- what others share, and conflicts ----------------------------------------------------------


@_fault
def _what_is_not_shared_any_more_stays_on_the_machine() -> Iterator[None]:
    def keep(_store: Store, _scope: Scope, places: Sequence[object]) -> int:
        return 0 * len(places)

    with mock.patch.object(shared_copies, "purge", keep):
        yield


@_fault
def _a_conflict_is_decided_on_one_machine_alone() -> Iterator[None]:
    resolve = SqliteStore.resolve_conflict

    def quietly(self: SqliteStore, scope: Scope, number: int, at: datetime) -> bool:
        with mock.patch.object(sys.modules[resolve.__module__], "note"):
            return resolve(self, scope, number, at)

    with mock.patch.object(SqliteStore, "resolve_conflict", quietly):
        yield
