-- present_version: the number of the present version of a memory
SELECT version FROM memories
WHERE owner = :owner AND id = :id AND replaced_at = 9223372036854775807;

-- resolve: the ids that begin so
SELECT DISTINCT id FROM memories
WHERE owner = :owner AND id >= :prefix AND id < :end ORDER BY id LIMIT :limit;

-- versions: every version of a memory
SELECT /*columns*/ FROM memories AS m WHERE m.owner = :owner AND m.id = :id ORDER BY m.version;

-- count_categories: how many live memories each category has
SELECT m.category, count(*) FROM memories AS m
WHERE m.owner = :owner AND /*present*/ AND /*state*/ = 'live'
GROUP BY m.category ORDER BY count(*) DESC, m.category;

-- count_earlier: how many versions are no longer the present one
SELECT count(*) FROM memories WHERE owner = :owner AND replaced_at < 9223372036854775807;

-- count_links: how many links hold
SELECT count(*) FROM links WHERE owner = :owner AND removed_at = 9223372036854775807;

-- insert_link: keep a link
INSERT INTO links (owner, source, target, kind, created_at, removed_at, judgement)
VALUES (:owner, :source, :target, :kind, :created_at, :removed_at, :judgement) ON CONFLICT DO NOTHING;

-- infer_link: keep an inferred link of two live memories, unless one between them holds in either direction
INSERT INTO links (owner, source, target, kind, created_at, removed_at, judgement)
SELECT :owner, :source, :target, :kind, :created_at, :removed_at, :judgement
WHERE NOT EXISTS (
    SELECT 1 FROM links WHERE owner = :owner AND kind = :kind AND removed_at = 9223372036854775807
    AND source IN (:source, :target) AND target IN (:source, :target)
) AND 2 = (
    SELECT count(*) FROM memories WHERE owner = :owner AND id IN (:source, :target)
    AND replaced_at = 9223372036854775807 AND deleted_at IS NULL AND NOT sensitive
);

-- remove_link: close a link that holds
UPDATE links SET removed_at = :removed_at + (
    -- the same link may have been closed at this very moment before
    SELECT count(*) FROM links AS l
    WHERE l.owner = :owner AND l.source = :source AND l.target = :target AND l.kind = :kind
    AND l.removed_at BETWEEN :removed_at AND 9223372036854775806
)
WHERE owner = :owner AND source = :source AND target = :target AND kind = :kind
AND removed_at = 9223372036854775807;

-- has_links: a row if a scope has any link, past or present
SELECT 1 FROM links WHERE owner = :owner LIMIT 1;

-- all_links: every link ever made
SELECT source, target, kind, created_at, removed_at, judgement FROM links
WHERE owner = :owner ORDER BY created_at, source, kind, target, removed_at;

-- count_dangling: links to or from a memory that is not there
SELECT count(*) FROM links AS l
WHERE NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.owner = l.owner AND m.id = l.source)
OR NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.owner = l.owner AND m.id = l.target);

-- active_space: the space that answers semantic recall
SELECT description FROM spaces WHERE state = 'active';

-- insert_space: make a space known
INSERT INTO spaces (key, description, state) VALUES (:key, :description, :state);

-- set_space_state: say what a space is for from now on
UPDATE spaces SET state = :state WHERE key = :key;

-- drop_space: forget a space; its vectors go next
DELETE FROM spaces WHERE number = :space;

-- drop_vectors: remove the vectors of a space
DELETE FROM vectors WHERE space = :space;

-- advance_jobs: the space of these jobs is not being filled any more
UPDATE work SET turn = 0 WHERE kind = 'embed' AND target = :key AND turn = 1;

-- drop_jobs: remove the embed jobs of a space
DELETE FROM work WHERE kind = 'embed' AND target = :key;

-- revive: make the jobs of a kind that were given up wait again
UPDATE work SET state = 'waiting', due = 0, attempts = 0 WHERE kind = :kind AND state = 'dead';

-- count_dead: jobs that were given up, with the youngest one's error
SELECT count(*), (SELECT error FROM work WHERE state = 'dead' ORDER BY number DESC LIMIT 1)
FROM work WHERE state = 'dead';

-- keep_secret: keep what a sensitive version says, encrypted
INSERT INTO secrets (owner, id, version, key_id, nonce, ciphertext, fingerprint)
VALUES (:owner, :id, :version, :key_id, :nonce, :ciphertext, :fingerprint);

-- secrets_of: every record of a memory
SELECT /*sealed*/ FROM secrets AS s WHERE s.owner = :owner AND s.id = :id ORDER BY s.version;

-- hash_of: the content hash of a version
SELECT content_hash FROM memories WHERE owner = :owner AND id = :id AND version = :version;

-- sealed_under: how many records each key opens
SELECT key_id, count(*) FROM secrets GROUP BY key_id ORDER BY key_id;

-- sealed_otherwise: records under other keys than this, behind one of them
SELECT /*sealed*/ FROM secrets AS s
WHERE s.key_id <> :key_id AND (s.owner, s.id, s.version) > (:owner, :id, :version)
ORDER BY s.owner, s.id, s.version LIMIT :limit;

-- reseal: put a record in the place of another one
UPDATE secrets SET
    key_id = :key_id, nonce = :nonce, ciphertext = :ciphertext, fingerprint = :fingerprint
WHERE owner = :owner AND id = :id AND version = :version AND nonce = :before;

-- rehash: give the versions that say what a record says its new hash
UPDATE memories SET content_hash = :fingerprint
WHERE owner = :owner AND id = :id AND sensitive AND content_hash = :before;

-- retired_keys: the keys under which no more records are taken
SELECT key_id FROM retired_keys;
