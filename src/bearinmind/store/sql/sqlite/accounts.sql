-- Users, their keys and how often these were used; and the audit of everybody.

-- fragment key
k.id, k.user_name, k.access, k.hash, k.label, k.created_at, k.expires_at, k.revoked_at, k.per_minute,
k.per_day

-- add_key: keep a key of a user who is known
INSERT INTO keys (
    id, user_name, access, hash, label, created_at, expires_at, revoked_at, per_minute, per_day
)
SELECT
    :id, name, :access, :hash, :label, :created_at, :expires_at, :revoked_at, :per_minute, :per_day
FROM users WHERE name = :user;

-- keys: the keys of a user, or of everybody, oldest first
SELECT /*key*/ FROM keys AS k WHERE :user IS NULL OR k.user_name = :user
ORDER BY k.created_at, k.id;

-- end_key: take a key for none from a moment on, at the earliest of those given
UPDATE keys SET revoked_at = min(revoked_at, :revoked_at) WHERE id = :id;

-- count_writes: count writes with a key, unless there would be more than so many that day
INSERT INTO uses (key_id, day, writes)
SELECT id, :day, :count FROM keys WHERE id = :key_id AND :most >= :count
ON CONFLICT (key_id, day) DO UPDATE SET writes = writes + :count WHERE writes + :count <= :most;

-- fragment full_at
CASE
    -- A clock was set back by more than a minute.
    WHEN allowances.full_at > :now + 2 * :span THEN :now
    ELSE max(allowances.full_at, :now)
END

-- take_allowance: take up to so many of the actions that a client may do now; none: no row
INSERT INTO allowances (client, full_at, granted)
VALUES (:client, :now + :count * :interval, :count)
ON CONFLICT (client) DO UPDATE SET
    granted = min(:count, (:now + :span - (/*full_at*/)) / :interval),
    full_at = (/*full_at*/) + min(:count, (:now + :span - (/*full_at*/)) / :interval) * :interval
WHERE (/*full_at*/) + :interval <= :now + :span
RETURNING granted;

-- allowance_wait: by how much what a client did exceeds what a minute allows; below 0 if it does not
SELECT (/*full_at*/) - :now - :span FROM allowances WHERE client = :client;

-- fragment session
s.hash, s.user_name, s.access, s.key_id, s.is_link, s.created_at, s.expires_at

-- add_session: keep a session, or a link to one, of a user who is known
INSERT INTO sessions (hash, user_name, access, key_id, is_link, created_at, expires_at)
SELECT :hash, name, :access, :key_id, :is_link, :created_at, :expires_at FROM users WHERE name = :user;

-- list_whole_audit: the youngest audit entries of everybody
SELECT at, owner, action, id, version, agent, key, detail FROM audit
ORDER BY number DESC LIMIT :limit;
