-- What changed and with whom it is synced; what might be changed.

-- Whose changes are numbered, for syncing; see bearinmind.changes.
CREATE TABLE feeds (
    owner TEXT PRIMARY KEY,
    epoch TEXT NOT NULL,
    head INTEGER NOT NULL -- the number of the last change
) STRICT, WITHOUT ROWID;

-- Everything that changed, once, under the number of its last change.
CREATE TABLE changes (
    owner TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('memory', 'link', 'share')),
    name TEXT NOT NULL, -- JSON array
    number INTEGER NOT NULL,
    gone TEXT NOT NULL DEFAULT '[]', -- JSON array: digests of the versions of a purged memory
    refused TEXT, -- why the server does not take it
    PRIMARY KEY (owner, kind, name)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX changes_by_number ON changes (owner, number);

-- The server with which an owner's memories here are synced.
CREATE TABLE peers (
    owner TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    user_name TEXT NOT NULL,
    epoch TEXT NOT NULL,
    cursor INTEGER NOT NULL,
    pulled_at INTEGER,
    pushed_at INTEGER,
    pull_error TEXT,
    push_error TEXT
) STRICT, WITHOUT ROWID;

-- The numbers that the server gave.
CREATE TABLE peer_numbers (
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (owner, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE conflicts (
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_name TEXT NOT NULL,
    served TEXT NOT NULL,
    other TEXT NOT NULL,
    detail TEXT NOT NULL,
    at INTEGER NOT NULL,
    resolved_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    PRIMARY KEY (owner, number)
) STRICT, WITHOUT ROWID;

-- What might be changed, and what became of it: once decided, the log of operations.
CREATE TABLE proposals (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    memories TEXT NOT NULL, -- JSON array of ids
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL, -- JSON object
    change TEXT NOT NULL, -- JSON object
    digest TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_at INTEGER,
    undo TEXT NOT NULL, -- JSON object
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX proposals_by_digest ON proposals (owner, digest);

CREATE INDEX proposals_by_state ON proposals (owner, state, id);
