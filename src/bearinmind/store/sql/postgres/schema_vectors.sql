-- What needs the extension "vector": made with the schema, or later, when the extension has come.

CREATE EXTENSION IF NOT EXISTS vector;

ALTER TABLE vectors ADD COLUMN vector HALFVEC NOT NULL;

-- Inline as long as it fits into a page: fetching a vector from elsewhere costs several times as much.
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE MAIN;
