-- Vector spaces, the vectors in them, and the queue of background work.

-- A number is never used twice, so what a process knows of a dropped space is not taken for another's.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL, -- JSON object, the fields of bearinmind.types.Space
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
