-- The statements that search vectors and keep their indexes. A vector without a direction has no
-- distance (NaN): it is as far from everything as what is at right angles to it. Exact searches compare
-- `vector` as it is, so that no index is ever taken for them; the best are looked up one by one, since
-- the planner takes them for many more than they are.

-- vector_facts: the number of a space, and how many vectors an owner has in it
SELECT s.number, coalesce(e.vectors, 0)
FROM spaces AS s LEFT JOIN embedded AS e ON e.owner = :owner AND e.space = s.number
WHERE s.key = :key;

-- vectors_indexed: how many vectors of a space its index holds; Citus joins no catalog with tables
SELECT c.reltuples::bigint FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indexrelid = to_regclass('vectors_of_space_' || :space::bigint) AND i.indisvalid;

-- fragment asked
SELECT :query::real []::vector AS exact, :query::real []::halfvec AS half

-- fragment distance
coalesce(nullif(v.vector <=> q.half, 'NaN'), 1.0)

-- fragment cosine
-- Of the query as it is: in half precision it is a little off.
coalesce(nullif(1.0 - (v.vector::vector <=> q.exact), 'NaN'), 0.0)

-- fragment distances
SELECT v.row, /*distance*/ AS distance, p.row IS NULL AS current
FROM asked AS q CROSS JOIN vectors AS v
LEFT JOIN memories AS p
    ON p.owner = :owner AND p.row = v.row AND p.replaced_at < 9223372036854775807
WHERE v.owner = :owner AND v.space = :space

-- fragment how_they_lie
SELECT count(*) AS population,
coalesce(avg(1.0 - distance), 0.0) AS mean, coalesce(stddev_pop(distance), 0.0) AS deviation

-- fragment spread
/*how_they_lie*/ FROM distances WHERE current

-- fragment spread@shared
-- What is not shared with a reader must not show in what all look like.
/*how_they_lie*/ FROM found

-- fragment within
SELECT max(nearest.distance) + :error AS furthest FROM (
    SELECT distance FROM found ORDER BY distance LIMIT :limit
) AS nearest

-- fragment looked_up
(SELECT m.id FROM memories AS m WHERE m.owner = :owner AND m.row = f.row),
(
    SELECT /*cosine*/ FROM asked AS q CROSS JOIN vectors AS v
    WHERE v.owner = :owner AND v.space = :space AND v.row = f.row
)

-- nearest_of_present: the best of all that is present with whatever may be as good, and how all lie
WITH asked AS MATERIALIZED (/*asked*/),
distances AS MATERIALIZED (/*distances*/),
found AS (SELECT row, distance FROM distances WHERE current),
spread AS (/*spread*/),
within AS (/*within*/)
SELECT s.population, s.population, s.mean, s.deviation, /*looked_up*/
FROM spread AS s CROSS JOIN within AS w LEFT JOIN found AS f ON f.distance <= w.furthest;

-- nearest_of_admitted: the same of all that a filter admits
WITH asked AS MATERIALIZED (/*asked*/),
distances AS MATERIALIZED (/*distances*/),
found AS MATERIALIZED (
    SELECT d.row, d.distance FROM distances AS d JOIN memories AS m ON m.row = d.row
    WHERE /*admitted*/ AND m.deleted_at IS NULL
),
spread AS (/*spread*/),
within AS (/*within*/)
SELECT (SELECT count(*) FROM found), s.population, s.mean, s.deviation, /*looked_up*/
FROM spread AS s CROSS JOIN within AS w LEFT JOIN found AS f ON f.distance <= w.furthest;

-- fragment among
SELECT v.row, /*distance*/ AS distance
FROM asked AS q CROSS JOIN /*all_held*/
JOIN vectors AS v ON v.owner = :owner AND v.space = :space AND v.row = m.row
WHERE /*admitted*/ AND m.deleted_at IS NULL

-- nearest_among: the best of what a filter admits, without a look at anything else
WITH asked AS MATERIALIZED (/*asked*/),
found AS MATERIALIZED (/*among*/),
within AS (/*within*/)
SELECT (SELECT count(*) FROM found), /*looked_up*/
FROM within AS w LEFT JOIN found AS f ON f.distance <= w.furthest;

