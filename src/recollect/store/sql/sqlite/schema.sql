-- The present schema of a SQLite store, for readers and for new files.
-- A file made by an earlier release reaches the same schema by migrations/.
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
    -- in the order of the columns: SQLite 3.40 misreads another one when it checks the file
    PRIMARY KEY (owner, source, kind, target, removed_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX links_by_target ON links (owner, target, kind);

-- The terms of every version that is not deleted, as recollect.analysis made them: each term between
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

-- A number is never used twice, so what a process knows of a dropped space is not taken for another's.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL, -- JSON object, the fields of recollect.types.Space
    state TEXT NOT NULL CHECK (state IN ('active', 'filling', 'retired')),
    embedded INTEGER NOT NULL DEFAULT 0 -- how many vectors it has
) STRICT;

CREATE UNIQUE INDEX spaces_in_use ON spaces (state) WHERE state <> 'retired';

-- Vectors are searched by their codes, which whoever searches holds in memory.
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
    target TEXT NOT NULL, -- of "embed" the key of the space
    row INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'claimed', 'dead')),
    due INTEGER NOT NULL DEFAULT 0, -- from when it may be claimed, again if it is claimed
    turn INTEGER NOT NULL, -- 0 a present version, 1 for the space being filled, 2 a past version
    attempts INTEGER NOT NULL DEFAULT 0, -- how often it was claimed
    error TEXT, -- why it was given back
    UNIQUE (row, kind, target)
) STRICT;

CREATE INDEX work_by_turn ON work (turn, number, due) WHERE state <> 'dead';

CREATE INDEX work_by_due ON work (due) WHERE state <> 'dead';

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
    agent TEXT
) STRICT;

CREATE INDEX audit_by_owner ON audit (owner, number);

CREATE INDEX memories_that_are_sensitive ON memories (owner, created_at)
WHERE sensitive AND replaced_at = 9223372036854775807;
