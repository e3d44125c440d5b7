-- holds_anything: whether there is anything in the store that somebody could miss
SELECT EXISTS (SELECT 1 FROM memories) OR EXISTS (SELECT 1 FROM concepts)
OR EXISTS (SELECT 1 FROM audit) OR EXISTS (SELECT 1 FROM retired_keys)
OR EXISTS (SELECT 1 FROM shares) OR EXISTS (SELECT 1 FROM users)
OR EXISTS (SELECT 1 FROM feeds) OR EXISTS (SELECT 1 FROM peers)
OR EXISTS (SELECT 1 FROM proposals);

-- note_progress: so many more rows are here, unless somebody else has written meanwhile
UPDATE moving SET moved = moved + :rows, stage = :stage, after = :after
WHERE moved = :moved AND stage = :before;

-- progress: how far the move is
SELECT source, moved, stage, after FROM moving;

-- end_move: this is a store like any other from now on
DROP TABLE moving;

-- give_extractors: every extractor
SELECT number, key, in_use FROM extractors WHERE number > :number ORDER BY number;

-- give_retired_keys: every retired key
SELECT key_id, retired_at FROM retired_keys WHERE key_id > :key_id ORDER BY key_id;

-- give_links: every link ever made
SELECT owner, source, kind, target, removed_at, created_at, judgement FROM links
WHERE (owner, source, kind, target, removed_at) > (:owner, :source, :kind, :target, :removed_at)
ORDER BY owner, source, kind, target, removed_at;

-- give_secrets: every sealed record
SELECT owner, id, version, key_id, nonce, ciphertext, fingerprint FROM secrets
WHERE (owner, id, version) > (:owner, :id, :version) ORDER BY owner, id, version;

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
