-- Users, their keys, what they share with each other, and with which key something was done.

ALTER TABLE audit ADD COLUMN key TEXT;

ALTER TABLE audit ADD COLUMN detail TEXT;

-- Whom an owner lets see a memory, or as a live rule every memory with a tag; one of the two is set.
-- What is sensitive, deleted or superseded is seen by its owner alone.
CREATE TABLE shares (
    owner TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    reader TEXT COLLATE "C" NOT NULL CHECK (reader <> owner),
    memory TEXT COLLATE "C",
    tag TEXT COLLATE "C",
    can_write BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL DEFAULT 9223372036854775807,
    PRIMARY KEY (owner, number),
    CHECK ((memory IS NULL) <> (tag IS NULL))
);

CREATE UNIQUE INDEX shares_of_memories ON shares (owner, reader, memory)
WHERE ended_at = 9223372036854775807 AND memory IS NOT NULL;

CREATE UNIQUE INDEX shares_of_tags ON shares (owner, reader, tag)
WHERE ended_at = 9223372036854775807 AND tag IS NOT NULL;

CREATE INDEX shares_by_reader ON shares (reader, owner) WHERE ended_at = 9223372036854775807;

-- Whom a server knows.
CREATE TABLE users (
    name TEXT COLLATE "C" PRIMARY KEY,
    created_at BIGINT NOT NULL,
    disabled_at BIGINT NOT NULL DEFAULT 9223372036854775807
);

-- Bearer keys. Of the secret part only a hash is kept; it has the entropy of a key, not of a password.
CREATE TABLE keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    user_name TEXT COLLATE "C" NOT NULL REFERENCES users (name),
    access TEXT NOT NULL CHECK (access IN ('read', 'write', 'admin')),
    hash BYTEA NOT NULL,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL DEFAULT 9223372036854775807,
    revoked_at BIGINT NOT NULL DEFAULT 9223372036854775807,
    per_minute INTEGER,
    per_day INTEGER
);

CREATE INDEX keys_by_user ON keys (user_name, created_at);

-- How many writes were made with a key on a day (days since 1970).
CREATE TABLE uses (
    key_id TEXT COLLATE "C" NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    writes BIGINT NOT NULL,
    PRIMARY KEY (key_id, day)
);
