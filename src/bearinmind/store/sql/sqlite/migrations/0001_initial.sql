-- The first schema.

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

-- The terms of every version that is not deleted, as bearinmind.analysis made them: each term between
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
