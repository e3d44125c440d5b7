-- Sensitive memories: what they say, encrypted; keys that are used no more; who asked for a secret.

-- What a sensitive version says is in the youngest record of its memory that is not younger.
CREATE TABLE secrets (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    key_id TEXT NOT NULL,
    nonce BLOB NOT NULL,
    ciphertext BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    PRIMARY KEY (owner, id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_by_key ON secrets (key_id);

CREATE TABLE retired_keys (
    key_id TEXT NOT NULL PRIMARY KEY,
    retired_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    owner TEXT NOT NULL,
    action TEXT NOT NULL,
    id TEXT,
    version INTEGER,
    agent TEXT
) STRICT;

CREATE INDEX audit_by_owner ON audit (owner, number);

CREATE INDEX memories_that_are_sensitive ON memories (owner, created_at)
WHERE sensitive AND replaced_at = 9223372036854775807;
