-- Token vectors in a file, as reading them in a recall would need it.

-- make_tokens: a table of them
CREATE TABLE tokens (memory TEXT PRIMARY KEY, vectors BLOB NOT NULL) WITHOUT ROWID

-- add_tokens: those of a memory
INSERT INTO tokens VALUES (:memory, :vectors)

-- tokens_of: those of some memories
SELECT t.memory, t.vectors
FROM json_each(:memories) AS wanted
JOIN tokens AS t ON t.memory = wanted.value
