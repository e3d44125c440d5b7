-- What needs the extension "vector": made with the schema, or later, when the extension has come.

-- Inline as long as it fits into a page: fetching a vector from elsewhere costs several times as much.
CREATE TABLE vectors (
    owner TEXT COLLATE "C" NOT NULL,
    space BIGINT NOT NULL,
    row BIGINT NOT NULL,
    vector HALFVEC NOT NULL,
    PRIMARY KEY (owner, space, row),
    FOREIGN KEY (owner, row) REFERENCES memories (owner, row) ON DELETE CASCADE
);

ALTER TABLE vectors ALTER COLUMN vector SET STORAGE MAIN;

CREATE INDEX vectors_by_row ON vectors (owner, row);
