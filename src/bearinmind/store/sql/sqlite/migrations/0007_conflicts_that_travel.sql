-- Conflicts are changes like others, and what others share is looked at by replicas.

-- A table with another check takes the place of the one before.
CREATE TABLE changes_before AS SELECT owner, kind, name, number, gone, refused FROM changes;

DROP TABLE changes;

CREATE TABLE changes (
    owner TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('memory', 'link', 'share', 'conflict')),
    name TEXT NOT NULL, -- JSON array
    number INTEGER NOT NULL,
    gone TEXT NOT NULL DEFAULT '[]', -- JSON array: digests of the versions of a purged memory
    refused TEXT, -- why the server does not take it
    PRIMARY KEY (owner, kind, name)
) STRICT, WITHOUT ROWID;

INSERT INTO changes (owner, kind, name, number, gone, refused)
SELECT owner, kind, name, number, gone, refused FROM changes_before;

DROP TABLE changes_before;

CREATE UNIQUE INDEX changes_by_number ON changes (owner, number);

ALTER TABLE peers ADD COLUMN shared_at INTEGER;

ALTER TABLE peers ADD COLUMN shared_error TEXT;
