"""Every store keeps what sensitive memories say with their versions, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind import errors
from bearinmind.protocols import AuditEntry, History, Sealed, Store
from bearinmind.types import AlreadyKnown, Memory, MemoryId, Scope, Space, Stored, UserId
from support.sealing import after, seal, sensitive

Make = Callable[..., Memory]
BEA = Scope(user=UserId("bea"))
HOUR = timedelta(hours=1)


def test_a_record_is_kept_with_its_memory(store: Store, scope: Scope, make: Make) -> None:
    memory = sensitive(make())
    assert store.put(scope, memory, sealed=[seal(memory)]) == Stored(memory=memory)
    assert store.sealed(scope, memory.id) == [seal(memory)]
    assert store.get(scope, memory.id) == memory


def test_a_memory_that_says_the_same_secret_is_known(
    store: Store, scope: Scope, make: Make
) -> None:
    first, again, other = (sensitive(make()) for _ in range(3))
    store.put(scope, first, sealed=[seal(first)])
    assert store.put(scope, again, sealed=[seal(again)]) == AlreadyKnown(memory=first)
    assert store.sealed(scope, again.id) == []
    assert store.put(scope, other, sealed=[seal(other, "salt")]) == Stored(memory=other)


def test_memories_with_the_same_placeholder_text_are_not_the_same(
    store: Store, scope: Scope, make: Make
) -> None:
    one, other = (replace(sensitive(make()), content="[sensitive]") for _ in range(2))
    store.put(scope, one, sealed=[seal(one)])
    assert store.put(scope, other, sealed=[seal(other, "salt")]) == Stored(memory=other)


def test_a_version_that_changes_nothing_sealed_needs_no_record(
    store: Store, scope: Scope, make: Make
) -> None:
    memory = sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    store.replace(scope, after(memory, tags=("new",)))
    assert store.sealed(scope, memory.id) == [seal(memory)]
    again = sensitive(make())
    known = store.put(scope, again, sealed=[seal(again)])
    assert isinstance(known, AlreadyKnown)
    assert known.memory.version == 2


def test_a_new_secret_comes_with_its_version(store: Store, scope: Scope, make: Make) -> None:
    memory = sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    changed = after(memory)
    store.replace(scope, changed, sealed=[seal(changed, "salt")])
    assert store.sealed(scope, memory.id) == [seal(memory), seal(changed, "salt")]
    other = sensitive(make())
    store.put(scope, other, sealed=[seal(other, "kelp")])  # nobody says it any more
    with pytest.raises(errors.DuplicateContent):
        store.replace(scope, after(changed), sealed=[seal(after(changed), "kelp")])


def test_a_refused_version_leaves_no_record(store: Store, scope: Scope, make: Make) -> None:
    memory = sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    late = replace(after(memory), version=5)
    with pytest.raises(errors.VersionConflict):
        store.replace(scope, late, sealed=[seal(late, "salt")])
    assert store.sealed(scope, memory.id) == [seal(memory)]


def test_a_sensitive_memory_is_found_by_its_labels_and_kinds_alone(
    store: Store, scope: Scope, make: Make
) -> None:
    memory = sensitive(make(tags=("harbour",), keywords=("router",)), "GitHub token")
    store.put(scope, memory, sealed=[seal(memory)])
    asked = ["harbour", "router", "github", "bearinmind", "get", "sensit", memory.id]
    frequency = store.lexical_statistics(scope, asked).frequency
    assert {term for term, count in frequency.items() if count} == {"harbour", "router", "github"}


def test_concealed_versions_lose_their_text_their_terms_and_their_vectors(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    store.use_space(Space(model="test", revision="1", dimensions=2))
    first = make("walrus one", tags=("harbour",))
    second = after(first, content="walrus two")
    store.put(scope, first)
    store.replace(scope, second)
    third = sensitive(after(second))
    hidden = [sensitive(first), sensitive(second)]
    records = [seal(third, "now"), seal(first, "one"), seal(second, "two")]
    store.replace(scope, third, sealed=records, concealed=hidden)
    assert store.versions(scope, first.id) == [*hidden, third]
    assert store.get(scope, first.id, noon) == hidden[0]
    assert store.lexical_statistics(scope, ["walrus", "harbour"]).frequency == {
        "walrus": 0,
        "harbour": 3,
    }
    assert store.sealed(scope, first.id) == sorted(records, key=lambda record: record.version)
    assert store.claim(["embed"], 10, noon + 9 * HOUR, noon + 10 * HOUR) == []
    assert all(finding.good for finding in store.check())


def test_histories_bring_their_records(store: Store, scope: Scope, make: Make) -> None:
    first = sensitive(make())
    second = after(first, tags=("new",))
    twin = sensitive(make())
    outcomes = store.put_many(
        scope,
        [
            History(versions=(first, second), sealed=(seal(first),)),
            History(versions=(twin,), sealed=(seal(twin),)),
        ],
    )
    assert outcomes == [Stored(memory=second), AlreadyKnown(memory=second)]
    assert store.sealed(scope, first.id) == [seal(first)]
    assert store.sealed(scope, twin.id) == []


def test_purging_removes_the_records(store: Store, scope: Scope, make: Make) -> None:
    gone, kept = sensitive(make()), sensitive(make())
    store.put(scope, gone, sealed=[seal(gone)])
    store.put(scope, kept, sealed=[seal(kept, "salt")])
    store.purge(scope, [gone.id])
    assert store.sealed(scope, gone.id) == []
    assert store.sealed(scope, kept.id) == [seal(kept, "salt")]
    assert store.sealed_under() == {"key-1": 1}


def test_sensitive_memories_are_listed_newest_first_without_deleted_ones(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    old = sensitive(make(created_at=noon - HOUR))
    new = sensitive(make())
    gone = sensitive(make())
    for memory, says in ((new, "a"), (old, "b"), (gone, "c")):
        store.put(scope, memory, sealed=[seal(memory, says)])
    store.put(scope, make("plain"))
    store.replace(scope, after(gone, deleted_at=noon + HOUR))
    assert store.sensitive(scope) == [new, old]
    assert store.sensitive(BEA) == []


def test_another_user_has_no_part_in_it(store: Store, scope: Scope, make: Make) -> None:
    memory = sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    assert store.sealed(BEA, memory.id) == []
    theirs = replace(memory, owner=BEA.user)
    assert store.put(BEA, theirs, sealed=[seal(theirs, owner="bea")]) == Stored(memory=theirs)
    assert store.sealed(scope, memory.id) == [seal(memory)]
    store.purge(BEA, [memory.id])
    assert store.sealed(scope, memory.id) == [seal(memory)]


# ---- rotation ----------------------------------------------------------------------------------


def test_records_under_other_keys_are_walked_in_order(
    store: Store, scope: Scope, make: Make
) -> None:
    memories = [sensitive(make()) for _ in range(5)]
    for memory in memories:
        store.put(scope, memory, sealed=[seal(memory, memory.id)])
    done = seal(memories[2], memories[2].id)
    new = replace(seal(memories[2], "new", "key-2"), fingerprint=b"0123456789abcdef")
    assert store.reseal([(done, new)]) == 1
    walked: list[MemoryId] = []
    last: Sealed | None = None
    while page := store.sealed_otherwise("key-2", last, 2):
        walked += [record.id for record in page]
        last = page[-1]
    assert walked == [memories[n].id for n in (0, 1, 3, 4)]
    assert store.sealed_under() == {"key-1": 4, "key-2": 1}


def test_a_memory_sealed_anew_is_still_known(store: Store, scope: Scope, make: Make) -> None:
    memory = sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    tagged = after(memory, tags=("new",))
    store.replace(scope, tagged)
    new = replace(seal(memory, "kelp", "key-2"), fingerprint=b"0123456789abcdef")
    store.reseal([(seal(memory), new)])
    again = sensitive(make())
    same = replace(seal(again, key_id="key-2"), fingerprint=new.fingerprint)
    assert store.put(scope, again, sealed=[same]) == AlreadyKnown(memory=tagged)


def test_a_record_that_has_changed_meanwhile_is_not_sealed_over(
    store: Store, scope: Scope, make: Make
) -> None:
    memory, gone = sensitive(make()), sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    first, second = (seal(memory, key_id=key) for key in ("key-2", "key-3"))
    assert store.reseal([(seal(memory), first)]) == 1
    assert store.reseal([(seal(memory), second), (seal(gone), seal(gone, key_id="key-3"))]) == 0
    assert store.sealed(scope, memory.id) == [first]


def test_nothing_more_is_kept_under_a_retired_key(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    old, new = sensitive(make()), sensitive(make())
    store.put(scope, old, sealed=[seal(old)])
    store.retire_keys(["key-1", "key-0"], noon)
    store.retire_keys(["key-1"], noon)
    assert store.retired_keys() == {"key-0", "key-1"}
    with pytest.raises(errors.KeyRetired, match="key-1"):
        store.put(scope, new, sealed=[seal(new, "salt")])
    with pytest.raises(errors.KeyRetired):
        store.replace(scope, after(old), sealed=[seal(after(old), "salt")])
    with pytest.raises(errors.KeyRetired):
        store.put_many(scope, [History(versions=(new,), sealed=(seal(new, "salt"),))])
    assert store.get(scope, new.id) is None
    assert store.sealed(scope, old.id) == [seal(old)]  # what is there stays


# ---- the audit ---------------------------------------------------------------------------------


def test_audit_entries_are_kept_youngest_first_for_each_user(
    store: Store, scope: Scope, noon: datetime
) -> None:
    entries = [
        AuditEntry(noon + n * HOUR, UserId(user), "get", MemoryId(f"m{n}"), n + 1, agent)
        for n, (user, agent) in enumerate([("ada", "claude"), ("bea", None), ("ada", None)])
    ]
    for entry in entries:
        store.note(entry)
    store.note(AuditEntry(noon, scope.user, "rotate", None, None, None))
    assert [entry.action for entry in store.audit(scope, 10)] == ["rotate", "get", "get"]
    assert store.audit(scope, 3)[1:] == [entries[2], entries[0]]
    assert store.audit(BEA, 10) == [entries[1]]
    assert len(store.audit(scope, 1)) == 1
