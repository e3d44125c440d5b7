"""What is wrong with an evaluation set, and what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bearinmind.errors import InvalidData
from bearinmind.text import analysis
from bearinmind_bench.evaluation import EvaluationSet, moment, superseded_by, user_of
from bearinmind_bench.inference import MINIMUM_QUERIES
from bearinmind_bench.summary import OVERALL

_SHOWN = 3  # problems that an error names; the command lists all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something about a set that its author should know."""

    fatal: bool  #: figures measured on it would be wrong
    text: str


def refuse_unsound(data: EvaluationSet) -> None:
    """Go on only with a set whose figures will mean something.

    Raises:
        InvalidData: they would not.
    """
    fatal = [problem.text for problem in problems(data) if problem.fatal]
    if fatal:
        more = f"; and {len(fatal) - _SHOWN} more" if len(fatal) > _SHOWN else ""
        raise InvalidData(f"{data.name} cannot be measured on: {'; '.join(fatal[:_SHOWN])}{more}")


def problems(data: EvaluationSet) -> list[Problem]:
    """Everything that is wrong or doubtful, the fatal things first."""
    fatal = [
        *_repeated("memory id", [record["id"] for record in data.corpus]),
        *_repeated("query id", [query.id for query in data.queries]),
        *_dangling(data),
        *_unreadable(data),
    ]
    return [Problem(fatal=True, text=text) for text in fatal] + [
        Problem(fatal=False, text=text)
        for text in (*_out_of_reach(data), *_doubles(data), *_leaks(data), *_weaknesses(data))
    ]


def _repeated(what: str, ids: Sequence[str]) -> Iterator[str]:
    for id_, count in Counter(ids).items():
        if count > 1:
            yield f"the {what} {id_!r} stands {count} times"


def _dangling(data: EvaluationSet) -> Iterator[str]:
    known = {record["id"] for record in data.corpus}
    if not known:
        yield "the corpus is empty"
    for query in data.queries:
        for id_ in query.grades.keys() - known:
            yield f"query {query.id!r} judges the memory {id_!r}, which is not in the corpus"
        for id_ in {*query.stale} - known:
            yield f"query {query.id!r} calls {id_!r} stale, which is not in the corpus"
    for pair in data.pairs:
        for id_ in {pair.newer, pair.older} - known:
            yield f"a pair names the memory {id_!r}, which is not in the corpus"
    for record in data.corpus:
        for id_ in {*superseded_by(record)} - known:
            yield f"memory {record['id']!r} supersedes {id_!r}, which is not in the corpus"


def _unreadable(data: EvaluationSet) -> Iterator[str]:
    for record in data.corpus:
        if record.get("created_at"):
            try:
                moment(record["created_at"], f"memory {record['id']!r}")
            except InvalidData as exc:
                yield exc.message
        importance = record.get("importance")
        is_number = isinstance(importance, int | float) and not isinstance(importance, bool)
        if importance is not None and not (is_number and 0 <= importance <= 1):
            yield f"memory {record['id']!r} has the importance {importance!r}, not one from 0 to 1"
    for query in data.queries:
        if not query.text.strip():
            yield f"query {query.id!r} is empty"
        if any(grade < 0 for grade in query.grades.values()):
            yield f"query {query.id!r} has a grade below 0"
        if query.stratum == OVERALL:
            yield f"query {query.id!r} has the stratum {OVERALL!r}, the name of all of them"


def _out_of_reach(data: EvaluationSet) -> Iterator[str]:
    owner = {record["id"]: user_of(record) for record in data.corpus}
    for query in data.queries:
        foreign = [id_ for id_ in query.relevant if owner.get(id_, query.user) != query.user]
        if foreign:
            yield f"query {query.id!r} of {query.user!r} needs {foreign[0]!r} of another user"
    for user in sorted({query.user for query in data.queries} - {*owner.values()}):
        yield f"the user {user!r} asks and has no memories"
    if data.unasked:
        yield f"{len(data.unasked)} judged queries do not exist, such as {min(data.unasked)!r}"


def _doubles(data: EvaluationSet) -> Iterator[str]:
    # As recall tells twins: it serves one of those that differ in capitals and spaces only.
    contents = Counter(
        (user_of(r), analysis.fingerprint(r["content"].casefold())) for r in data.corpus
    )
    doubles = sum(count - 1 for count in contents.values())
    if doubles:
        yield f"{doubles} memories say the same as another one of their user"


def _leaks(data: EvaluationSet) -> Iterator[str]:
    splits: dict[tuple[str, str], set[str | None]] = {}
    for query in data.queries:
        splits.setdefault((query.user, query.text.casefold()), set()).add(query.split)
    leaked = sum(len(names) > 1 for names in splits.values())
    if leaked:
        yield f"{leaked} questions stand in more than one split"


def _weaknesses(data: EvaluationSet) -> Iterator[str]:
    for split in sorted({query.split or "" for query in data.queries}):
        strata = Counter(q.stratum for q in data.queries if (q.split or "") == split and q.relevant)
        for stratum, count in sorted(strata.items()):
            if count < MINIMUM_QUERIES:
                where = f" in {split}" if split else ""
                yield (
                    f"{stratum}{where} has {count} answerable queries; "
                    f"below {MINIMUM_QUERIES} nothing is concluded"
                )
    if len({str(record.get("importance", 0.5)) for record in data.corpus}) == 1:
        yield "importance is the same everywhere: the importance prior cannot be judged here"


def statistics(data: EvaluationSet) -> dict[str, object]:
    """What a set holds, in numbers."""
    lengths = sorted(len(record["content"]) for record in data.corpus)
    relevant = [len(query.relevant) for query in data.queries if query.relevant]
    return {
        "name": data.name,
        "fingerprint": data.fingerprint,
        "memories": len(data.corpus),
        "users": len(data.users),
        "content_characters": {
            "median": lengths[len(lengths) // 2] if lengths else 0,
            "longest": lengths[-1] if lengths else 0,
        },
        "queries": len(data.queries),
        "unanswerable": sum(not query.relevant for query in data.queries),
        "relevant_per_query": round(sum(relevant) / len(relevant), 2) if relevant else 0,
        "grades": dict(sorted(Counter(g for q in data.queries for g in q.grades.values()).items())),
        "splits": dict(Counter(query.split or "none" for query in data.queries)),
        "strata": dict(Counter(query.stratum for query in data.queries)),
    }
