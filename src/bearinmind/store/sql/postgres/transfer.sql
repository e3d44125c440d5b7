-- The statements that move a whole store: every table page by page in the order of its key, behind a
-- row of it, and back into another store under the numbers that are given. Each `give_` has the same
-- columns in every dialect. What is counted beside the rows is counted once, when all are there.

-- moving_facts: how many rows each table has, and what changes when any of them does
SELECT 'memories', count(*), concat_ws(
    ' ', sum(row), max(updated_at),
    count(*) FILTER (WHERE replaced_at < 9223372036854775807), count(*) FILTER (WHERE sensitive)
) FROM memories
UNION ALL SELECT 'indexed', count(*), sum(length)::text FROM indexed
UNION ALL SELECT 'links', count(*), concat_ws(
    ' ', max(created_at), count(*) FILTER (WHERE removed_at < 9223372036854775807)
) FROM links
UNION ALL SELECT 'secrets', count(*), concat_ws(' ', min(key_id), max(key_id)) FROM secrets
UNION ALL SELECT 'retired_keys', count(*), max(retired_at)::text FROM retired_keys
UNION ALL SELECT 'audit', count(*), sum(number)::text FROM audit
UNION ALL SELECT 'spaces', count(*), string_agg(key || ' ' || state, ',' ORDER BY key) FROM spaces
UNION ALL SELECT 'vectors', count(*), sum(row)::text FROM vectors
UNION ALL SELECT 'work', count(*), concat_ws(
    ' ', max(number), sum(attempts), count(*) FILTER (WHERE state = 'dead')
) FROM work
UNION ALL SELECT 'extractors', count(*), max(key) FILTER (WHERE in_use) FROM extractors
UNION ALL SELECT 'readings', count(*), sum(extractor)::text FROM readings
UNION ALL SELECT 'concepts', count(*), concat_ws(
    ' ', sum(number), count(stands_for), sum(memories)
) FROM concepts
UNION ALL SELECT 'mentions', count(*), concat_ws(' ', sum(roles), sum(given)) FROM mentions
UNION ALL SELECT 'relations', count(*), concat_ws(
    ' ', sum(number), count(*) FILTER (WHERE decided),
    count(*) FILTER (WHERE retracted_at < 9223372036854775807)
) FROM relations
UNION ALL SELECT 'evidence', count(*), concat_ws(
    ' ', max(since), count(*) FILTER (WHERE until < 9223372036854775807)
) FROM evidence
UNION ALL SELECT 'merges', count(*), concat_ws(
    ' ', sum(number), count(*) FILTER (WHERE undone_at < 9223372036854775807)
) FROM merges
UNION ALL SELECT 'shares', count(*), concat_ws(
    ' ', max(created_at), count(*) FILTER (WHERE ended_at < 9223372036854775807)
) FROM shares
UNION ALL SELECT 'users', count(*), concat_ws(
    ' ', max(created_at), count(*) FILTER (WHERE disabled_at < 9223372036854775807)
) FROM users
UNION ALL SELECT 'keys', count(*), concat_ws(
    ' ', max(created_at), count(*) FILTER (WHERE revoked_at < 9223372036854775807)
) FROM keys
UNION ALL SELECT 'uses', count(*), sum(writes)::text FROM uses
UNION ALL SELECT 'traffic', count(*), sum(count)::text FROM traffic
UNION ALL SELECT 'feeds', count(*), sum(head)::text FROM feeds
UNION ALL SELECT 'changes', count(*), concat_ws(' ', sum(number), count(refused)) FROM changes
UNION ALL SELECT 'peers', count(*), concat_ws(' ', sum(cursor), max(pushed_at)) FROM peers
UNION ALL SELECT 'peer_numbers', count(*), sum(number)::text FROM peer_numbers
UNION ALL SELECT 'conflicts', count(*),
(count(*) FILTER (WHERE resolved_at < 9223372036854775807))::text FROM conflicts
UNION ALL SELECT 'proposals', count(*), concat_ws(
    ' ', max(created_at), count(*) FILTER (WHERE state = 'open'), max(decided_at)
) FROM proposals;

