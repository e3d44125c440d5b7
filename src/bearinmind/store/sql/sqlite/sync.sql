-- The statements about changes: their numbers, what stands there now, and what a replica knows of its
-- server. A :name, or one of :names, is a JSON array as `bearinmind.changes` makes them.

-- number_everything: number all that an owner has, by kind and then the oldest first
INSERT INTO changes (owner, kind, name, number)
SELECT :owner, kind, name, row_number() OVER (ORDER BY turn, at, place, first, second, third) FROM (
    SELECT 'memory' AS kind, '[' || json_quote(id) || ']' AS name, 1 AS turn,
    created_at AS at, 0 AS place, id AS first, '' AS second, '' AS third
    FROM memories WHERE owner = :owner AND replaced_at = 9223372036854775807
    UNION ALL
    SELECT 'link',
    '[' || json_quote(source) || ', ' || json_quote(kind) || ', ' || json_quote(target) || ']', 2,
    min(created_at), 0, source, kind, target
    FROM links WHERE owner = :owner GROUP BY source, kind, target
    UNION ALL
    SELECT 'share',
    '[' || json_quote(reader) || ', ' || iif(memory IS NULL, '"tag"', '"memory"') || ', '
    || json_quote(coalesce(memory, tag)) || ']', 3,
    created_at, number, '', '', ''
    FROM shares WHERE owner = :owner AND ended_at = 9223372036854775807
    UNION ALL
    SELECT 'conflict',
    '[' || json_quote(kind) || ', ' || json_quote(subject_kind) || ', ' || json_quote(subject_name) || ', '
    || json_quote(served) || ', ' || json_quote(other) || ']', 4,
    min(number), 0, '', '', ''
    FROM conflicts WHERE owner = :owner GROUP BY kind, subject_kind, subject_name, served, other
);

-- change_numbers: the numbers of those of these things of a kind that have one
SELECT c.name, c.number FROM json_each(:names) AS wanted
CROSS JOIN changes AS c ON c.owner = :owner AND c.kind = :kind AND c.name = wanted.value;

-- forget_changes: these things of a kind have no number any more
DELETE FROM changes
WHERE owner = :owner AND kind = :kind AND name IN (SELECT value FROM json_each(:names));

-- histories_of: every version of these memories with what it keeps sealed, or what is left of them
SELECT wanted.value, c.gone, s.key_id, s.nonce, s.ciphertext, s.fingerprint, /*columns*/
FROM json_each(:names) AS wanted
LEFT JOIN memories AS m ON m.owner = :owner AND m.id = json_extract(wanted.value, '$[0]')
LEFT JOIN secrets AS s ON s.owner = :owner AND s.id = m.id AND s.version = m.version
LEFT JOIN changes AS c ON c.owner = :owner AND c.kind = 'memory' AND c.name = wanted.value
ORDER BY m.version;

-- links_named: every link there ever was of each of these
SELECT wanted.value, l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement
FROM json_each(:names) AS wanted CROSS JOIN links AS l ON l.owner = :owner
AND l.source = json_extract(wanted.value, '$[0]') AND l.kind = json_extract(wanted.value, '$[1]')
AND l.target = json_extract(wanted.value, '$[2]')
ORDER BY l.created_at, l.removed_at;

-- fragment held_share
s.owner = :owner AND s.ended_at = 9223372036854775807 AND s.reader = json_extract(wanted.value, '$[0]')

-- fragment named_shares
-- Of a memory or of a tag, each by its own index: some share thousands.
(
    SELECT wanted.value AS name, s.number FROM json_each(:names) AS wanted
    CROSS JOIN shares AS s INDEXED BY shares_of_memories
    ON /*held_share*/ AND s.memory = json_extract(wanted.value, '$[2]')
    WHERE json_extract(wanted.value, '$[1]') = 'memory'
    UNION ALL
    SELECT wanted.value, s.number FROM json_each(:names) AS wanted
    CROSS JOIN shares AS s INDEXED BY shares_of_tags
    ON /*held_share*/ AND s.tag = json_extract(wanted.value, '$[2]')
    WHERE json_extract(wanted.value, '$[1]') = 'tag'
) AS named

-- shares_named: those of these shares that hold
SELECT named.name, /*share*/ FROM /*named_shares*/
CROSS JOIN shares AS s ON s.owner = :owner AND s.number = named.number;

-- links_touching: what links begin or end at these memories, past ones too
SELECT DISTINCT source, kind, target FROM links WHERE owner = :owner AND (
    source IN (SELECT value FROM json_each(:ids)) OR target IN (SELECT value FROM json_each(:ids))
) ORDER BY source, kind, target;

-- shares_of_these: the shares of these memories that hold
SELECT /*share*/ FROM shares AS s
WHERE s.owner = :owner AND s.memory IN (SELECT value FROM json_each(:ids))
AND s.ended_at = 9223372036854775807;

-- present_vectors: the vectors of the present versions of these memories, if the space is the active one
SELECT m.id, e.vector FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value
AND m.replaced_at = 9223372036854775807
CROSS JOIN spaces AS s ON s.key = :key AND s.state = 'active'
CROSS JOIN vectors AS v ON v.row = m.row AND v.space = s.number
CROSS JOIN exact_vectors AS e ON e.seq = v.seq
WHERE m.deleted_at IS NULL;

-- embed_jobs_of: the jobs to embed present versions of these memories, if the space is the active one
SELECT w.number, /*columns*/ FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value
AND m.replaced_at = 9223372036854775807
CROSS JOIN spaces AS s ON s.key = :key AND s.state = 'active'
CROSS JOIN work AS w ON w.row = m.row AND w.kind = 'embed' AND w.target = s.key;

-- peer_numbers: the last numbers that the server gave these things of a kind
SELECT p.name, p.number FROM json_each(:names) AS wanted
CROSS JOIN peer_numbers AS p ON p.owner = :owner AND p.kind = :kind AND p.name = wanted.value;

-- fragment conflict
number, kind, subject_kind, subject_name, served, other, detail, at, resolved_at

-- keep_conflict: two replicas contradicted each other; without a number it gets the next
INSERT INTO conflicts (
    owner, number, kind, subject_kind, subject_name, served, other, detail, at, resolved_at
)
SELECT :owner, coalesce(:number, coalesce(max(number), 0) + 1), :kind, :subject_kind, :subject_name,
:served, :other, :detail, :at, :resolved_at FROM conflicts WHERE owner = :owner;

-- conflicts: the conflicts that nobody has resolved, or all of them
SELECT /*conflict*/ FROM conflicts
WHERE owner = :owner AND (resolved_at = 9223372036854775807 OR :every)
ORDER BY number LIMIT :limit;

-- conflicts_named: those of these conflicts that are known
SELECT wanted.value, /*conflict*/ FROM json_each(:names) AS wanted
CROSS JOIN conflicts AS c ON c.owner = :owner
AND c.kind = json_extract(wanted.value, '$[0]')
AND c.subject_kind = json_extract(wanted.value, '$[1]')
AND c.subject_name = json_extract(wanted.value, '$[2]')
AND c.served = json_extract(wanted.value, '$[3]') AND c.other = json_extract(wanted.value, '$[4]')
ORDER BY c.number;
