-- What changed and with whom it is synced; what might be changed.

-- Whose changes are numbered, for syncing; see bearinmind.changes.
CREATE TABLE feeds (
    owner TEXT COLLATE "C" PRIMARY KEY,
    epoch TEXT COLLATE "C" NOT NULL,
    head BIGINT NOT NULL -- the number of the last change
);

-- Everything that changed, once, under the number of its last change.
CREATE TABLE changes (
    owner TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('memory', 'link', 'share')),
    name TEXT COLLATE "C" NOT NULL, -- JSON array
    number BIGINT NOT NULL,
    gone TEXT NOT NULL DEFAULT '[]', -- JSON array: digests of the versions of a purged memory
    refused TEXT, -- why the server does not take it
    PRIMARY KEY (owner, kind, name)
);

CREATE UNIQUE INDEX changes_by_number ON changes (owner, number);

-- The server with which an owner's memories here are synced.
CREATE TABLE peers (
    owner TEXT COLLATE "C" PRIMARY KEY,
    url TEXT NOT NULL,
    user_name TEXT COLLATE "C" NOT NULL,
    epoch TEXT COLLATE "C" NOT NULL,
    cursor BIGINT NOT NULL,
    pulled_at BIGINT,
    pushed_at BIGINT,
    pull_error TEXT,
    push_error TEXT
);

-- The numbers that the server gave.
CREATE TABLE peer_numbers (
    owner TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (owner, kind, name)
);

CREATE TABLE conflicts (
    owner TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    subject_kind TEXT COLLATE "C" NOT NULL,
    subject_name TEXT COLLATE "C" NOT NULL,
    served TEXT NOT NULL,
    other TEXT NOT NULL,
    detail TEXT NOT NULL,
    at BIGINT NOT NULL,
    resolved_at BIGINT NOT NULL DEFAULT 9223372036854775807,
    PRIMARY KEY (owner, number)
);

-- What might be changed, and what became of it: once decided, the log of operations.
CREATE TABLE proposals (
    owner TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    origin TEXT NOT NULL,
    memories TEXT NOT NULL, -- JSON array of ids
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL, -- JSON object
    change TEXT NOT NULL, -- JSON object
    digest TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    decided_at BIGINT,
    undo TEXT NOT NULL, -- JSON object
    PRIMARY KEY (owner, id)
);

CREATE UNIQUE INDEX proposals_by_digest ON proposals (owner, digest);

CREATE INDEX proposals_by_state ON proposals (owner, state, id);