-- fragment numbered
SELECT owner, row AS number FROM memories
UNION ALL SELECT owner, number FROM concepts
UNION ALL SELECT owner, number FROM relations
UNION ALL SELECT owner, number FROM merges
UNION ALL SELECT owner, number FROM audit

-- number_ranges: from where to where the numbers of each owner go
SELECT owner, min(number), max(number) FROM (/*numbered*/) AS used GROUP BY owner ORDER BY owner;

-- begin_snapshot: see the database as it is now until the transaction ends
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- is_unfinished: whether the store is one that is being moved into
SELECT to_regclass('moving') IS NOT NULL;

-- begin_move: from now on this store is one that is being moved into
CREATE TABLE moving (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    source TEXT NOT NULL, -- JSON object: what the store was when the move began that is moved from
    moved BIGINT NOT NULL, -- how many rows are here
    stage TEXT NOT NULL, -- the table that was written last; then "settled"
    after TEXT NOT NULL -- JSON object: the key of the row that was written last
);

-- begin_progress: nothing is moved yet
INSERT INTO moving (source, moved, stage, after) VALUES (:source, 0, :stage, :after);

-- clear: forget all that a store holds
TRUNCATE tenants, memories, links, indexed, spaces, vectors, embedded, work, secrets, retired_keys,
audit, extractors, readings, concepts, mentions, relations, evidence, merges, shares, users, keys,
uses, sessions, traffic, feeds, changes, peers, peer_numbers, conflicts, proposals RESTART IDENTITY;

-- settle_tenants: the owners, the last number of each and how much of theirs is in the index
INSERT INTO tenants (owner, numbers, versions, terms)
SELECT used.owner, used.numbers, coalesce(held.versions, 0), coalesce(held.terms, 0)
FROM (
    SELECT owner, max(number) AS numbers FROM (
        -- a share is numbered for itself, but the next one gets the next number of its owner
        /*numbered*/ UNION ALL SELECT owner, number FROM shares
    ) AS each GROUP BY owner
) AS used
LEFT JOIN (
    SELECT owner, count(*) AS versions, sum(length) AS terms FROM indexed GROUP BY owner
) AS held ON held.owner = used.owner;

-- settle_embedded: how many vectors each owner has in each space
INSERT INTO embedded (owner, space, vectors)
SELECT owner, space, count(*) FROM vectors GROUP BY owner, space;

-- settle_spaces: the next space gets a number that none has
SELECT setval(pg_get_serial_sequence('spaces', 'number'), max(number)) FROM spaces;

-- settle_extractors: the next extractor gets a number that none has
SELECT setval(pg_get_serial_sequence('extractors', 'number'), max(number)) FROM extractors;

-- settle_work: the next job gets a number that none has
SELECT setval(pg_get_serial_sequence('work', 'number'), max(number)) FROM work;

-- analyse: let the planner know what has come
ANALYZE tenants, memories, links, indexed, spaces, vectors, embedded, work, secrets, audit, readings,
concepts, mentions, relations, evidence, merges, shares, users, keys, uses,
traffic, feeds, changes, peers, peer_numbers, conflicts, proposals;

-- give_spaces: every space, with how many vectors it has
WITH held AS MATERIALIZED (SELECT space, sum(vectors)::bigint AS vectors FROM embedded GROUP BY space)
SELECT s.number, s.key, s.description, s.state, coalesce(held.vectors, 0)
FROM spaces AS s LEFT JOIN held ON held.space = s.number
WHERE s.number > :number ORDER BY s.number;

-- give_memories: every version
SELECT owner, row, /*version_columns*/ FROM memories WHERE (owner, row) > (:owner, :row) ORDER BY owner, row;

-- give_indexed: the terms of every version
SELECT owner, row, content, keywords, tags, category, function, length
FROM indexed WHERE (owner, row) > (:owner, :row) ORDER BY owner, row;

