-- Browsers sign in, and servers count what they are asked.
-- Browsers that are signed in, and links that sign one in once. Of their tokens only hashes are kept.
CREATE TABLE sessions (
    hash BYTEA PRIMARY KEY,
    user_name TEXT COLLATE "C" NOT NULL REFERENCES users (name),
    access TEXT NOT NULL CHECK (access IN ('read', 'write', 'admin')),
    key_id TEXT COLLATE "C" REFERENCES keys (id) ON DELETE CASCADE, -- the key that was typed; none for a link
    is_link BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX sessions_by_end ON sessions (expires_at);

-- How often a user did something on a server, in every minute and in every hour.
CREATE TABLE traffic (
    owner TEXT COLLATE "C" NOT NULL, -- empty for who was not let in
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('requests', 'recalls', 'stores', 'errors')),
    step INTEGER NOT NULL CHECK (step IN (60, 3600)), -- seconds
    start BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (owner, kind, step, start)
);

CREATE INDEX traffic_by_time ON traffic (step, start);
