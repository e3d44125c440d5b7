-- What makes, fills and measures the database of vector_database.py.

-- create: a new database
CREATE DATABASE {};

-- one_process: let one process do the whole of a query, so that what it takes can be seen
ALTER DATABASE {} SET max_parallel_workers_per_gather = 0;

-- drop: remove it again
DROP DATABASE IF EXISTS {} WITH (FORCE);

-- space: the number of the one vector space
INSERT INTO spaces (key, description, state) VALUES (%(key)s, %(description)s, 'active')
ON CONFLICT (key) DO UPDATE SET state = 'active' RETURNING number;

-- copy_memories: many memories
COPY memories (
    owner, row, id, version, content, content_hash, category, tags, keywords, importance, sensitive,
    created_at, updated_at, project, trust
) FROM STDIN;

-- copy_vectors: many vectors
COPY vectors (owner, space, row, vector) FROM STDIN;

-- count: how many vectors an owner has
INSERT INTO embedded (owner, space, vectors)
SELECT owner, space, count(*) FROM vectors WHERE owner = %(owner)s GROUP BY owner, space;

-- tidy: leave everything as it is after a while
VACUUM ANALYZE memories, vectors, embedded;

-- insert: one more memory with its vector
WITH memory AS (
    INSERT INTO memories (
        owner, row, id, version, content, content_hash, category, tags, keywords, importance,
        sensitive, created_at, updated_at, trust
    ) SELECT
        m.owner, -%(number)s::bigint, 'n' || %(number)s::bigint, 1, m.content, m.content_hash,
        m.category, m.tags, m.keywords, m.importance, m.sensitive, m.created_at, m.updated_at, m.trust
    FROM memories AS m WHERE m.owner = %(owner)s AND m.row = 1
    RETURNING owner, row
)
INSERT INTO vectors (owner, space, row, vector)
SELECT memory.owner, s.number, memory.row, %(vector)s::halfvec FROM memory CROSS JOIN spaces AS s;

-- sizes: bytes of the vectors, of their keys and of their HNSW index
SELECT pg_table_size('vectors'),
pg_relation_size('vectors_pkey') + pg_relation_size('vectors_by_row'),
coalesce(pg_relation_size(to_regclass('vectors_of_space_1')), 0);
