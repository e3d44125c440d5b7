"""The command that shows on an example what recalling is like."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.app.requests import QueryFields
from bearinmind.config import Settings
from bearinmind.errors import InvalidInput
from bearinmind.recall import graph_paths
from bearinmind.surfaces.cli.recall import hits_table
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.terminal import GOOD, STRONG, counting, styled
from bearinmind.surfaces.cli.trace import trace_line, why_not_table
from bearinmind.surfaces.verbs.answers import RecallAnswer
from bearinmind.types import Link, LinkKind, MemoryId, Trust

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


def demo(
    run: Session,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="PATH", help="Keep the demo's store here.")
    ] = None,
) -> None:
    """Show on an example what recalling is like."""
    data, lines = _perform(keep)
    run.reply(data, lambda: lines)


def _perform(keep: str | None) -> tuple[dict[str, Any], list[RenderableType]]:
    """Store, link, embed, ask and explain, in a file of its own: as data and as lines."""
    now = datetime.now(UTC)
    with _place(keep) as path, Mind.build(Settings(store=path, worker="off")) as mind:
        ids, model = fill(mind, now)
        data: dict[str, Any] = {
            "store": keep,
            "memories": len(ids),
            "embedded_by": model,
            "questions": [],
        }
        lines: list[RenderableType] = [_opening(len(ids), model)]
        for question in QUESTIONS:
            answer, shown = _ask(mind, question, ids, now)
            data["questions"].append({"query": question.text, **answer})
            lines += [styled(""), *shown]
    return data, [*lines, styled(""), _closing(keep)]


def fill(mind: Mind, now: datetime) -> tuple[dict[str, MemoryId], str]:
    """Store what the agent of the demo remembers; the ids by name, and which model embedded it."""
    ids = _remember(mind, now)
    return ids, _embed(mind, len(ids))


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    """Where the demo's store is: a file that goes away again, unless it is to be kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="bearinmind-demo-") as folder:
            yield Path(folder) / "memories.db"
        return
    path = Path(keep)
    if path.exists():
        raise InvalidInput(f"{keep!r} exists already", hint="Give the path of a new file.")
    yield path


def _remember(mind: Mind, now: datetime) -> dict[str, MemoryId]:
    ids: dict[str, MemoryId] = {}
    for item in REMEMBERED:
        outcome = mind.store(
            item.content,
            category=item.category,
            tags=item.tags.split(),
            importance=item.importance,
            created_at=now - timedelta(days=item.days_ago),
            agent="demo",
            project=item.project,
            trust=item.trust,
        )
        ids[item.name] = outcome.memory.id
    for source, kind, target, days_ago in LINKS:
        made = now - timedelta(days=days_ago)
        mind.transfer.add_link(
            Link(source=ids[source], target=ids[target], kind=kind, created_at=made)
        )
    return ids


def _embed(mind: Mind, count: int) -> str:
    """Have the memories embedded and read, as a worker does in the background; by which model.

    Raises:
        EmbedderFailure: the encoder that comes with Bear in Mind does not work.
    """
    with counting("embedding and reading", 2 * count, "memories") as advance:
        status = mind.work.wait(progress=advance)
    return status.active.space.model if status.active else ""


def _ask(
    mind: Mind, question: Question, ids: dict[str, MemoryId], now: datetime
) -> tuple[dict[str, Any], list[RenderableType]]:
    """The answer to a question as data and as lines."""
    fields: QueryFields = {"limit": question.limit}
    options = ["--limit", str(question.limit)]
    if question.days_ago:
        moment = now - timedelta(days=question.days_ago)
        fields["as_of"] = moment
        options += ["--as-of", f"{question.days_ago}d"]
    if question.why_not:
        options += ["--why-not", ids[question.why_not]]
    lines: list[RenderableType] = [
        styled(question.teaches, STRONG),
        styled(f"$ bearinmind recall {shlex.quote(question.text)} {shlex.join(options)}", GOOD),
    ]
    if question.why_not:
        reason = mind.why_not(question.text, ids[question.why_not], **fields)
        return {"why_not": reason}, [*lines, why_not_table(reason)]
    answer = mind.recall(question.text, **fields)
    labels = mind.graph.labels(graph_paths.concepts(hit.path for hit in answer.hits))
    lines += [hits_table(answer.hits, labels), trace_line(answer)]
    return codec.to_data(RecallAnswer.of(answer, with_trace=True)), lines


def _opening(count: int, model: str) -> Text:
    return styled(
        f"A coding agent has remembered {count} things over half a year. They were just embedded "
        f"by {model}, which comes with Bear in Mind, and are now found by their words and by their "
        "meaning: no key, no network."
    )


