-- Which turns a model has read. A key is a digest of the model and the turn; there is nothing else.

-- hurry: what a machine that loses its power spoils can be made again
PRAGMA synchronous = OFF;

-- version: that of the tables below
PRAGMA user_version;

-- drop_turns: those of another version
DROP TABLE IF EXISTS turns;

-- create_turns: numbers grow, so the smallest are the oldest
CREATE TABLE turns (
  number INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  read BLOB NOT NULL
);

-- mark: that the tables are of this version
PRAGMA user_version = 1;

-- find: what is kept under a key
SELECT read FROM turns WHERE key = :key;

-- keep: one more
INSERT INTO turns (key, read) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET read = excluded.read;

-- size: bytes that are in use
SELECT (pages.page_count - free.freelist_count) * size.page_size
FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_page_size AS size;

-- evict: the oldest tenth
DELETE FROM turns WHERE number <= (
  SELECT min(number) + (max(number) - min(number)) / 10 FROM turns
);