-- give_index_facts: how much the index holds
SELECT coalesce(sum(versions), 0)::bigint, coalesce(sum(terms), 0)::bigint FROM tenants;

-- give_audit: every audit entry
SELECT owner, number, at, action, id, version, agent, key, detail FROM audit
WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_concepts: every concept
SELECT owner, number, name, label, kind, memories, subjects FROM concepts
WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_standing: every concept that stands for another one
SELECT owner, number, stands_for FROM concepts
WHERE (owner, number) > (:owner, :number) AND stands_for IS NOT NULL ORDER BY owner, number;

-- give_mentions: every mention
SELECT owner, concept, row, roles, given FROM mentions
WHERE (owner, concept, row) > (:owner, :concept, :row) ORDER BY owner, concept, row;

-- give_relations: every relation
SELECT owner, number, source, type, target, weight, valid_from, valid_to, recorded_at, retracted_at,
decided, founded, origin
FROM relations WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_evidence: everything that is evidence for a relation
SELECT owner, relation, row, since, until, given FROM evidence
WHERE (owner, relation, row) > (:owner, :relation, :row) ORDER BY owner, relation, row;

-- give_merges: every merge ever made
SELECT owner, number, alias, concept, reason, score, merged_at, undone_at FROM merges
WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_vectors: every vector
SELECT owner, space, row, halfvec_send(vector) FROM vectors
WHERE (owner, space, row) > (:owner, :space, :row) ORDER BY owner, space, row;

-- give_work: every job
SELECT owner, number, kind, target, row, state, due, turn, attempts, error FROM work
WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_readings: who read every version last
SELECT owner, row, extractor FROM readings WHERE (owner, row) > (:owner, :row) ORDER BY owner, row;

-- take_spaces: keep a space; its vectors are counted when all are there
INSERT INTO spaces (number, key, description, state) VALUES (:number, :key, :description, :state);

-- take_audit: keep an audit entry
INSERT INTO audit (owner, number, at, action, id, version, agent, key, detail)
VALUES (:owner, :number, :at, :action, :id, :version, :agent, :key, :detail);

-- take_concepts: keep a concept, with how often it is mentioned
INSERT INTO concepts (owner, number, name, label, kind, memories, subjects)
VALUES (:owner, :number, :name, :label, :kind, :memories, :subjects);

-- take_standing: let a concept stand for another one
UPDATE concepts SET stands_for = :stands_for WHERE owner = :owner AND number = :number;

-- take_mentions: keep a mention
INSERT INTO mentions (owner, concept, row, roles, given)
VALUES (:owner, :concept, :row, :roles, :given);

-- take_relations: keep a relation
INSERT INTO relations (
    owner, number, source, type, target, weight, valid_from, valid_to, recorded_at, retracted_at,
    decided, founded, origin
) VALUES (
    :owner, :number, :source, :type, :target, :weight, :valid_from, :valid_to, :recorded_at,
    :retracted_at, :decided, :founded, :origin
);

-- take_evidence: keep what is evidence for a relation
INSERT INTO evidence (owner, relation, row, since, until, given)
VALUES (:owner, :relation, :row, :since, :until, :given);

-- take_merges: keep a merge
INSERT INTO merges (owner, number, alias, concept, reason, score, merged_at, undone_at)
VALUES (:owner, :number, :alias, :concept, :reason, :score, :merged_at, :undone_at);

-- take_vectors: keep a vector
INSERT INTO vectors (owner, space, row, vector) VALUES (:owner, :space, :row, :vector);

-- take_work: keep a job
INSERT INTO work (owner, number, kind, target, row, state, due, turn, attempts, error)
VALUES (:owner, :number, :kind, :target, :row, :state, :due, :turn, :attempts, :error);

-- take_readings: keep who read a version
INSERT INTO readings (owner, row, extractor) VALUES (:owner, :row, :extractor);
