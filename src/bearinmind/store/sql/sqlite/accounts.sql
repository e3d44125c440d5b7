-- Users, their keys and how often these were used; and the audit of everybody.

-- fragment key
k.id, k.user_name, k.access, k.hash, k.label, k.created_at, k.expires_at, k.revoked_at, k.per_minute,
k.per_day

-- add_user: make a user known, unless one of that name is
INSERT INTO users (name, created_at, disabled_at) VALUES (:name, :created_at, :disabled_at)
ON CONFLICT DO NOTHING;

-- users: everybody
SELECT name, created_at, disabled_at FROM users ORDER BY name;

-- user_to_let_in: a user who is not disabled
SELECT name, created_at, disabled_at FROM users
WHERE name = :name AND disabled_at = 9223372036854775807;

-- set_disabled: from when on a user is not let in
UPDATE users SET disabled_at = :disabled_at WHERE name = :name;

-- add_key: keep a key of a user who is known
INSERT INTO keys (
    id, user_name, access, hash, label, created_at, expires_at, revoked_at, per_minute, per_day
)
SELECT
    :id, name, :access, :hash, :label, :created_at, :expires_at, :revoked_at, :per_minute, :per_day
FROM users WHERE name = :user;

-- key_to_let_in: a key, unless its user is disabled
SELECT /*key*/ FROM keys AS k JOIN users AS u ON u.name = k.user_name
WHERE k.id = :id AND u.disabled_at = 9223372036854775807;

-- keys: the keys of a user, or of everybody, oldest first
SELECT /*key*/ FROM keys AS k WHERE :user IS NULL OR k.user_name = :user
ORDER BY k.created_at, k.id;

-- end_key: take a key for none from a moment on, at the earliest of those given
UPDATE keys SET revoked_at = min(revoked_at, :revoked_at) WHERE id = :id;

-- count_writes: count writes with a key, unless it has had so many that day
INSERT INTO uses (key_id, day, writes)
SELECT id, :day, :count FROM keys WHERE id = :key_id AND :most > 0
ON CONFLICT (key_id, day) DO UPDATE SET writes = writes + :count WHERE writes < :most;

-- uses_of_day: how many writes were made with each key on a day
SELECT key_id, writes FROM uses WHERE day = :day;

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

-- forget_allowances: forget those who may
DELETE FROM allowances WHERE full_at <= :now;

-- fragment session
s.hash, s.user_name, s.access, s.key_id, s.is_link, s.created_at, s.expires_at

-- add_session: keep a session, or a link to one, of a user who is known
INSERT INTO sessions (hash, user_name, access, key_id, is_link, created_at, expires_at)
SELECT :hash, name, :access, :key_id, :is_link, :created_at, :expires_at FROM users WHERE name = :user;

-- session_to_let_in: a session or a link, unless its user is disabled
SELECT /*session*/ FROM sessions AS s JOIN users AS u ON u.name = s.user_name
WHERE s.hash = :hash AND u.disabled_at = 9223372036854775807;

-- end_session: forget a session or a link
DELETE FROM sessions WHERE hash = :hash;

-- forget_sessions: forget those that have expired
DELETE FROM sessions WHERE expires_at <= :now;

-- list_whole_audit: the youngest audit entries of everybody
SELECT at, owner, action, id, version, agent, key, detail FROM audit
ORDER BY number DESC LIMIT :limit;
