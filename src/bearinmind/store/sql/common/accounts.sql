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

-- key_to_let_in: a key, unless its user is disabled
SELECT /*key*/ FROM keys AS k JOIN users AS u ON u.name = k.user_name
WHERE k.id = :id AND u.disabled_at = 9223372036854775807;

-- uses_of_day: how many writes were made with each key on a day
SELECT key_id, writes FROM uses WHERE day = :day;

-- carry_writes: begin a key with what was written on a day with the one in whose place it is
INSERT INTO uses (key_id, day, writes)
SELECT :key_id, day, writes FROM uses WHERE key_id = :old AND day = :day;

-- count_together: count writes with a key for those, too, that it replaces or that replace it
INSERT INTO uses (key_id, day, writes)
SELECT other.id, CAST(:day AS INTEGER), CAST(:count AS BIGINT)
FROM keys AS k JOIN keys AS other
    ON other.user_name = k.user_name AND other.access = k.access AND other.label = k.label
    AND other.per_day = k.per_day AND other.expires_at = k.expires_at
-- Only a key that was renewed ends at a moment that is still to come.
WHERE k.id = :key_id AND other.id <> k.id AND other.revoked_at > :since
AND (k.revoked_at < 9223372036854775807 OR other.revoked_at < 9223372036854775807)
ON CONFLICT (key_id, day) DO UPDATE SET writes = uses.writes + excluded.writes;

-- writes_with: how many writes were made with a key on a day
SELECT writes FROM uses WHERE key_id = :key_id AND day = :day;

-- forget_allowances: forget those who may
DELETE FROM allowances WHERE full_at <= :now;

-- session_to_let_in: a session or a link, unless its user is disabled
SELECT /*session*/ FROM sessions AS s JOIN users AS u ON u.name = s.user_name
WHERE s.hash = :hash AND u.disabled_at = 9223372036854775807;

-- end_session: forget a session or a link
DELETE FROM sessions WHERE hash = :hash;

-- forget_sessions: forget those that have expired
DELETE FROM sessions WHERE expires_at <= :now;
