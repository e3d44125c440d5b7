-- The statements about what owners share, and of what their readers see of it, with the fragments of
-- the files before. Whatever names a :reader shows nothing but what is shared with that reader.

-- fragment share
s.owner, s.reader, s.memory, s.tag, s.can_write, s.created_at, s.ended_at

-- fragment same_share
s.owner = :owner AND s.reader = :reader
AND s.memory IS NOT DISTINCT FROM :memory::text AND s.tag IS NOT DISTINCT FROM :tag::text
AND s.ended_at = 9223372036854775807

-- insert_share: keep a share
INSERT INTO shares (owner, number, reader, memory, tag, can_write, created_at, ended_at)
VALUES (:owner, :number, :reader, :memory, :tag, :can_write, :created_at, :ended_at);

-- forget_shares: remove every share of these memories
DELETE FROM shares WHERE owner = :owner AND memory = ANY(:ids::text []);

-- shared_with: what others share with a reader
SELECT /*share*/ FROM shares AS s
WHERE s.reader = :reader AND s.ended_at = 9223372036854775807
ORDER BY s.owner, s.created_at, s.number;

-- sharers: who shares anything with a reader, from one to the next: some share thousands of memories
WITH RECURSIVE sharer (owner) AS (
    SELECT min(s.owner) FROM shares AS s
    WHERE s.reader = :reader AND s.ended_at = 9223372036854775807
    UNION ALL
    SELECT (
        SELECT min(s.owner) FROM shares AS s
        WHERE s.reader = :reader AND s.ended_at = 9223372036854775807 AND s.owner > sharer.owner
    ) FROM sharer WHERE sharer.owner IS NOT NULL
)
SELECT owner FROM sharer WHERE owner IS NOT NULL;

-- shared_memories: those of these memories that the filter admits
SELECT m.* FROM unnest(:ids::text []) AS wanted (id) CROSS JOIN LATERAL (
    SELECT /*columns*/ FROM memories AS m WHERE m.id = wanted.id AND /*admitted*/ OFFSET 0
) AS m;

-- fragment writable
(m.id = ANY(ARRAY(
    SELECT s.memory FROM shares AS s
    WHERE s.owner = :owner AND s.reader = :reader AND s.memory IS NOT NULL
    AND s.ended_at = 9223372036854775807 AND s.can_write
)) OR m.tags && ARRAY(
    SELECT s.tag FROM shares AS s
    WHERE s.owner = :owner AND s.reader = :reader AND s.tag IS NOT NULL
    AND s.ended_at = 9223372036854775807 AND s.can_write
))

-- shared_rights: whether the reader may write each of these memories that the filter admits
SELECT m.id, m.writable FROM unnest(:ids::text []) AS wanted (id) CROSS JOIN LATERAL (
    SELECT m.id, /*writable*/ AS writable FROM memories AS m
    WHERE m.id = wanted.id AND /*admitted*/ OFFSET 0
) AS m;

-- shared_terms: how many memories the reader sees and how many terms they have; likewise of each term
WITH seen AS MATERIALIZED (
    SELECT i.length, i.line FROM /*all_held*/ CROSS JOIN LATERAL (
        SELECT i.length, /*line*/ AS line FROM indexed AS i
        WHERE i.owner = :owner AND i.row = m.row OFFSET 0
    ) AS i
    WHERE /*held*/
)
SELECT NULL, count(*), coalesce(sum(length), 0)::bigint FROM seen
UNION ALL
SELECT asked.term, (SELECT count(*) FROM seen WHERE strpos(line, ' ' || asked.term || ' ') > 0), 0
FROM unnest(:terms::text []) AS asked (term);

-- shared_concepts: under which names the memories that the reader sees mention what these stand for
SELECT asked.name, c.name, member.name, member.label, member.kind, count(*), sum(n.roles & 1)::bigint
FROM unnest(:names::text []) AS asked (name)
/*found_by_name*/
/*standing*/
CROSS JOIN LATERAL (
    SELECT member.number, member.name, member.label, member.kind FROM concepts AS member
    WHERE member.owner = :owner AND member.number = c.number
    UNION ALL
    SELECT member.number, member.name, member.label, member.kind FROM concepts AS member
    WHERE member.owner = :owner AND member.stands_for = c.number
) AS member
CROSS JOIN LATERAL (
    SELECT n.row, n.roles FROM mentions AS n
    WHERE n.owner = :owner AND n.concept = member.number OFFSET 0
) AS n
CROSS JOIN LATERAL (SELECT m.row FROM memories AS m WHERE m.row = n.row AND /*held*/ OFFSET 0) AS m
GROUP BY asked.name, c.name, member.number, member.name, member.label, member.kind;
