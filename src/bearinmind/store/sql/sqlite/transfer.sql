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

-- holds_anything: whether there is anything in the store that somebody could miss
SELECT EXISTS (SELECT 1 FROM memories) OR EXISTS (SELECT 1 FROM concepts)
OR EXISTS (SELECT 1 FROM audit) OR EXISTS (SELECT 1 FROM retired_keys)
OR EXISTS (SELECT 1 FROM shares) OR EXISTS (SELECT 1 FROM users)
OR EXISTS (SELECT 1 FROM feeds) OR EXISTS (SELECT 1 FROM peers)
OR EXISTS (SELECT 1 FROM proposals);

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

-- note_progress: so many more rows are here, unless somebody else has written meanwhile
UPDATE moving SET moved = moved + :rows, stage = :stage, after = :after
WHERE moved = :moved AND stage = :before;

-- progress: how far the move is
SELECT source, moved, stage, after FROM moving;

-- end_move: this is a store like any other from now on
DROP TABLE moving;

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

-- give_extractors: every extractor
SELECT number, key, in_use FROM extractors WHERE number > :number ORDER BY number;

-- give_retired_keys: every retired key
SELECT key_id, retired_at FROM retired_keys WHERE key_id > :key_id ORDER BY key_id;

-- give_memories: every version
SELECT owner, row, /*version_columns*/ FROM memories WHERE row > :row ORDER BY row;

-- give_indexed: the terms of every version
SELECT m.owner, i.row, i.content, i.keywords, i.tags, i.category, i.function, i.length
FROM indexed AS i CROSS JOIN memories AS m ON m.row = i.row
WHERE i.row > :row ORDER BY i.row;

-- give_index_facts: how much the index holds
SELECT versions, terms FROM index_facts;

-- give_links: every link ever made
SELECT owner, source, kind, target, removed_at, created_at, judgement FROM links
WHERE (owner, source, kind, target, removed_at) > (:owner, :source, :kind, :target, :removed_at)
ORDER BY owner, source, kind, target, removed_at;

-- give_secrets: every sealed record
SELECT owner, id, version, key_id, nonce, ciphertext, fingerprint FROM secrets
WHERE (owner, id, version) > (:owner, :id, :version) ORDER BY owner, id, version;

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

-- give_shares: every share ever made
SELECT owner, number, reader, memory, tag, can_write, created_at, ended_at FROM shares
WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_users: everybody whom a server knows
SELECT name, created_at, disabled_at FROM users WHERE name > :name ORDER BY name;

-- give_keys: every key
SELECT id, user_name, access, hash, label, created_at, expires_at, revoked_at, per_minute, per_day
FROM keys WHERE id > :id ORDER BY id;

-- give_uses: how often every key was used on each day
SELECT key_id, day, writes FROM uses WHERE (key_id, day) > (:key_id, :day) ORDER BY key_id, day;

-- give_traffic: what servers counted
SELECT owner, kind, step, start, count FROM traffic
WHERE (owner, kind, step, start) > (:owner, :kind, :step, :start)
ORDER BY owner, kind, step, start;

-- give_feeds: whose changes are numbered
SELECT owner, epoch, head FROM feeds
WHERE owner > :owner ORDER BY owner;

-- give_changes: every change
SELECT owner, kind, name, number, gone, refused FROM changes
WHERE (owner, kind, name) > (:owner, :kind, :name) ORDER BY owner, kind, name;

-- give_peers: every server of a replica
SELECT owner, url, user_name, epoch, cursor, pulled_at, pushed_at, pull_error, push_error, shared_at,
shared_error FROM peers
WHERE owner > :owner ORDER BY owner;

-- give_peer_numbers: every number that a server gave
SELECT owner, kind, name, number FROM peer_numbers
WHERE (owner, kind, name) > (:owner, :kind, :name) ORDER BY owner, kind, name;

