-- What a model found in texts before. A key is a digest of the extractor and the text.

-- hurry: what a machine that loses its power spoils can be made again
PRAGMA synchronous = OFF;

-- version: that of the tables below
PRAGMA user_version;

-- drop_extractions: those of another version
DROP TABLE IF EXISTS extractions;

-- create_extractions: numbers grow, so the smallest are the oldest
CREATE TABLE extractions (
  number INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  sealed BLOB NOT NULL
);

-- mark: that the tables are of this version
PRAGMA user_version = 1;

-- find: what is kept under a key
SELECT sealed FROM extractions WHERE key = :key;

-- keep: one more, or a better one
INSERT INTO extractions (key, sealed) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET sealed = excluded.sealed;

-- size: bytes that are in use
SELECT (pages.page_count - free.freelist_count) * size.page_size
FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_page_size AS size;

-- evict: the oldest tenth
DELETE FROM extractions WHERE number <= (
  SELECT min(number) + (max(number) - min(number)) / 10 FROM extractions
);
