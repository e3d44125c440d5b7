-- Users, their keys, what they share with each other, and with which key something was done.

-- How much of the index is each owner's. What others' memories say must not show in how frequent a term
-- is for one of them.
CREATE TABLE tenants (
    owner TEXT PRIMARY KEY,
    versions INTEGER NOT NULL,
    terms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER indexed_for_owner AFTER INSERT ON indexed BEGIN
    INSERT INTO tenants (owner, versions, terms)
    SELECT owner, 1, new.length FROM memories WHERE row = new.row
    ON CONFLICT (owner) DO UPDATE SET versions = versions + 1, terms = terms + excluded.terms;
END;

CREATE TRIGGER removed_for_owner AFTER DELETE ON indexed BEGIN
    UPDATE tenants SET versions = versions - 1, terms = terms - old.length
    WHERE owner = (SELECT owner FROM memories WHERE row = old.row);
END;

INSERT INTO tenants (owner, versions, terms)
SELECT m.owner, count(*), sum(i.length) FROM indexed AS i CROSS JOIN memories AS m ON m.row = i.row
GROUP BY m.owner;

ALTER TABLE audit ADD COLUMN key TEXT;

ALTER TABLE audit ADD COLUMN detail TEXT;

-- Whom an owner lets see a memory, or as a live rule every memory with a tag; one of the two is set.
-- What is sensitive, deleted or superseded is seen by its owner alone.
CREATE TABLE shares (
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    reader TEXT NOT NULL CHECK (reader <> owner),
    memory TEXT,
    tag TEXT,
    can_write INTEGER NOT NULL CHECK (can_write IN (0, 1)),
    created_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    PRIMARY KEY (owner, number),
    CHECK ((memory IS NULL) <> (tag IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX shares_of_memories ON shares (owner, reader, memory)
WHERE ended_at = 9223372036854775807 AND memory IS NOT NULL;

CREATE UNIQUE INDEX shares_of_tags ON shares (owner, reader, tag)
WHERE ended_at = 9223372036854775807 AND tag IS NOT NULL;

CREATE INDEX shares_by_reader ON shares (reader, owner) WHERE ended_at = 9223372036854775807;

-- Whom a server knows.
CREATE TABLE users (
    name TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    disabled_at INTEGER NOT NULL DEFAULT 9223372036854775807
) STRICT, WITHOUT ROWID;

-- Bearer keys. Of the secret part only a hash is kept; it has the entropy of a key, not of a password.
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL REFERENCES users (name),
    access TEXT NOT NULL CHECK (access IN ('read', 'write', 'admin')),
    hash BLOB NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    revoked_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    per_minute INTEGER,
    per_day INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_by_user ON keys (user_name, created_at);

-- How many writes were made with a key on a day (days since 1970).
CREATE TABLE uses (
    key_id TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    PRIMARY KEY (key_id, day)
) STRICT, WITHOUT ROWID;
