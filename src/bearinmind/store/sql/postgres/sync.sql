-- The statements about changes: their numbers, what stands there now, and what a replica knows of its
-- server. A :name, or one of :names, is a JSON array as `bearinmind.changes` makes them.

-- number_everything: number all that an owner has, by kind and then the oldest first
INSERT INTO changes (owner, kind, name, number)
SELECT :owner, kind, name, row_number() OVER (ORDER BY turn, at, place, first, second, third) FROM (
    SELECT 'memory' AS kind, '[' || to_json(id)::text || ']' AS name, 1 AS turn,
    created_at AS at, 0 AS place, id AS first, '' AS second, '' AS third
    FROM memories WHERE owner = :owner AND replaced_at = 9223372036854775807
    UNION ALL
    SELECT 'link',
    '[' || to_json(source)::text || ', ' || to_json(kind)::text || ', ' || to_json(target)::text
    || ']', 2,
    min(created_at), 0, source, kind, target
    FROM links WHERE owner = :owner GROUP BY source, kind, target
    UNION ALL
    SELECT 'share',
    '[' || to_json(reader)::text || ', '
    || CASE WHEN memory IS NULL THEN '"tag"' ELSE '"memory"' END || ', '
    || to_json(coalesce(memory, tag))::text || ']', 3,
    created_at, number, '', '', ''
    FROM shares WHERE owner = :owner AND ended_at = 9223372036854775807
    UNION ALL
    SELECT 'conflict',
    '[' || to_json(kind)::text || ', ' || to_json(subject_kind)::text || ', '
    || to_json(subject_name)::text || ', ' || to_json(served)::text || ', ' || to_json(other)::text || ']', 4,
    min(number), 0, '', '', ''
    FROM conflicts WHERE owner = :owner GROUP BY kind, subject_kind, subject_name, served, other
) AS everything;

-- change_numbers: the numbers of those of these things of a kind that have one
SELECT name, number FROM changes
WHERE owner = :owner AND kind = :kind AND name = ANY(:names::text []);

-- forget_changes: these things of a kind have no number any more
DELETE FROM changes
WHERE owner = :owner AND kind = :kind AND name = ANY(:names::text []);

-- histories_of: every version of these memories with what it keeps sealed, or what is left of them
SELECT wanted.name, c.gone, s.key_id, s.nonce, s.ciphertext, s.fingerprint, /*columns*/
FROM unnest(:names::text []) AS wanted (name)
LEFT JOIN LATERAL (
    SELECT * FROM memories AS m WHERE m.owner = :owner AND m.id = wanted.name::json ->> 0 OFFSET 0
) AS m ON TRUE
LEFT JOIN LATERAL (
    SELECT * FROM secrets AS s
    WHERE s.owner = :owner AND s.id = m.id AND s.version = m.version OFFSET 0
) AS s ON TRUE
LEFT JOIN LATERAL (
    SELECT * FROM changes AS c
    WHERE c.owner = :owner AND c.kind = 'memory' AND c.name = wanted.name OFFSET 0
) AS c ON TRUE
ORDER BY m.version;

-- links_named: every link there ever was of each of these
SELECT wanted.name, l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement
FROM unnest(:names::text []) AS wanted (name) CROSS JOIN LATERAL (
    SELECT * FROM links AS l WHERE l.owner = :owner AND l.source = wanted.name::json ->> 0
    AND l.kind = wanted.name::json ->> 1 AND l.target = wanted.name::json ->> 2 OFFSET 0
) AS l
ORDER BY l.created_at, l.removed_at;

-- fragment held_share
s.owner = :owner AND s.ended_at = 9223372036854775807 AND s.reader = wanted.name::json ->> 0

-- fragment named_shares
-- Of a memory or of a tag, each by its own index: some share thousands.
(
    SELECT wanted.name, s.number FROM unnest(:names::text []) AS wanted (name) CROSS JOIN LATERAL (
        SELECT s.number FROM shares AS s
        WHERE /*held_share*/ AND s.memory = wanted.name::json ->> 2 OFFSET 0
    ) AS s WHERE wanted.name::json ->> 1 = 'memory'
    UNION ALL
    SELECT wanted.name, s.number FROM unnest(:names::text []) AS wanted (name) CROSS JOIN LATERAL (
        SELECT s.number FROM shares AS s
        WHERE /*held_share*/ AND s.tag = wanted.name::json ->> 2 OFFSET 0
    ) AS s WHERE wanted.name::json ->> 1 = 'tag'
) AS named

-- shares_named: those of these shares that hold
SELECT named.name, /*share*/ FROM /*named_shares*/
JOIN shares AS s ON s.owner = :owner AND s.number = named.number;

-- links_touching: what links begin or end at these memories, past ones too
SELECT DISTINCT source, kind, target FROM links
WHERE owner = :owner AND (source = ANY(:ids::text []) OR target = ANY(:ids::text []))
ORDER BY source, kind, target;

-- shares_of_these: the shares of these memories that hold
SELECT /*share*/ FROM shares AS s
WHERE s.owner = :owner AND s.memory = ANY(:ids::text [])
AND s.ended_at = 9223372036854775807;

-- present_vectors: the vectors of the present versions of these memories, if the space is the active one
SELECT m.id, halfvec_send(v.vector) FROM memories AS m
JOIN spaces AS s ON s.key = :key AND s.state = 'active'
JOIN vectors AS v ON v.owner = m.owner AND v.space = s.number AND v.row = m.row
WHERE m.owner = :owner AND m.id = ANY(:ids::text [])
AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL;

-- embed_jobs_of: the jobs to embed present versions of these memories, if the space is the active one
WITH present AS MATERIALIZED (
    SELECT m.row, /*columns*/ FROM memories AS m
    WHERE m.owner = :owner AND m.id = ANY(:ids::text []) AND m.replaced_at = 9223372036854775807
)
SELECT w.number, /*columns*/ FROM present AS m
JOIN spaces AS s ON s.key = :key AND s.state = 'active'
JOIN work AS w ON w.owner = :owner AND w.row = m.row AND w.kind = 'embed' AND w.target = s.key;

-- peer_numbers: the last numbers that the server gave these things of a kind
SELECT name, number FROM peer_numbers
WHERE owner = :owner AND kind = :kind AND name = ANY(:names::text []);

-- fragment conflict
number, kind, subject_kind, subject_name, served, other, detail, at, resolved_at

-- keep_conflict: two replicas contradicted each other; without a number it gets the next
INSERT INTO conflicts (
    owner, number, kind, subject_kind, subject_name, served, other, detail, at, resolved_at
)
SELECT :owner, coalesce(:number::bigint, coalesce(max(number), 0) + 1), :kind, :subject_kind, :subject_name,
:served, :other, :detail, :at, :resolved_at FROM conflicts WHERE owner = :owner;

-- conflicts: the conflicts that nobody has resolved, or all of them
SELECT /*conflict*/ FROM conflicts
WHERE owner = :owner AND (resolved_at = 9223372036854775807 OR :every::boolean)
ORDER BY number LIMIT :limit;

-- conflicts_named: those of these conflicts that are known
SELECT wanted.name, /*conflict*/ FROM unnest(:names::text []) AS wanted (name)
JOIN conflicts AS c ON c.owner = :owner
AND c.kind = wanted.name::json ->> 0 AND c.subject_kind = wanted.name::json ->> 1
AND c.subject_name = wanted.name::json ->> 2
AND c.served = wanted.name::json ->> 3 AND c.other = wanted.name::json ->> 4
ORDER BY c.number;
