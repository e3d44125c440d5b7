-- Browsers sign in, and servers count what they are asked.
-- Browsers that are signed in, and links that sign one in once. Of their tokens only hashes are kept.
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    user_name TEXT NOT NULL REFERENCES users (name),
    access TEXT NOT NULL CHECK (access IN ('read', 'write', 'admin')),
    key_id TEXT REFERENCES keys (id) ON DELETE CASCADE, -- the key that was typed; none for a link
    is_link INTEGER NOT NULL CHECK (is_link IN (0, 1)),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_end ON sessions (expires_at);

-- How often a user did something on a server, in every minute and in every hour.
CREATE TABLE traffic (
    owner TEXT NOT NULL, -- empty for who was not let in
    kind TEXT NOT NULL CHECK (kind IN ('requests', 'recalls', 'stores', 'errors')),
    step INTEGER NOT NULL CHECK (step IN (60, 3600)), -- seconds
    start INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (owner, kind, step, start)
) STRICT, WITHOUT ROWID;

CREATE INDEX traffic_by_time ON traffic (step, start, kind, count);
