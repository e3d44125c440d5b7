-- Everything of a user is erased by these: their own rows and, in the rows of others, their name.

-- fragment share_reader
CASE WHEN kind = 'share' THEN json_extract(name, '$[0]')
    WHEN kind = 'conflict' AND json_extract(name, '$[1]') = 'share'
    THEN json_extract(json_extract(name, '$[2]'), '$[0]') END

-- held_by_user: how much an owner has, and is let see by others
SELECT 'memories', count(DISTINCT id) FROM memories WHERE owner = :owner
UNION ALL SELECT 'versions', count(*) FROM memories WHERE owner = :owner
UNION ALL SELECT 'links', count(*) FROM links WHERE owner = :owner
UNION ALL SELECT 'secrets', count(*) FROM secrets WHERE owner = :owner
UNION ALL SELECT 'vectors', count(*) FROM vectors WHERE owner = :owner
UNION ALL SELECT 'concepts', count(*) FROM concepts WHERE owner = :owner
UNION ALL SELECT 'relations', count(*) FROM relations WHERE owner = :owner
UNION ALL SELECT 'jobs', count(*) FROM work WHERE row IN (SELECT row FROM memories WHERE owner = :owner)
UNION ALL SELECT 'proposals', count(*) FROM proposals WHERE owner = :owner
UNION ALL SELECT 'conflicts', count(*) FROM conflicts WHERE owner = :owner
UNION ALL SELECT 'changes', count(*) FROM changes WHERE owner = :owner
UNION ALL SELECT 'shares given', count(*) FROM shares WHERE owner = :owner
UNION ALL SELECT 'shares received', count(*) FROM shares WHERE reader = :owner
UNION ALL SELECT 'keys', count(*) FROM keys WHERE user_name = :owner
UNION ALL SELECT 'sessions', count(*) FROM sessions WHERE user_name = :owner
UNION ALL SELECT 'audit entries', count(*) FROM audit WHERE owner = :owner
UNION ALL SELECT 'traffic', count(*) FROM traffic WHERE owner = :owner
UNION ALL SELECT 'users', count(*) FROM users WHERE name = :owner;

-- copy_owners: the names under which replicas keep what others share
SELECT owner FROM tenants WHERE owner LIKE '%/%';

-- erase_evidence: remove what is evidence for an owner's relations
DELETE FROM evidence WHERE relation IN (SELECT number FROM relations WHERE owner = :owner);

-- erase_merges: remove an owner's merges of concepts
DELETE FROM merges WHERE owner = :owner;

-- erase_relations: remove an owner's relations
DELETE FROM relations WHERE owner = :owner;

-- erase_mentions: remove what an owner's memories mention
DELETE FROM mentions WHERE concept IN (SELECT number FROM concepts WHERE owner = :owner);

-- erase_concepts: remove an owner's concepts
DELETE FROM concepts WHERE owner = :owner;

-- erase_readings: remove who read an owner's memories
DELETE FROM readings WHERE row IN (SELECT row FROM memories WHERE owner = :owner);

-- erase_work: remove an owner's jobs
DELETE FROM work WHERE row IN (SELECT row FROM memories WHERE owner = :owner);

-- erase_vectors: remove an owner's vectors
DELETE FROM vectors WHERE owner = :owner;

-- erase_departures: forget which vectors of an owner have left
DELETE FROM departures WHERE owner = :owner;

-- erase_indexed: remove the terms of an owner's memories
DELETE FROM indexed WHERE row IN (SELECT row FROM memories WHERE owner = :owner);

-- erase_links: remove an owner's links
DELETE FROM links WHERE owner = :owner;

-- erase_secrets: remove an owner's sealed records
DELETE FROM secrets WHERE owner = :owner;

-- erase_memories: remove every version of an owner's memories
DELETE FROM memories WHERE owner = :owner;

-- erase_tenants: remove how much of the index is an owner's
DELETE FROM tenants WHERE owner = :owner;

-- erase_proposals: remove an owner's proposals
DELETE FROM proposals WHERE owner = :owner;

-- erase_feeds: remove that an owner's changes are numbered
DELETE FROM feeds WHERE owner = :owner;

-- erase_changes: remove an owner's changes
DELETE FROM changes WHERE owner = :owner;

-- erase_peers: remove the server of an owner's replica
DELETE FROM peers WHERE owner = :owner;

-- erase_peer_numbers: remove the numbers that the server gave
DELETE FROM peer_numbers WHERE owner = :owner;

-- erase_conflicts: remove an owner's conflicts
DELETE FROM conflicts WHERE owner = :owner;

-- erase_traffic: remove what an owner did on servers
DELETE FROM traffic WHERE owner = :owner;

-- erase_audit: remove an owner's audit
DELETE FROM audit WHERE owner = :owner;

-- erase_shares: remove what an owner shares, and what is shared with them
DELETE FROM shares WHERE owner = :owner OR reader = :owner;

-- erase_share_changes: remove that something was shared with a user, from the changes of others
DELETE FROM changes WHERE /*share_reader*/ = :name;

-- erase_share_numbers: remove it from the numbers that servers gave
DELETE FROM peer_numbers WHERE /*share_reader*/ = :name;

-- erase_share_conflicts: remove conflicts about it
DELETE FROM conflicts WHERE CASE WHEN subject_kind = 'share' THEN json_extract(subject_name, '$[0]') END = :name;

-- redact_audit: in the audit of others, put another name in the place of a user's
UPDATE audit SET
    agent = CASE WHEN agent = :name THEN :pseudonym ELSE agent END,
    key = CASE WHEN key IN (SELECT value FROM json_each(:keys)) THEN NULL ELSE key END,
    detail = CASE WHEN detail = 'by ' || :name THEN 'by ' || :pseudonym
        ELSE replace(detail, 'with ' || :name || ', to ', 'with ' || :pseudonym || ', to ') END
WHERE agent = :name OR key IN (SELECT value FROM json_each(:keys)) OR detail = 'by ' || :name
OR instr(detail, 'with ' || :name || ', to ') > 0;

-- erase_sessions: sign a user out everywhere
DELETE FROM sessions WHERE user_name = :name;

-- erase_uses: forget how often a user's keys were used
DELETE FROM uses WHERE key_id IN (SELECT id FROM keys WHERE user_name = :name);

-- erase_keys: remove a user's keys
DELETE FROM keys WHERE user_name = :name;

-- erase_user: remove a user
DELETE FROM users WHERE name = :name;
