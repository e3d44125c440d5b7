-- copy_owners: the names under which replicas keep what others share
SELECT owner FROM tenants WHERE owner LIKE '%/%';

-- erase_merges: remove an owner's merges of concepts
DELETE FROM merges WHERE owner = :owner;

-- erase_relations: remove an owner's relations
DELETE FROM relations WHERE owner = :owner;

-- erase_concepts: remove an owner's concepts
DELETE FROM concepts WHERE owner = :owner;

-- erase_vectors: remove an owner's vectors
DELETE FROM vectors WHERE owner = :owner;

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

-- erase_sessions: sign a user out everywhere
DELETE FROM sessions WHERE user_name = :name;

-- erase_uses: forget how often a user's keys were used
DELETE FROM uses WHERE key_id IN (SELECT id FROM keys WHERE user_name = :name);

-- erase_keys: remove a user's keys
DELETE FROM keys WHERE user_name = :name;

-- erase_user: remove a user
DELETE FROM users WHERE name = :name;

-- redact_sources: the same in what the user wrote into memories of others
UPDATE memories SET source = 'the user ' || CAST(:pseudonym AS TEXT)
WHERE source = 'the user ' || CAST(:name AS TEXT)
-- Where machines sync, a version is known by all that it says, and would be taken for another one.
AND NOT EXISTS (SELECT 1 FROM feeds AS f WHERE f.owner = memories.owner);
