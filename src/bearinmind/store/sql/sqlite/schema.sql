-- The schema of a SQLite store, for readers and for new files. It has version 1.
-- A later version changes this file, and brings files of earlier releases there by migrations/.
--
-- Times are microseconds since 1970-01-01 UTC. 9223372036854775807 means "not yet": a version that
-- is still the present one, a link that still holds. So what was true at a moment is always
-- from <= moment AND to > moment, and "now" is a moment just before "not yet".

-- One row per version of a memory. An update, a delete and a restore each close the present version
-- and add the next, so the past stays readable and as-of is one condition.
CREATE TABLE memories (
    row INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    content TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    category TEXT NOT NULL,
    tags TEXT NOT NULL, -- JSON array
    keywords TEXT NOT NULL, -- JSON array
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    sensitive INTEGER NOT NULL CHECK (sensitive IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, -- when this version became the present one
    replaced_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    deleted_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    agent TEXT,
    session TEXT,
    project TEXT,
    source TEXT,
    trust TEXT NOT NULL,
    UNIQUE (owner, id, version)
) STRICT;

CREATE INDEX memories_by_hash ON memories (owner, content_hash)
WHERE replaced_at = 9223372036854775807 AND deleted_at IS NULL;

CREATE INDEX memories_by_time ON memories (owner, created_at, id);

CREATE INDEX memories_by_session ON memories (owner, session, created_at, id)
WHERE session IS NOT NULL;

CREATE TABLE links (
    owner TEXT NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL CHECK (target <> source),
    removed_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    created_at INTEGER NOT NULL,
    judgement TEXT, -- JSON, of a link that was inferred or decided
    -- in the order of the columns: SQLite 3.40 misreads another one when it checks the file
    PRIMARY KEY (owner, source, kind, target, removed_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX links_by_target ON links (owner, target, kind);

-- The terms of every version that is not deleted, as bearinmind.text.analysis made them: each term between
-- two spaces. Kept readable so that a match can be ranked without analysing its text again.
CREATE TABLE indexed (
    row INTEGER PRIMARY KEY REFERENCES memories (row) ON DELETE CASCADE,
    content TEXT NOT NULL,
    keywords TEXT NOT NULL,
    tags TEXT NOT NULL,
    category TEXT NOT NULL,
    function TEXT NOT NULL, -- function words, asked for only by queries that have no other
    length INTEGER NOT NULL
) STRICT;

-- The analysis has done the work: the tokenizer only splits at spaces (every other byte of a term is
-- a letter, a digit or not ASCII).
CREATE VIRTUAL TABLE lexicon USING fts5 (
    content, keywords, tags, category, function,
    content = 'indexed', content_rowid = 'row', tokenize = 'ascii'
);

CREATE VIRTUAL TABLE lexicon_terms USING fts5vocab (lexicon, row);

-- Facts about the index, one row: which analysis made it, how much it holds.
CREATE TABLE index_facts (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    analysis INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    terms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER indexed_added AFTER INSERT ON indexed BEGIN
    INSERT INTO lexicon (rowid, content, keywords, tags, category, function)
    VALUES (new.row, new.content, new.keywords, new.tags, new.category, new.function);
    UPDATE index_facts SET versions = versions + 1, terms = terms + new.length;
END;

CREATE TRIGGER indexed_removed AFTER DELETE ON indexed BEGIN
    INSERT INTO lexicon (lexicon, rowid, content, keywords, tags, category, function)
    VALUES ('delete', old.row, old.content, old.keywords, old.tags, old.category, old.function);
    UPDATE index_facts SET versions = versions - 1, terms = terms - old.length;
END;

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

-- A number is never used twice, so what a process knows of a dropped space is not taken for another's.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL, -- JSON object, the fields of bearinmind.types.Space
    state TEXT NOT NULL CHECK (state IN ('active', 'filling', 'retired')),
    embedded INTEGER NOT NULL DEFAULT 0 -- how many vectors it has
) STRICT;

CREATE UNIQUE INDEX spaces_in_use ON spaces (state) WHERE state <> 'retired';

-- Vectors are searched by their codes, which a process that searches holds in memory.
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of arrival: who holds codes asks for later ones
    space INTEGER NOT NULL,
    row INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    code BLOB NOT NULL, -- a float32 step, then for each dimension how many steps, in 8 bits
    UNIQUE (row, space)
) STRICT;

-- The best are scored again by what the embedder gave: float16, little-endian.
CREATE TABLE exact_vectors (
    seq INTEGER PRIMARY KEY REFERENCES vectors (seq) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;

CREATE INDEX vectors_by_owner ON vectors (space, owner);

-- Vectors that are no longer of a present version: it was replaced or purged. Who holds codes asks
-- for later ones of these too.
CREATE TABLE departures (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    space INTEGER NOT NULL,
    owner TEXT NOT NULL,
    seq INTEGER NOT NULL
) STRICT;

CREATE INDEX departures_by_owner ON departures (space, owner);

CREATE TABLE work (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    target TEXT NOT NULL, -- of "embed" the key of the space, of "extract" that of the extractor, else empty
    row INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'claimed', 'dead')),
    due INTEGER NOT NULL DEFAULT 0, -- from when it may be claimed, again if it is claimed
    turn INTEGER NOT NULL, -- 0 a present version, 1 for the space being filled, 2 a past version
    attempts INTEGER NOT NULL DEFAULT 0, -- how often it was claimed
    error TEXT, -- why it was given back
    UNIQUE (row, kind, target)
) STRICT;

CREATE INDEX work_by_turn ON work (kind, turn, number, due) WHERE state <> 'dead';

CREATE INDEX work_by_due ON work (kind, due) WHERE state <> 'dead';

CREATE INDEX work_by_target ON work (kind, target, state);

CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    UPDATE spaces SET embedded = embedded + 1 WHERE number = new.space;
    INSERT INTO departures (space, owner, seq) SELECT new.space, new.owner, new.seq FROM memories
    WHERE row = new.row AND replaced_at < 9223372036854775807;
END;

-- When a space is dropped its row goes first: nobody needs to hear of each of its vectors.
CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    INSERT INTO departures (space, owner, seq) SELECT old.space, old.owner, old.seq FROM spaces
    WHERE number = old.space;
    UPDATE spaces SET embedded = embedded - 1 WHERE number = old.space;
END;

CREATE TRIGGER version_closed AFTER UPDATE OF replaced_at ON memories BEGIN
    INSERT INTO departures (space, owner, seq) SELECT space, owner, seq FROM vectors
    WHERE row = new.row;
    UPDATE work SET turn = 2 WHERE row = new.row;
END;

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
    agent TEXT,
    key TEXT, -- by whose key, where there was one
    detail TEXT
) STRICT;