def _closing(keep: str | None) -> Text:
    lines = styled("Now with your own memories:\n", STRONG)
    examples = [
        'bearinmind store "The staging database is db-stage-3." --tag infra',
        'bearinmind recall "where is staging?" --trace',
        "bearinmind --help",
    ]
    if keep:
        examples.insert(0, f"bearinmind --store {shlex.quote(keep)} list")
    return lines.append("\n".join(f"$ {line}" for line in examples), GOOD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory of the demo."""

    name: str
    days_ago: float
    category: str
    content: str
    tags: str = ""
    importance: float = 0.5
    project: str | None = None
    trust: Trust = Trust.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the demo, and what its answer teaches."""

    teaches: str
    text: str
    limit: int = 2
    days_ago: int = 0
    why_not: str = ""


def _preference(name: str, days_ago: float, content: str, tags: str) -> Remembered:
    return Remembered(
        name=name,
        days_ago=days_ago,
        category="preferences",
        content=content,
        tags=tags,
        importance=0.8,
        trust=Trust.USER,
    )


def _decision(name: str, days_ago: float, content: str, tags: str) -> Remembered:
    return Remembered(
        name=name,
        days_ago=days_ago,
        category="decisions",
        content=content,
        tags=tags,
        importance=0.7,
        project="orders",
    )


def _fact(name: str, days_ago: float, content: str, tags: str) -> Remembered:
    return Remembered(
        name=name, days_ago=days_ago, category="facts", content=content, tags=tags, project="orders"
    )


def _person(name: str, days_ago: float, content: str, tags: str) -> Remembered:
    return Remembered(
        name=name,
        days_ago=days_ago,
        category="people",
        content=content,
        tags=tags,
        trust=Trust.USER,
    )


REMEMBERED = (
    _preference(
        "types", 178, "Type hints on every function; mypy must pass in strict mode.", "python"
    ),
    _preference(
        "tests", 176, "Write the failing test first and show it before the fix.", "python tests"
    ),
    _preference("commits", 170, "Small commits, imperative subject, no emoji.", "git"),
    _preference(
        "answers", 150, "Short answers: the command first, the explanation after it.", "style"
    ),
    _preference("editor", 121, "Format with ruff, never with black; line length 100.", "python"),
    _person(
        "dana",
        169,
        "Dana Okafor owns the orders service; ask her before changing its API.",
        "orders",
    ),
    _person(
        "miguel", 140, "Miguel Reyes runs the infrastructure; he is on call in odd weeks.", "infra"
    ),
    _person("yuki", 95, "Yuki Tanaka reviews everything that touches payments.", "payments"),
    Remembered(
        name="project",
        days_ago=175,
        category="projects",
        content="orders: the service that takes orders; FastAPI and Postgres, in services/orders.",
        tags="orders",
        project="orders",
    ),
    Remembered(
        name="migration",
        days_ago=60,
        category="projects",
        content="Moving the nightly reports from cron on ops-02 to Airflow; half are moved.",
        tags="reports infra",
    ),
    _decision(
        "redis", 160, "The orders cache is Redis 6 on cache-01.internal:6379.", "orders cache"
    ),
    _decision(
        "valkey", 70, "The orders cache is Valkey 7 on cache-02.internal:6379.", "orders cache"
    ),
    _decision(
        "cluster",
        12,
        "The orders cache is a Valkey cluster at cache.internal:6380.",
        "orders cache",
    ),
    _decision(
        "ids", 133, "Order ids are ULIDs, never integers, so that shards can be merged.", "orders"
    ),
    _decision(
        "queue",
        88,
        "No message queue before the second consumer; a table with a cursor will do.",
        "orders",
    ),
    _decision(
        "retries",
        41,
        "Payment calls are retried twice with jitter, and never on a 402.",
        "payments",
    ),
    _fact(
        "staging",
        120,
        "Staging is orders-stg.eu-west-1.example.net; deploys go out at 07:00 UTC.",
        "infra",
    ),
    _fact(
        "e4017",
        55,
        "Error E4017 from the payment gateway: the idempotency key was used twice.",
        "payments",
    ),
    _fact(
        "e4017-fix",
        52,
        "Fixed E4017 by deriving the idempotency key from the order id and the attempt number.",
        "payments",
    ),
    _fact(
        "flaky",
        33,
        "tests/orders/test_checkout.py::test_parallel fails when TZ is not UTC.",
        "tests",
    ),
    _fact(
        "secrets",
        100,
        "Credentials live in Vault under kv/orders/; nothing secret is kept in .env.",
        "infra",
    ),
    _fact(
        "limits",
        47,
        "The gateway allows 40 requests per second per merchant, then answers 429.",
        "payments",
    ),
    _fact(
        "backup", 25, "Backups of orders run at 02:15 UTC to s3://example-backups/orders/.", "infra"
    ),
    _fact(
        "slow",
        18,
        "The query behind GET /orders?status=open needs the index orders_open_idx.",
        "orders",
    ),
    Remembered(
        name="page",
        days_ago=17,
        category="facts",
        content="The vendor's status page says the gateway moves to TLS 1.3 only next quarter.",
        tags="payments",
        trust=Trust.EXTERNAL,
    ),
    _fact(
        "deploying",
        9,
        "To deploy orders, tag the commit and run make release in services/orders.",
        "orders",
    ),
)
#: Source, kind, target, and how many days ago they were linked.
LINKS = (
    ("valkey", LinkKind.SUPERSEDES, "redis", 70),
    ("cluster", LinkKind.SUPERSEDES, "valkey", 12),
    ("e4017", LinkKind.RESOLVED_BY, "e4017-fix", 52),
    ("e4017-fix", LinkKind.DERIVES_FROM, "e4017", 52),
    ("staging", LinkKind.SEE_ALSO, "deploying", 9),
    ("limits", LinkKind.SEE_ALSO, "retries", 41),
)
QUESTIONS = (
    Question(
        teaches="An identifier finds its memory, and brings what resolved it.",
        text="error E4017",
        limit=1,
    ),
    Question(
        teaches="A question finds what it means, though the two have no word in common.",
        text="how often may we call the provider?",
        limit=1,
    ),
    Question(
        teaches="Where words and meaning agree, they add up: deployments finds deploy.",
        text="how are deployments done?",
    ),
    Question(
        teaches="What was superseded is served by what replaced it.",
        text="redis cache for orders",
        limit=1,
    ),
    Question(
        teaches="Asked as of an earlier day, it answers with what was known then.",
        text="orders cache",
        limit=1,
        days_ago=40,
    ),
    Question(
        teaches="And if a memory is missing from an answer, ask why.",
        text="what does the payment gateway allow?",
        limit=1,
        why_not="e4017",
    ),
)
