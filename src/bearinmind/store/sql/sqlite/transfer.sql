-- The statements that move a whole store: every table page by page in the order of its key, behind a
-- row of it, and back into another store under the numbers that are given. Each `give_` has the same
-- columns in every dialect; whatever the triggers count is left to them.

-- moving_facts: how many rows each table has, and what changes when any of them does
SELECT 'memories', count(*), coalesce(max(row), 0) || ' ' || coalesce(max(updated_at), 0) || ' '
|| total(replaced_at < 9223372036854775807) || ' ' || total(sensitive) FROM memories
UNION ALL SELECT 'indexed', count(*), total(length) FROM indexed
UNION ALL SELECT 'links', count(*), coalesce(max(created_at), 0) || ' '
|| total(removed_at < 9223372036854775807) FROM links
UNION ALL SELECT 'secrets', count(*), coalesce(min(key_id), '') || ' ' || coalesce(max(key_id), '')
FROM secrets
UNION ALL SELECT 'retired_keys', count(*), coalesce(max(retired_at), 0) FROM retired_keys
UNION ALL SELECT 'audit', count(*), coalesce(max(number), 0) FROM audit
UNION ALL SELECT 'spaces', count(*), coalesce(group_concat(key || ' ' || state), '')
FROM (SELECT key, state FROM spaces ORDER BY key)
UNION ALL SELECT 'vectors', count(*), coalesce(max(seq), 0) FROM vectors
UNION ALL SELECT 'work', count(*), coalesce(max(number), 0) || ' ' || total(attempts) || ' '
|| total(state = 'dead') FROM work
UNION ALL SELECT 'extractors', count(*), coalesce(max(iif(in_use, key, '')), '') FROM extractors
UNION ALL SELECT 'readings', count(*), total(extractor) FROM readings
UNION ALL SELECT 'concepts', count(*), coalesce(max(number), 0) || ' ' || count(stands_for) || ' '
|| total(memories) FROM concepts
UNION ALL SELECT 'mentions', count(*), total(roles) || ' ' || total(given) FROM mentions
UNION ALL SELECT 'relations', count(*), coalesce(max(number), 0) || ' ' || total(decided) || ' '
|| total(retracted_at < 9223372036854775807) FROM relations
UNION ALL SELECT 'evidence', count(*), coalesce(max(since), 0) || ' '
|| total(until < 9223372036854775807) FROM evidence
UNION ALL SELECT 'merges', count(*), coalesce(max(number), 0) || ' '
|| total(undone_at < 9223372036854775807) FROM merges
UNION ALL SELECT 'shares', count(*), coalesce(max(created_at), 0) || ' '
|| total(ended_at < 9223372036854775807) FROM shares
UNION ALL SELECT 'users', count(*), coalesce(max(created_at), 0) || ' '
|| total(disabled_at < 9223372036854775807) FROM users
UNION ALL SELECT 'keys', count(*), coalesce(max(created_at), 0) || ' '
|| total(revoked_at < 9223372036854775807) FROM keys
UNION ALL SELECT 'uses', count(*), total(writes) FROM uses
UNION ALL SELECT 'traffic', count(*), total(count) FROM traffic
UNION ALL SELECT 'feeds', count(*), total(head) FROM feeds
UNION ALL SELECT 'changes', count(*), total(number) || ' ' || count(refused) FROM changes
UNION ALL SELECT 'peers', count(*), total(cursor) || ' ' || coalesce(max(pushed_at), 0) FROM peers
UNION ALL SELECT 'peer_numbers', count(*), total(number) FROM peer_numbers
UNION ALL SELECT 'conflicts', count(*), total(resolved_at < 9223372036854775807) FROM conflicts
UNION ALL SELECT 'proposals', count(*), coalesce(max(created_at), 0) || ' ' || total(state = 'open')
|| ' ' || coalesce(max(decided_at), 0) FROM proposals;

-- number_ranges: from where to where the numbers of each owner go
SELECT owner, min(number), max(number) FROM (
    SELECT owner, row AS number FROM memories
    UNION ALL SELECT owner, number FROM concepts
    UNION ALL SELECT owner, number FROM relations
    UNION ALL SELECT owner, number FROM merges
    UNION ALL SELECT owner, number FROM audit
) GROUP BY owner ORDER BY owner;

-- is_unfinished: whether the store is one that is being moved into
SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'moving');

-- begin_move: from now on this store is one that is being moved into
CREATE TABLE moving (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    source TEXT NOT NULL, -- JSON object: what the store was when the move began that is moved from
    moved INTEGER NOT NULL, -- how many rows are here
    stage TEXT NOT NULL, -- the table that was written last; then "settled"
    after TEXT NOT NULL -- JSON object: the key of the row that was written last
) STRICT;

-- begin_progress: nothing is moved yet
INSERT INTO moving (only_row, source, moved, stage, after) VALUES (1, :source, 0, :stage, :after);

-- mark_unfinished: let nobody open the file as a store
PRAGMA application_id = 1111834957;

-- mark_finished: let everybody open the file as a store
PRAGMA application_id = 1111834962;

-- clear_spaces: forget which spaces an empty store was to have
DELETE FROM spaces;

