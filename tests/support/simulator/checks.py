"""What must hold when everything is over, told apart from the code that is to see to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from bearinmind.changes import ConflictKind, SyncConflict, conflict_subject, digest
from bearinmind.protocols import Store, Vault
from bearinmind.types import Decider, Link, Memory, MemoryId, Scope, Share
from support.simulator.ledger import SECRET, Broken, Ledger, memories_of, words_of

_DECIDERS = [*Decider]


class Found(NamedTuple):
    """All that is in a store, read once."""

    histories: dict[MemoryId, list[Memory]]
    words: dict[MemoryId, set[str]]  #: of all versions; every secret was opened for it
    links: list[Link]
    shares: list[Share]

    @property
    def told(self) -> dict[str, object]:
        """All that must be the same everywhere."""
        same: dict[str, object] = {
            f"memory {id_}": [(memory.version, digest(memory)) for memory in versions]
            for id_, versions in self.histories.items()
        }
        for link in self.links:
            name = f"link {link.source} {link.kind} {link.target} {link.created_at.isoformat()}"
            same[f"{name} until {link.removed_at}"] = link.judgement
        for share in self.shares:
            same[f"share {share.reader} {share.memory or share.tag}"] = share.right
        return same


def found_in(store: Store, vault: Vault, scope: Scope) -> Found:
    """Look at all that is in a store.

    Raises:
        Broken: what a sensitive version says is not there.
        VaultFailure: it is, and does not open.
    """
    ids = [memory.id for memory in memories_of(store, scope)]
    histories = {id_: store.versions(scope, id_) for id_ in ids}
    return Found(
        histories,
        {
            id_: {x for each in words_of(store, vault, scope, versions) for x in each}
            for id_, versions in histories.items()
        },
        [*store.all_links(scope)],
        store.shares(scope),
    )


def check_same(found: dict[str, Found]) -> None:
    """All stores hold the same, version by version."""
    (first, expected), *others = [(name, each.told) for name, each in found.items()]
    for name, told in others:
        if told != expected:
            differing = sorted(
                key
                for key in {*told, *expected}
                if told.get(key, "nothing") != expected.get(key, "nothing")
            )
            raise Broken(f"{name} and {first} differ in {differing}")


def check_conflicts(found: dict[str, list[SyncConflict]]) -> None:
    """Every conflict is known everywhere, once, and decided everywhere if it is anywhere."""
    for conflicts in found.values():
        if len({*map(conflict_subject, conflicts)}) < len(conflicts):
            raise Broken("a conflict is listed twice")
    told = {name: {x._replace(number=0) for x in each} for name, each in found.items()}
    first, *others = told
    for name in others:
        if told[name] != told[first]:
            raise Broken(f"{name} and {first} differ in {told[name] ^ told[first]}")


def check_nothing_lost(ledger: Ledger, found: Found, conflicts: Iterable[SyncConflict]) -> None:
    """Every acknowledged write is in the history of its memory, and nowhere else.

    A link may be dropped for another one that makes it impossible, but then a conflict says so.
    """
    marks: dict[str, set[MemoryId]] = {}
    for id_, words in found.words.items():
        for word in words:
            marks.setdefault(word, set()).add(id_)
    for mark, id_ in ledger.written.items():
        holding = marks.get(mark, set())
        if not holding and mark not in ledger.removed:
            raise Broken(f"the write {mark} of {id_} is lost")
        if holding - {id_}:
            raise Broken(f"the write {mark} of {id_} is also in {sorted(holding - {id_})}")
    there: set[tuple[str, ...]] = {(x.source, x.kind.value, x.target) for x in found.links}
    there |= {x.subject.parts for x in conflicts if x.kind is ConflictKind.LINKED}
    for triple in {*ledger.linked} - ledger.unlinked - there:
        if ledger.purged.isdisjoint((MemoryId(triple[0]), MemoryId(triple[2]))):
            raise Broken(f"the link {triple} is lost")


def check_decisions(ledger: Ledger, found: Found) -> None:
    """No decision is lost, and none that nobody overruled gives way to what is weaker.

    Of what was judged about a sensitive or a purged memory no word is kept.
    """
    judged: dict[frozenset[str], list[Link]] = {}
    for link in found.links:
        if link.judgement is None:
            continue
        judged.setdefault(frozenset((link.source, link.target)), []).append(link)
        histories = [found.histories.get(end) for end in (link.source, link.target)]
        if link.judgement.evidence and not all(map(_is_in_clear, histories)):
            raise Broken(f"{link} has words about a sensitive or a purged memory")
    for links in judged.values():
        live = [(x.source, x.kind, x.target) for x in links if x.removed_at is None]
        if len({*live}) < len(live):
            raise Broken(f"{live} is judged twice")
    for pair, decided in ledger.decided.items():
        if ledger.purged.isdisjoint(map(MemoryId, pair)):
            _check_decided(pair, decided, judged.get(pair, []), ledger.overruled)


def _is_in_clear(versions: Sequence[Memory] | None) -> bool:
    return bool(versions) and not any(version.sensitive for version in versions or ())


def _check_decided(
    pair: frozenset[str],
    decided: dict[float, Decider],
    links: Sequence[Link],
    overruled: set[float],
) -> None:
    judgements = [(x.judgement, x.removed_at) for x in links if x.judgement]
    if lost := {*decided} - {judgement.probability for judgement, _ in judgements}:
        raise Broken(f"of what was decided about {sorted(pair)}, {lost} is lost")
    standing = {*decided} - overruled
    live = [judgement for judgement, removed_at in judgements if removed_at is None]
    if not standing:
        return
    strongest = max(_DECIDERS.index(decided[each]) for each in standing)
    if not any(_DECIDERS.index(x.by) >= strongest and x.probability not in overruled for x in live):
        raise Broken(f"{standing} was decided about {sorted(pair)}, and {live} holds")


def check_histories(ledger: Ledger, found: Found) -> None:
    """Every history goes on without a gap, and holds no version twice; secrets are sealed."""
    for id_, versions in found.histories.items():
        if [version.version for version in versions] != [*range(1, len(versions) + 1)]:
            raise Broken(f"{id_} has versions {[x.version for x in versions]}")
        if any(later.updated_at < earlier.updated_at for earlier, later in pairwise(versions)):
            raise Broken(f"the versions of {id_} are not in the order of time")
        if len({*map(digest, versions)}) < len(versions):
            raise Broken(f"a version of {id_} is there twice")
        if any(SECRET in repr(version) for version in versions):
            raise Broken(f"{id_} has a secret in clear")
        if id_ in ledger.deleted and not any(version.deleted_at for version in versions):
            raise Broken(f"{id_} was deleted, and its history does not say so")
        sealed = id_ in ledger.flagged - ledger.purged - ledger.unsealed
        if sealed and not all(version.sensitive for version in versions):
            raise Broken(f"{id_} was sealed, and has versions in clear")
