"""What the demo remembers and asks."""

from __future__ import annotations

from dataclasses import dataclass

from bearinmind.types import LinkKind, Trust


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
