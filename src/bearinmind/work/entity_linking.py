"""Links what was extracted from memories to what the graph knows already.

A memory links to another one by naming the subject of that one, in any case. The order in which the
two came must not matter: a new memory is searched for known names, and the older memories are
searched for a name that becomes known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Merge, Role
from bearinmind.errors import Conflict, NotFound
from bearinmind.protocols import Job, Store
from bearinmind.text import analysis
from bearinmind.text.names import Text, is_distinctive, may_hold
from bearinmind.types import Filter, MemoryId, Scope

#: Older memories that get a name which became known; more would be a word rather than a name.
MOST_OLDER = 200
#: A name whose rarest word is in more memories than this, and in more than this share of all, says
#: too little to be looked for.
COMMON, COMMON_SHARE = 50, 0.01

#: Which of these new names, each mentioned once here, are certainly the same as another one.
Certain = Callable[[Sequence[Mention], Scope], Sequence[Merge]]
Mentions = dict[MemoryId, list[Mention]]


class ExtractedMemory(NamedTuple):
    """The memory of a job with what an extractor found in it."""

    job: Job
    extraction: Extraction
    text: Text

    @property
    def is_repeated(self) -> bool:
        """Whether an earlier attempt may have been cut off in the middle."""
        return self.job.attempts > 0

    def subjects(self) -> list[Mention]:
        """The subjects of the memory."""
        return [mention for mention in self.extraction.mentions if mention.role is Role.SUBJECT]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLinking:
    """Links the memories of one owner. Every step can be repeated: it changes nothing twice."""

    store: Store
    clock: Callable[[], datetime]
    certain: Certain | None = None

    def completed(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> list[Extraction]:
        """The extractions with the known names that the extractor missed.

        Everything else that depends on new names is done before these are stored: a worker that is
        killed in between finds the jobs again, and repeats it.
        """
        present = self._of_present_versions(scope, extracted)
        self._introduce(scope, present)
        known = self._known_in(scope, extracted)
        return [
            x.extraction._replace(mentions=(*x.extraction.mentions, *_missed_names(x, known)))
            for x in extracted
        ]

    def add_partial(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> None:
        """Add what was found before another extractor failed; the jobs are not done.

        A server that is away, or a spent budget, must not keep memories out of the graph.
        """
        completed = zip(extracted, self.completed(scope, extracted), strict=True)
        present = {each.job.number for each in self._of_present_versions(scope, extracted)}
        mentions = {r.job.memory.id: x.mentions for r, x in completed if r.job.number in present}
        if mentions:
            self.store.add_mentions(scope, mentions)

    def add_missed_names(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> None:
        """Add the names that another worker made known while these were extracted."""
        present = self._of_present_versions(scope, extracted)
        known = self._known_in(scope, present)
        added: Mentions = {}
        for each in present:
            missed = _missed_names(each, known)
            if missed:
                added[each.job.memory.id] = missed
        if added:
            self.store.add_mentions(scope, added)

    def _introduce(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> None:
        """Merge new names with the concepts that they name, and find them in older memories."""
        about = {mention.name: mention for r in extracted for mention in r.subjects()}
        repeated = {mention.name for r in extracted if r.is_repeated for mention in r.subjects()}
        known = self.store.known_names(scope, about.keys()) - repeated if about else set()
        subjects = {name: mention for name, mention in about.items() if name not in known}
        merges = self._merges(scope, extracted)
        needed = {name for merge in merges for name in (merge.alias, merge.into)}
        early: Mentions = {}
        for each in extracted:
            first = [
                mention
                for mention in each.extraction.mentions
                if mention.name in needed
                or (mention.role is Role.SUBJECT and mention.name in subjects)
            ]
            if first:
                early[each.job.memory.id] = first
        if early:
            self.store.add_mentions(scope, early)
        for merge in merges:
            with suppress(Conflict, NotFound):
                self.store.merge(scope, merge)
        older = self._older(scope, subjects, extracted)
        if older:
            self.store.add_mentions(scope, older)

    def _merges(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> list[Merge]:
        """The merges that the extractions name, and those that are certain by their spelling."""
        now = self.clock()
        merges = [
            Merge(alias=name, into=of, reason=reason, score=1.0, merged_at=now)
            for each in extracted
            for name, of, reason in each.extraction.aliases
        ]
        if self.certain is not None:
            new = self._new_names(scope, extracted)
            merges += self.certain(new, scope) if new else ()
        if not merges:
            return []
        undone = {  # by a person
            (merge.alias, merge.into)
            for merge in self.store.merges(scope, undone=True)
            if merge.undone_at is not None
        }
        return [merge for merge in merges if (merge.alias, merge.into) not in undone]

    def _new_names(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> list[Mention]:
        """A mention of each name that is new to the graph."""
        first: dict[ConceptName, Mention] = {}
        for each in extracted:
            for mention in each.extraction.mentions:
                first.setdefault(mention.name, mention)
        repeated = {m.name for r in extracted if r.is_repeated for m in r.extraction.mentions}
        known = self.store.concepts(scope, first.keys()).keys() - repeated
        return [mention for name, mention in first.items() if name not in known]

    def _older(
        self,
        scope: Scope,
        subjects: dict[ConceptName, Mention],
        extracted: Sequence[ExtractedMemory],
    ) -> Mentions:
        """The older memories that hold a name which has just become known."""
        wanted = self._distinctive(scope, filter(is_distinctive, subjects))
        about = {(r.job.memory.id, mention.name) for r in extracted for mention in r.subjects()}
        holding = [
            (id_, text, name)
            for name in sorted(wanted)
            for id_, text in self._holding(scope, name)
            if (id_, name) not in about
        ]
        around = {longer for _, text, name in holding for longer in text.around(name)}
        known = self.store.known_names(scope, around) if around else set()
        mentions: Mentions = {}
        for id_, text, name in holding:
            named = text.alone(name, known)
            if named:
                mention = Mention(name, Role.NAME, subjects[name].kind, named.label)
                mentions.setdefault(id_, []).append(mention)
        return mentions

    def _holding(self, scope: Scope, name: ConceptName) -> Iterable[tuple[MemoryId, Text]]:
        """The memories in which all words of a name stand together."""
        terms = [term.term for term in analysis.ask(name).terms]
        everything = Filter(scope=scope, now=self.clock())
        matches = self.store.lexical_matches(everything, terms, every=True, limit=MOST_OLDER)
        for match in matches:
            if may_hold(match.content, name) and not match.load().sensitive:
                yield match.id, Text(match.content)

    def _known_in(self, scope: Scope, extracted: Sequence[ExtractedMemory]) -> set[ConceptName]:
        """The names in these texts that are the subject of some memory."""
        names = set().union(*(each.text.names for each in extracted))
        return self._distinctive(scope, self.store.known_names(scope, names)) if names else set()

    def _distinctive(self, scope: Scope, names: Iterable[ConceptName]) -> set[ConceptName]:
        """The names that are not made of very common words."""
        terms = {name: [term.term for term in analysis.ask(name).terms] for name in names}
        if not terms:
            return set()
        every = sorted({term for of_name in terms.values() for term in of_name})
        index = self.store.lexical_statistics(scope, every)
        most = max(COMMON, index.total * COMMON_SHARE)
        return {
            name
            for name, of_name in terms.items()
            if of_name and min(index.frequency[term] for term in of_name) <= most
        }

    def _of_present_versions(
        self, scope: Scope, extracted: Sequence[ExtractedMemory]
    ) -> list[ExtractedMemory]:
        """The memories that were not changed since: an earlier version makes no name known."""
        ids = [each.job.memory.id for each in extracted]
        present = self.store.get_many(scope, ids)
        return [
            each
            for each in extracted
            if (now := present.get(each.job.memory.id)) and now.version == each.job.memory.version
        ]


def _missed_names(each: ExtractedMemory, known: AbstractSet[ConceptName]) -> list[Mention]:
    """The known names in a memory that its extractor missed."""
    seen = {
        mention.name
        for mention in each.extraction.mentions
        if mention.role in {Role.SUBJECT, Role.NAME}
    }
    return [
        Mention(named.name, Role.NAME, Kind.NAME, named.label)
        for named in each.text.named(known)
        if named.name not in seen
    ]