CREATE INDEX audit_by_owner ON audit (owner, number);

CREATE INDEX memories_that_are_sensitive ON memories (owner, created_at)
WHERE sensitive AND replaced_at = 9223372036854775807;

-- Who reads concepts out of memories. At most one is in use.
CREATE TABLE extractors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    in_use INTEGER NOT NULL CHECK (in_use IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX extractor_in_use ON extractors (in_use) WHERE in_use;

-- Which extractor read a version last.
CREATE TABLE readings (
    row INTEGER PRIMARY KEY REFERENCES memories (row) ON DELETE CASCADE,
    extractor INTEGER NOT NULL REFERENCES extractors (number)
) STRICT;

-- A concept is known by its name. One that nothing mentions or relates any more is removed, past
-- versions counted: no word of a purged memory stays behind.
CREATE TABLE concepts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    label TEXT NOT NULL, -- as it was written first
    kind TEXT NOT NULL,
    memories INTEGER NOT NULL DEFAULT 0, -- present versions that mention it
    subjects INTEGER NOT NULL DEFAULT 0, -- of those, how many are about it
    stands_for INTEGER REFERENCES concepts (number), -- into which it is merged, by way of others too
    UNIQUE (owner, name)
) STRICT;

CREATE INDEX concepts_merged ON concepts (stands_for) WHERE stands_for IS NOT NULL;

-- Under the name that was found, whatever it is merged into.
CREATE TABLE mentions (
    concept INTEGER NOT NULL REFERENCES concepts (number),
    row INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
    roles INTEGER NOT NULL CHECK (roles BETWEEN 1 AND 15), -- 1 subject, 2 name, 4 tag, 8 keyword
    given INTEGER NOT NULL DEFAULT 0, -- of these, what somebody gave: reading anew does not end it
    PRIMARY KEY (concept, row)
) STRICT, WITHOUT ROWID;

CREATE INDEX mentions_by_row ON mentions (row, concept, roles);

CREATE INDEX mentions_about ON mentions (concept, row) WHERE roles & 1;

-- Believed from recorded_at until retracted_at: the span of its evidence, unless it was decided or
-- stands without any. A decided one was retracted on purpose, and no evidence brings it back.
CREATE TABLE relations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES concepts (number),
    type TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES concepts (number),
    weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    valid_from INTEGER, -- when it began to hold
    valid_to INTEGER,
    recorded_at INTEGER NOT NULL,
    retracted_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    decided INTEGER NOT NULL DEFAULT 0 CHECK (decided IN (0, 1)),
    founded INTEGER NOT NULL CHECK (founded IN (0, 1)), -- has evidence, and is nothing without
    origin TEXT NOT NULL
) STRICT;

