"""Memories that arrive from elsewhere: held to the same rules as new ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind import errors, ids
from bearinmind.protocols import History, Sealed, Secrets
from bearinmind.remember.admit import CONTENT_LIMIT, Rules, admit
from bearinmind.remember.sensitive import Boundary, hidden, is_placeholder, named_kinds, record_of
from bearinmind.remember.versions import draft_of, with_draft
from bearinmind.types import Memory, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Admits whole histories."""

    store: Secrets
    rules: Rules
    clock: Callable[[], datetime]
    boundary: Boundary

    def __call__(
        self, scope: Scope, versions: Sequence[Memory], sealed: Sequence[Sealed] = ()
    ) -> History:
        """A memory from elsewhere, every version of it held to the same rules as a new one.

        `sealed` is what its sensitive versions say, as it was sealed there.

        Raises:
            InvalidInput: a version breaks a rule.
            InvalidRecord: the versions do not follow one another, or a secret is missing.
        """
        records = {record.version: record for record in self._adopt(scope, sealed)}
        admitted: list[Memory] = []
        for version in versions:
            self.boundary.refuse_in_clear_fields(draft_of(version))
            if version.sensitive and is_placeholder(version.content):
                if record_of([*records.values()], version.version) is None:
                    raise errors.InvalidRecord(f"what memory {version.id} says is not in the file")
                admitted.append(self._sealed_elsewhere(scope, version))
            else:
                kept, new = self.boundary.guard(self._admitted(scope, version, self.rules))
                records |= {record.version: record for record in new}
                admitted.append(kept)
        _check_order(admitted)
        present = {version.version for version in admitted if version.sensitive}
        return History(
            versions=tuple(admitted),
            sealed=tuple(record for at, record in sorted(records.items()) if at in present),
        )

    def renamed(self, scope: Scope, versions: Sequence[Memory]) -> Sequence[Memory]:
        """The same under an id that tells nothing about the content, if that is sensitive.

        It follows from the content and the key: importing a file again adds nothing.
        """
        if not any(x.sensitive or self.boundary.kinds(x.content) for x in versions):
            return versions
        digest = self.boundary.vault.fingerprint(scope.user, versions[-1].content)
        return [replace(version, id=ids.derived(digest)) for version in versions]

    def _admitted(self, scope: Scope, version: Memory, rules: Rules) -> Memory:
        draft = admit(draft_of(version), rules, self.clock())
        return replace(with_draft(version, draft), owner=scope.user)

    def _sealed_elsewhere(self, scope: Scope, version: Memory) -> Memory:
        """A version with its placeholder made anew: nothing else may stand in its place."""
        rules = replace(self.rules, content_limit=CONTENT_LIMIT)  # the limit is for what it says
        return hidden(self._admitted(scope, version, rules), named_kinds(version.content))

    def _adopt(self, scope: Scope, sealed: Sequence[Sealed]) -> list[Sealed]:
        """Records from elsewhere, as far as this store takes them."""
        records = self.boundary.adopt(scope.user, sealed)
        retired = self.store.retired_keys() if records else frozenset()
        for record in records:
            if record.key_id in retired:
                raise errors.InvalidRecord(
                    f"memory {record.id} is sealed under the key {record.key_id}, "
                    "which was rotated away here",
                    hint="Bring the key back beside the present one, and repeat the import.",
                )
        return records


def _check_order(versions: Sequence[Memory]) -> None:
    for earlier, later in itertools.pairwise(versions):
        if later.version <= earlier.version or later.updated_at < earlier.updated_at:
            raise errors.InvalidRecord(
                f"version {later.version} of {later.id} does not follow {earlier.version}"
            )