-- nearest_shared: the same, and how all of it lies; it is all that a reader may know of
WITH asked AS MATERIALIZED (/*asked*/),
found AS MATERIALIZED (/*among*/),
spread AS (/*how_they_lie*/ FROM found),
within AS (/*within*/)
SELECT s.population, s.population, s.mean, s.deviation, /*looked_up*/
FROM spread AS s CROSS JOIN within AS w LEFT JOIN found AS f ON f.distance <= w.furthest;

-- nearest_by_index: the best of what a filter admits, as an HNSW index has them
WITH asked AS MATERIALIZED (/*asked*/)
SELECT v.id, /*cosine*/ FROM asked AS q CROSS JOIN (
    SELECT m.id, v.vector
    FROM vectors AS v JOIN memories AS m ON m.row = v.row
    WHERE v.owner = :owner AND v.space = :space AND /*admitted*/ AND m.deleted_at IS NULL
    ORDER BY halfvec(v.vector, :dimensions::integer, TRUE) <=> :half::halfvec LIMIT :limit
) AS v;

-- sample_vectors: so many of an owner's vectors, whose rows have the least hashes
SELECT v.row, p.row IS NULL, halfvec_send(v.vector)
FROM (
    SELECT row FROM vectors WHERE owner = :owner AND space = :space
    ORDER BY hashint8(row), row LIMIT :size
) AS chosen
JOIN vectors AS v ON v.owner = :owner AND v.space = :space AND v.row = chosen.row
LEFT JOIN memories AS p
    ON p.owner = :owner AND p.row = v.row AND p.replaced_at < 9223372036854775807
ORDER BY v.row;

-- admitted_of: those of these versions that a filter admits
SELECT m.row FROM memories AS m
WHERE m.row = ANY(:rows::bigint []) AND /*admitted*/ AND m.deleted_at IS NULL;

-- cosines_of: how near those of these memories are that a filter admits
WITH asked AS MATERIALIZED (/*asked*/)
SELECT m.id, /*cosine*/ FROM asked AS q
CROSS JOIN spaces AS s
CROSS JOIN unnest(:ids::text []) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT m.id, m.row FROM memories AS m
    WHERE m.id = wanted.id AND /*admitted*/ AND m.deleted_at IS NULL OFFSET 0
) AS m
CROSS JOIN LATERAL (
    SELECT v.vector FROM vectors AS v
    WHERE v.owner = :owner AND v.space = s.number AND v.row = m.row OFFSET 0
) AS v
WHERE s.key = :key;

-- spaces_to_index: every space, and how many vectors it and its largest owner have
WITH held AS MATERIALIZED (
    SELECT space, sum(vectors)::bigint AS vectors, max(vectors) AS most FROM embedded GROUP BY space
)
SELECT s.number, (s.description::jsonb ->> 'dimensions')::integer,
coalesce(held.vectors, 0), coalesce(held.most, 0)
FROM spaces AS s LEFT JOIN held ON held.space = s.number ORDER BY s.number;

-- indexes_of_spaces: the indexes of spaces, also of such as are gone: whether complete, and their bytes
SELECT c.relname::text, i.indisvalid, pg_relation_size(i.indexrelid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('vectors') AND starts_with(c.relname, 'vectors_of_space_');

-- try_to_build: whether nobody else builds an index; nobody begins until the transaction ends
SELECT pg_try_advisory_xact_lock(1111834964);

-- building_memory: which process answers, the bytes that a build may take, and those that all share
SELECT pg_backend_pid(), pg_size_bytes(current_setting('maintenance_work_mem')),
pg_size_bytes(current_setting('shared_buffers'));

-- set_for_session: let a setting hold for as long as the connection is open
SELECT set_config(:name, :value, FALSE);

-- build_index: make the index of a space while others read and write
CREATE INDEX CONCURRENTLY {index} ON vectors
USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
WHERE space = {space};

-- drop_index: remove an index while others read and write
DROP INDEX CONCURRENTLY IF EXISTS {index};

-- building: how far an index build is
SELECT c.relname, p.phase, p.tuples_done, p.tuples_total, p.blocks_done, p.blocks_total
FROM pg_stat_progress_create_index AS p LEFT JOIN pg_class AS c ON c.oid = p.index_relid
WHERE p.relid = to_regclass('vectors') AND p.datname = current_database();