CREATE INDEX relations_by_source ON relations (source, type, target);

CREATE INDEX relations_by_target ON relations (target);

CREATE INDEX relations_by_owner ON relations (owner, retracted_at);

-- A version says so from "since", or from when it was written, until it is replaced or read otherwise.
CREATE TABLE evidence (
    relation INTEGER NOT NULL REFERENCES relations (number) ON DELETE CASCADE,
    row INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL DEFAULT 9223372036854775807,
    given INTEGER NOT NULL CHECK (given IN (0, 1)), -- by somebody: reading anew does not end it
    PRIMARY KEY (relation, row)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_by_row ON evidence (row);

CREATE TABLE merges (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    alias INTEGER NOT NULL REFERENCES concepts (number),
    concept INTEGER NOT NULL REFERENCES concepts (number) CHECK (concept <> alias),
    reason TEXT NOT NULL,
    score REAL NOT NULL,
    merged_at INTEGER NOT NULL,
    undone_at INTEGER NOT NULL DEFAULT 9223372036854775807
) STRICT;

CREATE UNIQUE INDEX merges_in_force ON merges (alias) WHERE undone_at = 9223372036854775807;

CREATE INDEX merges_by_alias ON merges (alias);

CREATE INDEX merges_by_concept ON merges (concept);

CREATE INDEX merges_by_owner ON merges (owner, number);

CREATE TRIGGER mention_added AFTER INSERT ON mentions BEGIN
    UPDATE concepts SET memories = memories + 1, subjects = subjects + (new.roles & 1)
    WHERE number = new.concept
    AND (SELECT replaced_at FROM memories WHERE row = new.row) = 9223372036854775807;
END;

CREATE TRIGGER mention_changed AFTER UPDATE OF roles ON mentions BEGIN
    UPDATE concepts SET subjects = subjects + (new.roles & 1) - (old.roles & 1)
    WHERE number = new.concept
    AND (SELECT replaced_at FROM memories WHERE row = new.row) = 9223372036854775807;
END;

-- Before a version itself is removed: whether it was the present one cannot be told afterwards.
CREATE TRIGGER mention_removed AFTER DELETE ON mentions BEGIN
    UPDATE concepts SET memories = memories - 1, subjects = subjects - (old.roles & 1)
    WHERE number = old.concept
    AND (SELECT replaced_at FROM memories WHERE row = old.row) = 9223372036854775807;
END;

CREATE TRIGGER version_with_mentions_closed AFTER UPDATE OF replaced_at ON memories BEGIN
    UPDATE concepts SET memories = memories - 1, subjects = subjects - (
        SELECT roles & 1 FROM mentions WHERE concept = concepts.number AND row = new.row
    ) WHERE number IN (SELECT concept FROM mentions WHERE row = new.row);
    UPDATE relations SET retracted_at = (
        SELECT max(min(e.until, m.replaced_at))
        FROM evidence AS e CROSS JOIN memories AS m ON m.row = e.row
        WHERE e.relation = relations.number
    )
    WHERE number IN (SELECT relation FROM evidence WHERE row = new.row) AND NOT decided
    AND NOT EXISTS (
        SELECT 1 FROM evidence AS e CROSS JOIN memories AS m ON m.row = e.row
        WHERE e.relation = relations.number AND e.until = 9223372036854775807
        AND m.replaced_at = 9223372036854775807
    );
END;

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

-- From when on a client may again do all that a minute allows; counted for all servers together.
CREATE TABLE allowances (
    client TEXT PRIMARY KEY, -- a key, a user or the address of somebody without a good key
    full_at INTEGER NOT NULL,
    granted INTEGER NOT NULL -- the last portion that a server took
) STRICT, WITHOUT ROWID;

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

-- Whose changes are numbered, for syncing; see bearinmind.changes.
CREATE TABLE feeds (
    owner TEXT PRIMARY KEY,
    epoch TEXT NOT NULL,
    head INTEGER NOT NULL -- the number of the last change
) STRICT, WITHOUT ROWID;

-- Everything that changed, once, under the number of its last change.
CREATE TABLE changes (
    owner TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('memory', 'link', 'share', 'conflict')),
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
    push_error TEXT,
    shared_at INTEGER, -- when it was last looked at what others share
    shared_error TEXT
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
