-- Embeddings that were made before. A key is a digest of the space, the role and the text.

-- hurry: what a machine that loses its power spoils can be made again
PRAGMA synchronous = OFF;

-- version: that of the tables below
PRAGMA user_version;

-- drop_embeddings: those of another version
DROP TABLE IF EXISTS embeddings;

-- create_embeddings: numbers grow, so the smallest are the oldest
CREATE TABLE embeddings (
  number INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  vector BLOB NOT NULL
);

-- drop_learnt: those of another version
DROP TABLE IF EXISTS learnt;

-- create_learnt: how many dimensions a model was found to have
CREATE TABLE learnt (model TEXT PRIMARY KEY, dimensions INTEGER NOT NULL);

-- mark: that the tables are of this version
PRAGMA user_version = 1;

-- find: the vector of a key, when there is one
SELECT vector FROM embeddings WHERE key = :key;

-- keep: one more, or a better one
INSERT INTO embeddings (key, vector) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET vector = excluded.vector;

-- size: bytes that are in use
SELECT (pages.page_count - free.freelist_count) * size.page_size
FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_page_size AS size;

-- evict: the oldest tenth
DELETE FROM embeddings WHERE number <= (
  SELECT min(number) + (max(number) - min(number)) / 10 FROM embeddings
);

-- find_dimensions: of a model
SELECT dimensions FROM learnt WHERE model = :model;

-- keep_dimensions: of a model
INSERT OR REPLACE INTO learnt (model, dimensions) VALUES (:model, :dimensions);