-- give_conflicts: every conflict, resolved ones too
SELECT owner, number, kind, subject_kind, subject_name, served, other, detail, at, resolved_at FROM conflicts
WHERE (owner, number) > (:owner, :number) ORDER BY owner, number;

-- give_proposals: every proposal, decided ones too
SELECT owner, id, kind, origin, memories, reason, evidence, change, digest, created_at, state,
decided_at, undo
FROM proposals WHERE (owner, id) > (:owner, :id) ORDER BY owner, id;

-- take_spaces: keep a space; its vectors are counted when they come
INSERT INTO spaces (number, key, description, state) VALUES (:number, :key, :description, :state);

-- take_extractors: keep an extractor
INSERT INTO extractors (number, key, in_use) VALUES (:number, :key, :in_use);

-- take_retired_keys: keep a retired key
INSERT INTO retired_keys (key_id, retired_at) VALUES (:key_id, :retired_at);

-- take_memories: keep a version
INSERT INTO memories (owner, row, /*version_columns*/)
VALUES (:owner, :row, /*version_values*/);

-- take_links: keep a link
INSERT INTO links (owner, source, kind, target, removed_at, created_at, judgement)
VALUES (:owner, :source, :kind, :target, :removed_at, :created_at, :judgement);

-- take_secrets: keep a sealed record
INSERT INTO secrets (owner, id, version, key_id, nonce, ciphertext, fingerprint)
VALUES (:owner, :id, :version, :key_id, :nonce, :ciphertext, :fingerprint);

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

-- take_shares: keep a share
INSERT INTO shares (owner, number, reader, memory, tag, can_write, created_at, ended_at)
VALUES (:owner, :number, :reader, :memory, :tag, :can_write, :created_at, :ended_at);

-- take_users: keep a user
INSERT INTO users (name, created_at, disabled_at) VALUES (:name, :created_at, :disabled_at);

-- take_keys: keep a key
INSERT INTO keys (
    id, user_name, access, hash, label, created_at, expires_at, revoked_at, per_minute, per_day
) VALUES (
    :id, :user_name, :access, :hash, :label, :created_at, :expires_at, :revoked_at, :per_minute,
    :per_day
);

-- take_uses: keep how often a key was used on a day
INSERT INTO uses (key_id, day, writes) VALUES (:key_id, :day, :writes);

-- take_traffic: keep what a server counted
INSERT INTO traffic (owner, kind, step, start, count)
VALUES (:owner, :kind, :step, :start, :count);

-- take_feeds: keep a feed
INSERT INTO feeds (owner, epoch, head)
VALUES (:owner, :epoch, :head);

-- take_changes: keep a change
INSERT INTO changes (owner, kind, name, number, gone, refused)
VALUES (:owner, :kind, :name, :number, :gone, :refused);

-- take_peers: keep the server of a replica
INSERT INTO peers (
    owner, url, user_name, epoch, cursor, pulled_at, pushed_at, pull_error, push_error, shared_at,
    shared_error
) VALUES (
    :owner, :url, :user_name, :epoch, :cursor, :pulled_at, :pushed_at, :pull_error, :push_error,
    :shared_at, :shared_error
);

-- take_peer_numbers: keep a number that a server gave
INSERT INTO peer_numbers (owner, kind, name, number)
VALUES (:owner, :kind, :name, :number);

-- take_conflicts: keep a conflict
INSERT INTO conflicts (
    owner, number, kind, subject_kind, subject_name, served, other, detail, at, resolved_at
) VALUES (
    :owner, :number, :kind, :subject_kind, :subject_name, :served, :other, :detail, :at,
    :resolved_at
);

-- take_proposals: keep a proposal
INSERT INTO proposals (
    owner, id, kind, origin, memories, reason, evidence, change, digest, created_at, state,
    decided_at, undo
) VALUES (
    :owner, :id, :kind, :origin, :memories, :reason, :evidence, :change, :digest, :created_at,
    :state, :decided_at, :undo
);
