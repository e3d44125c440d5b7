"""Ways of finding memories by their words on Postgres: what ships, and what it was chosen over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bearinmind.protocols import LexicalMatch
from bearinmind.store.database import Parameters, read_sql
from bearinmind.store.postgres import queries
from bearinmind.store.postgres.lexicon import Lexicon, mark
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import SQL, psycopg_form
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.text.sql_statements import statements_of
from bearinmind.types import Scope

#: Every way but what ships, with the table that it needs besides those of the store.
OTHERS: Mapping[str, str | None] = {
    "every_term": None,
    "idf": None,
    "unnested": None,
    "unmarked": "unmarked",
    "ts_rank": "tsvector",
    "ts_rank_cd": "tsvector",
    "ts_rank_idf": "tsvector",
    "postings": "postings",
}
#: What each way is, in words.
WORDS = {
    "shipped": "BM25 from the lines, by the rarest terms",
    "every_term": "the same, every term searched",
    "idf": "sum of IDF of the terms held",
    "unnested": "BM25 by unnesting the lines, fields alike",
    "unmarked": "as shipped, the index without the owner's mark",
    "ts_rank": "ts_rank, fields weighted",
    "ts_rank_cd": "ts_rank_cd, fields weighted",
    "ts_rank_idf": "ts_rank of each term times its IDF",
    "postings": "BM25 from a table of postings",
}
_WRAPPED = """
-- {name}: the best by this way that the filter admits
SELECT /*columns*/, /*entry*/ FROM (/*{name}*/ ORDER BY score DESC, row) AS best
/*best*/;
"""


def _statements() -> dict[str, str]:
    """What is in the .sql file, and the two statements of each way."""
    ours = Path(__file__).with_suffix(".sql").read_text("utf-8")
    names = [f"{way}_{which}" for way in OTHERS for which in ("any", "every")]
    wrapped = "".join(_WRAPPED.format(name=name) for name in names if f"fragment {name}" in ours)
    shipped = [read_sql("postgres", name) for name in ("queries.sql", "lexicon.sql")]
    found = statements_of(*shipped, f"{ours}{wrapped}")
    return {name: statement for name, statement in found.items() if name not in SQL}


# So that a pool knows them, in both forms in which it sends statements.
queries._STATEMENTS = {**queries._STATEMENTS, **_statements()}
SQL.update({name: psycopg_form(statement) for name, statement in _statements().items()})


class Way(Lexicon):
    """A lexicon that finds the best in another way; how terms are counted is as shipped."""

    def __init__(self, pool: Pool, name: str) -> None:
        super().__init__(pool)
        self._name = name

    def _best(
        self, statement: str, scope: Scope, terms: Iterable[str], parameters: Parameters
    ) -> list[LexicalMatch]:
        asked = [padded.strip() for padded in parameters["padded"]]
        if self._name == "every_term":
            return super()._best(statement, scope, asked, parameters)
        marked = mark(scope.user)
        more = {
            "terms": asked,
            "searched": [*terms],
            "all_lexemes": [marked + term for term in asked],
        }
        own = statement.replace("matches", self._name)
        return super()._best(own, scope, more["searched"], {**parameters, **more})


class Ways:
    """A store whose lexical leg can be asked in every way in turn."""

    def __init__(self, url: str) -> None:
        self.store = PostgresStore(url, connections=1)
        self.pool = self.store._pool
        self.shipped = self.store._lexicon

    def add_tables(self, *tables: str) -> None:
        """Make and fill what other ways need, and leave everything as it is after a while."""
        for table in tables:
            for statement in SQL[f"make_{table}"].split(";"):
                self.pool.alone(statement)
            self.fill(table, None, 0, 2**62)
        self.pool.alone("VACUUM ANALYZE")

    def fill(self, table: str, owner: str | None, first: int, last: int) -> None:
        """Take these rows of the index over into a table."""
        with self.pool.writing() as transaction:
            transaction.change(f"fill_{table}", {"owner": owner, "first": first, "last": last})

    def empty(self, table: str, owner: str, after: int) -> None:
        """Remove an owner's later rows from a table, unless it counts those of all."""
        if table != "frequencies":
            with self.pool.writing() as transaction:
                transaction.change(f"empty_{table}", {"owner": owner, "after": after})

    def take(self, name: str) -> None:
        """Ask in this way from now on."""
        self.store._lexicon = self.shipped if name == "shipped" else Way(self.pool, name)

    def busy_ms(self) -> float:
        """How long the one process that serves this store was at work; 0 when nobody can tell."""
        with self.pool.connections.connection() as connection:
            state = Path(f"/proc/{connection.info.backend_pid}/schedstat")
        return int(state.read_text("ascii").split()[0]) / 1e6 if state.exists() else 0.0


@contextmanager
def database(server: str, name: str) -> Iterator[Ways]:
    """A store in a new database; dropped in the end."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = urlsplit(server)._replace(path=f"/{name}").geturl()
        ways = Ways(url)
        try:
            yield ways
        finally:
            ways.store.close()
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )
