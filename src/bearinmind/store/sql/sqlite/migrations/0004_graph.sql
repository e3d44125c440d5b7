-- The concept graph: what memories mention, and how that relates. There are two kinds of jobs now, and
-- whoever looks for those of one need not walk over the others.

DROP INDEX work_by_turn;

CREATE INDEX work_by_turn ON work (kind, turn, number, due) WHERE state <> 'dead';

DROP INDEX work_by_due;

CREATE INDEX work_by_due ON work (kind, due) WHERE state <> 'dead';

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