-- clear_extractors: forget who was to read an empty store
DELETE FROM extractors;

-- clear_departures: forget which vectors left an empty store
DELETE FROM departures;

-- give_spaces: every space, with how many vectors it has
SELECT number, key, description, state, embedded FROM spaces WHERE number > :number ORDER BY number;

-- give_memories: every version
SELECT owner, row, /*version_columns*/ FROM memories WHERE row > :row ORDER BY row;

-- give_indexed: the terms of every version
SELECT m.owner, i.row, i.content, i.keywords, i.tags, i.category, i.function, i.length
FROM indexed AS i CROSS JOIN memories AS m ON m.row = i.row
WHERE i.row > :row ORDER BY i.row;

-- give_index_facts: how much the index holds
SELECT versions, terms FROM index_facts;

-- give_audit: every audit entry
SELECT owner, number, at, action, id, version, agent, key, detail FROM audit
WHERE number > :number ORDER BY number;

-- give_concepts: every concept
SELECT owner, number, name, label, kind, memories, subjects FROM concepts
WHERE number > :number ORDER BY number;

-- give_standing: every concept that stands for another one
SELECT owner, number, stands_for FROM concepts
WHERE number > :number AND stands_for IS NOT NULL ORDER BY number;

-- give_mentions: every mention
SELECT m.owner, n.concept, n.row, n.roles, n.given
FROM mentions AS n CROSS JOIN memories AS m ON m.row = n.row
WHERE (n.concept, n.row) > (:concept, :row) ORDER BY n.concept, n.row;

-- give_relations: every relation
SELECT owner, number, source, type, target, weight, valid_from, valid_to, recorded_at, retracted_at,
decided, founded, origin
FROM relations WHERE number > :number ORDER BY number;

-- give_evidence: everything that is evidence for a relation
SELECT m.owner, e.relation, e.row, e.since, e.until, e.given
FROM evidence AS e CROSS JOIN memories AS m ON m.row = e.row
WHERE (e.relation, e.row) > (:relation, :row) ORDER BY e.relation, e.row;

-- give_merges: every merge ever made
SELECT owner, number, alias, concept, reason, score, merged_at, undone_at FROM merges
WHERE number > :number ORDER BY number;

-- give_vectors: every vector
SELECT v.owner, v.space, v.row, e.vector
FROM vectors AS v CROSS JOIN exact_vectors AS e ON e.seq = v.seq
WHERE (v.row, v.space) > (:row, :space) ORDER BY v.row, v.space;

-- give_work: every job
SELECT m.owner, w.number, w.kind, w.target, w.row, w.state, w.due, w.turn, w.attempts, w.error
FROM work AS w CROSS JOIN memories AS m ON m.row = w.row
WHERE w.number > :number ORDER BY w.number;

-- give_readings: who read every version last
SELECT m.owner, r.row, r.extractor FROM readings AS r CROSS JOIN memories AS m ON m.row = r.row
WHERE r.row > :row ORDER BY r.row;

-- take_spaces: keep a space; its vectors are counted when they come
INSERT INTO spaces (number, key, description, state) VALUES (:number, :key, :description, :state);

-- take_audit: keep an audit entry
INSERT INTO audit (number, at, owner, action, id, version, agent, key, detail)
VALUES (:number, :at, :owner, :action, :id, :version, :agent, :key, :detail);

-- take_concepts: keep a concept; its mentions are counted when they come
INSERT INTO concepts (number, owner, name, label, kind) VALUES (:number, :owner, :name, :label, :kind);

-- take_standing: let a concept stand for another one
UPDATE concepts SET stands_for = :stands_for WHERE number = :number;

-- take_mentions: keep a mention
INSERT INTO mentions (concept, row, roles, given) VALUES (:concept, :row, :roles, :given);

-- take_relations: keep a relation
INSERT INTO relations (
    number, owner, source, type, target, weight, valid_from, valid_to, recorded_at, retracted_at,
    decided, founded, origin
) VALUES (
    :number, :owner, :source, :type, :target, :weight, :valid_from, :valid_to, :recorded_at,
    :retracted_at, :decided, :founded, :origin
);

-- take_evidence: keep what is evidence for a relation
INSERT INTO evidence (relation, row, since, until, given)
VALUES (:relation, :row, :since, :until, :given);

-- take_merges: keep a merge
INSERT INTO merges (number, owner, alias, concept, reason, score, merged_at, undone_at)
VALUES (:number, :owner, :alias, :concept, :reason, :score, :merged_at, :undone_at);

-- take_vectors: keep the code of a vector
INSERT INTO vectors (space, row, owner, code) VALUES (:space, :row, :owner, :code);

-- take_exact_vectors: and the vector itself
INSERT INTO exact_vectors (seq, vector)
SELECT seq, :vector FROM vectors WHERE row = :row AND space = :space;

-- take_work: keep a job
INSERT INTO work (number, kind, target, row, state, due, turn, attempts, error)
VALUES (:number, :kind, :target, :row, :state, :due, :turn, :attempts, :error);

-- take_readings: keep who read a version
INSERT INTO readings (row, extractor) VALUES (:row, :extractor);
