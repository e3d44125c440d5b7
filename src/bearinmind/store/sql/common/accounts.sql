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
