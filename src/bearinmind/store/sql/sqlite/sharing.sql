-- The statements about what owners share, and of what their readers see of it, with the fragments of
-- the files before. Whatever names a :reader shows nothing but what is shared with that reader.

-- fragment share
s.owner, s.reader, s.memory, s.tag, s.can_write, s.created_at, s.ended_at

-- fragment same_share
s.owner = :owner AND s.reader = :reader AND s.memory IS :memory AND s.tag IS :tag
AND s.ended_at = 9223372036854775807

-- insert_share: keep a share
INSERT INTO shares (owner, number, reader, memory, tag, can_write, created_at, ended_at)
SELECT :owner, coalesce(max(number), 0) + 1, :reader, :memory, :tag, :can_write, :created_at, :ended_at
FROM shares WHERE owner = :owner;

-- forget_shares: remove every share of these memories
DELETE FROM shares WHERE owner = :owner AND memory IN (SELECT value FROM json_each(:ids));

-- shared_with: what others share with a reader
SELECT /*share*/ FROM shares AS s INDEXED BY shares_by_reader
WHERE s.reader = :reader AND s.ended_at = 9223372036854775807
ORDER BY s.owner, s.created_at, s.number;

-- sharers: who shares anything with a reader, from one to the next: some share thousands of memories
WITH RECURSIVE sharer (owner) AS (
    SELECT min(s.owner) FROM shares AS s INDEXED BY shares_by_reader
    WHERE s.reader = :reader AND s.ended_at = 9223372036854775807
    UNION ALL
    SELECT (
        SELECT min(s.owner) FROM shares AS s INDEXED BY shares_by_reader
        WHERE s.reader = :reader AND s.ended_at = 9223372036854775807 AND s.owner > sharer.owner
    ) FROM sharer WHERE sharer.owner IS NOT NULL
)
SELECT owner FROM sharer WHERE owner IS NOT NULL;

-- shared_memories: those of these memories that the filter admits
SELECT /*columns*/ FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value
WHERE /*admitted*/;

-- fragment writable
(EXISTS (
    SELECT 1 FROM shares AS s INDEXED BY shares_of_memories
    WHERE s.owner = m.owner AND s.reader = :reader AND s.memory = m.id
    AND s.ended_at = 9223372036854775807 AND s.can_write
) OR EXISTS (
    SELECT 1 FROM json_each(m.tags) AS tagged
    CROSS JOIN shares AS s INDEXED BY shares_of_tags ON s.owner = m.owner AND s.reader = :reader
    AND s.tag = tagged.value AND s.ended_at = 9223372036854775807 AND s.can_write
))

-- shared_rights: whether the reader may write each of these memories that the filter admits
SELECT m.id, /*writable*/ FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value
WHERE /*admitted*/;

-- shared_terms: how many memories the reader sees and how many terms they have; likewise of each term
WITH seen AS MATERIALIZED (
    SELECT i.length, i.content || i.keywords || i.tags || i.category || i.function AS line
    FROM /*all_held*/ CROSS JOIN indexed AS i ON i.row = m.row WHERE /*held*/
)
SELECT NULL, count(*), coalesce(sum(length), 0) FROM seen
UNION ALL
SELECT asked.value, (SELECT count(*) FROM seen WHERE instr(line, ' ' || asked.value || ' ')), 0
FROM json_each(:terms) AS asked;

-- shared_concepts: under which names the memories that the reader sees mention what these stand for
SELECT asked.value, c.name, member.name, member.label, member.kind, count(*), sum(n.roles & 1)
FROM json_each(:names) AS asked
CROSS JOIN concepts AS found ON found.owner = :owner AND found.name = asked.value
/*standing*/
CROSS JOIN concepts AS member ON member.number = c.number OR member.stands_for = c.number
CROSS JOIN mentions AS n ON n.concept = member.number
CROSS JOIN memories AS m ON m.row = n.row
WHERE /*held*/ GROUP BY asked.value, member.number;
