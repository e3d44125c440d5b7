-- Embeddings that were computed before. A key is a digest of the space and the text.

-- create: the table, when the file is new
CREATE TABLE IF NOT EXISTS embeddings (key TEXT PRIMARY KEY, vector BLOB NOT NULL);

-- find: those of these keys that are known
SELECT key, vector FROM embeddings WHERE key IN (SELECT value FROM json_each(:keys));

-- keep: one more; another process may have been faster
INSERT OR IGNORE INTO embeddings (key, vector) VALUES (?, ?);
