"""What was read in memories is joined to what the graph knows already.

A memory leads to another one by naming what that one is about, in whatever case it writes the name.
Which of the two came first must not matter: a memory that is read is looked through for known
names, and a name that becomes known is looked for in the older memories.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Merge, Role
from bearinmind.errors import Conflict, NotFound
from bearinmind.protocols import Graph, Job, LexicalSearch, Memories, Work
from bearinmind.text import analysis
from bearinmind.text.names import Text, can_be_told, may_hold
from bearinmind.types import Filter, MemoryId, Scope

#: Older memories that get a name which became known; more would be a word rather than a name.
MOST_OLDER = 200
#: A name whose rarest word is in more memories than this, and in more than this share of all, says
#: too little to be looked for.
COMMON, COMMON_SHARE = 50, 0.01

_log = logging.getLogger(__name__)

#: Which of these new names, each mentioned once here, are certainly the same as another one.
Certain = Callable[[Sequence[Mention], Scope], Sequence[Merge]]
Mentions = dict[MemoryId, list[Mention]]


class ReadingStore(Work, Memories, LexicalSearch, Graph, Protocol):
    """What reading asks of a store."""


class Reading(NamedTuple):
    """What an extractor found in the memory of a job."""

    job: Job
    found: Extraction
    text: Text

    @property
    def is_repeated(self) -> bool:
        """Whether an earlier attempt may have been cut off in the middle."""
        return self.job.attempts > 0

    def about(self) -> list[Mention]:
        """The subjects of the memory."""
        return [mention for mention in self.found.mentions if mention.role is Role.SUBJECT]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLinking:
    """Joins the readings of one owner. All of it can be repeated: it changes nothing twice."""

    store: ReadingStore
    clock: Callable[[], datetime]
    certain: Certain | None = None

    def completed(self, scope: Scope, readings: Sequence[Reading]) -> list[Extraction]:
        """The same readings with the known names that the extractor passed over.

        What else depends on new names is done before these are kept: a worker that is killed in
        between finds the jobs again, and with them what was not done.
        """
        present = self._of_present_versions(scope, readings)
        self._introduce(scope, present)
        known = self._known_in(scope, readings)
        return [_with_names(reading, known) for reading in readings]

    def meanwhile(self, scope: Scope, readings: Sequence[Reading]) -> None:
        """Add what was found so far, though the jobs are not done: another extractor failed.

        A server that is away, or a spent budget, must not keep memories out of the graph.
        """
        whole = zip(readings, self.completed(scope, readings), strict=True)
        present = {reading.job.number for reading in self._of_present_versions(scope, readings)}
        found = {r.job.memory.id: x.mentions for r, x in whole if r.job.number in present}
        if found:
            self.store.add_mentions(scope, found)

    def look_again(self, scope: Scope, readings: Sequence[Reading]) -> None:
        """Add the names that another worker made known while these were read."""
        present = self._of_present_versions(scope, readings)
        known = self._known_in(scope, present)
        added: Mentions = {}
        for reading in present:
            missed = _passed_over(reading, known)
            if missed:
                added[reading.job.memory.id] = missed
        if added:
            self.store.add_mentions(scope, added)

    # ---- new names -----------------------------------------------------------------------------

    def _introduce(self, scope: Scope, readings: Sequence[Reading]) -> None:
        """Have new names merged with what they are the same as, and found in older memories."""
        subjects = self._new_subjects(scope, readings)
        merges = self._merges(scope, readings)
        needed = {name for merge in merges for name in (merge.alias, merge.into)}
        early: Mentions = {}
        for reading in readings:
            first = [
                mention
                for mention in reading.found.mentions
                if mention.name in needed
                or (mention.role is Role.SUBJECT and mention.name in subjects)
            ]
            if first:
                early[reading.job.memory.id] = first
        if early:
            self.store.add_mentions(scope, early)
        for merge in merges:
            with suppress(Conflict, NotFound):
                self.store.merge(scope, merge)
        older = self._older(scope, subjects, readings)
        if older:
            self.store.add_mentions(scope, older)

    def _new_subjects(
        self, scope: Scope, readings: Sequence[Reading]
    ) -> dict[ConceptName, Mention]:
        """The subjects that no memory was about before."""
        about = {mention.name: mention for r in readings for mention in r.about()}
        repeated = {mention.name for r in readings if r.is_repeated for mention in r.about()}
        known = self.store.known_names(scope, about.keys()) - repeated if about else set()
        return {name: mention for name, mention in about.items() if name not in known}

    def _merges(self, scope: Scope, readings: Sequence[Reading]) -> list[Merge]:
        """What these readings say is the same, and what certainly is by its spelling."""
        now = self.clock()
        found = [
            Merge(alias=name, into=of, reason=reason, score=1.0, merged_at=now)
            for reading in readings
            for name, of, reason in reading.found.aliases
        ]
        if self.certain is not None:
            new = self._new_names(scope, readings)
            found += self.certain(new, scope) if new else ()
        if not found:
            return []
        undone = {  # by somebody who knew better
            (merge.alias, merge.into)
            for merge in self.store.merges(scope, undone=True)
            if merge.undone_at is not None
        }
        return [merge for merge in found if (merge.alias, merge.into) not in undone]

    def _new_names(self, scope: Scope, readings: Sequence[Reading]) -> list[Mention]:
        """A mention of each name that was no concept before."""
        first: dict[ConceptName, Mention] = {}
        for reading in readings:
            for mention in reading.found.mentions:
                first.setdefault(mention.name, mention)
        repeated = {m.name for r in readings if r.is_repeated for m in r.found.mentions}
        known = self.store.concepts(scope, first.keys()).keys() - repeated
        return [mention for name, mention in first.items() if name not in known]

    # ---- older memories ------------------------------------------------------------------------

    def _older(
        self,
        scope: Scope,
        subjects: dict[ConceptName, Mention],
        readings: Sequence[Reading],
    ) -> Mentions:
        """The memories in which a name stands that has just become known."""
        wanted = self._telling(scope, filter(can_be_told, subjects))
        about = {(r.job.memory.id, mention.name) for r in readings for mention in r.about()}
        holding = [
            (id_, text, name)
            for name in sorted(wanted)
            for id_, text in self._holding(scope, name)
            if (id_, name) not in about
        ]
        around = {longer for _, text, name in holding for longer in text.around(name)}
        known = self.store.known_names(scope, around) if around else set()
        found: Mentions = {}
        for id_, text, name in holding:
            named = text.alone(name, known)
            if named:
                mention = Mention(name, Role.NAME, subjects[name].kind, named.label)
                found.setdefault(id_, []).append(mention)
        return found

    def _holding(self, scope: Scope, name: ConceptName) -> Iterable[tuple[MemoryId, Text]]:
        """Memories with all the words of a name, those in which they stand together."""
        terms = [term.term for term in analysis.ask(name).terms]
        everything = Filter(scope=scope, now=self.clock())
        matches = self.store.lexical_matches(everything, terms, every=True, limit=MOST_OLDER)
        for match in matches:
            if may_hold(match.content, name) and not match.load().sensitive:
                yield match.id, Text(match.content)

    # ---- known names ---------------------------------------------------------------------------

    def _known_in(self, scope: Scope, readings: Sequence[Reading]) -> set[ConceptName]:
        """The names in these texts of which some memory is the subject."""
        names = set().union(*(reading.text.names for reading in readings))
        return self._telling(scope, self.store.known_names(scope, names)) if names else set()

    def _telling(self, scope: Scope, names: Iterable[ConceptName]) -> set[ConceptName]:
        """Those of these names that are not made of very common words."""
        terms = {name: [term.term for term in analysis.ask(name).terms] for name in names}
        if not terms:
            return set()
        every = sorted({term for asked in terms.values() for term in asked})
        index = self.store.lexical_statistics(scope, every)
        most = max(COMMON, index.total * COMMON_SHARE)
        return {
            name
            for name, asked in terms.items()
            if asked and min(index.frequency[term] for term in asked) <= most
        }

    def _of_present_versions(self, scope: Scope, readings: Sequence[Reading]) -> list[Reading]:
        """Those of what is said now: an earlier version makes no name known."""
        ids = [reading.job.memory.id for reading in readings]
        present = self.store.get_many(scope, ids)
        return [
            reading
            for reading in readings
            if (now := present.get(reading.job.memory.id))
            and now.version == reading.job.memory.version
        ]


def _with_names(reading: Reading, known: AbstractSet[ConceptName]) -> Extraction:
    missed = _passed_over(reading, known)
    return reading.found._replace(mentions=(*reading.found.mentions, *missed))


def _passed_over(reading: Reading, known: AbstractSet[ConceptName]) -> list[Mention]:
    """The known names in a memory that its extractor did not see."""
    seen = {
        mention.name
        for mention in reading.found.mentions
        if mention.role in {Role.SUBJECT, Role.NAME}
    }
    return [
        Mention(named.name, Role.NAME, Kind.NAME, named.label)
        for named in reading.text.named(known)
        if named.name not in seen
    ]
