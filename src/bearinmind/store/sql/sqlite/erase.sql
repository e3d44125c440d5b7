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

-- erase_evidence: remove what is evidence for an owner's relations
DELETE FROM evidence WHERE relation IN (SELECT number FROM relations WHERE owner = :owner);

-- erase_mentions: remove what an owner's memories mention
DELETE FROM mentions WHERE concept IN (SELECT number FROM concepts WHERE owner = :owner);

-- erase_readings: remove who read an owner's memories
DELETE FROM readings WHERE row IN (SELECT row FROM memories WHERE owner = :owner);

-- erase_work: remove an owner's jobs
DELETE FROM work WHERE row IN (SELECT row FROM memories WHERE owner = :owner);

-- erase_departures: forget which vectors of an owner have left
DELETE FROM departures WHERE owner = :owner;

-- erase_indexed: remove the terms of an owner's memories
DELETE FROM indexed WHERE row IN (SELECT row FROM memories WHERE owner = :owner);

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
