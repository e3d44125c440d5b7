-- Statements over the files of other programs. Every column is read, because releases of those
-- programs differ in them; what a column means is decided where it is read.

-- name: columns
SELECT tables.name, info.name
FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS info
WHERE tables.type = 'table' AND upper(tables.sql) NOT LIKE 'CREATE VIRTUAL%'
ORDER BY tables.name, info.cid

-- name: mem0_history
SELECT rowid AS row_number, * FROM history ORDER BY rowid

-- name: service_memories
SELECT rowid AS row_number, * FROM memories ORDER BY rowid

-- name: service_graph
SELECT rowid AS row_number, * FROM memory_graph ORDER BY rowid

-- name: service_beliefs
SELECT rowid AS row_number, * FROM beliefs ORDER BY rowid

-- name: claude_mem_sessions
SELECT rowid AS row_number, * FROM sdk_sessions ORDER BY rowid

-- name: claude_mem_observations
SELECT rowid AS row_number, * FROM observations ORDER BY rowid

-- name: claude_mem_summaries
SELECT rowid AS row_number, * FROM session_summaries ORDER BY rowid

-- name: claude_mem_prompts
SELECT rowid AS row_number, * FROM user_prompts ORDER BY rowid

-- name: mempalace_collection
SELECT id FROM collections WHERE name = 'mempalace_drawers'

-- name: mempalace_drawers
-- Left out is what is made from drawers to search them, and references to pictures and sounds.
SELECT
  e.id AS row_number,
  e.embedding_id AS id,
  json_group_object(key, coalesce(string_value, int_value, float_value, bool_value)) AS fields
FROM embeddings AS e
JOIN segments AS s ON s.id = e.segment_id
JOIN collections AS c ON c.id = s.collection
JOIN embedding_metadata AS m ON m.id = e.id
WHERE c.name NOT IN ('mempalace_closets', 'mempalace_assets')
GROUP BY e.id
ORDER BY max(int_value) FILTER (WHERE key = 'chunk_index'), e.id -- the pieces of a long one

-- name: mempalace_triples
SELECT t.rowid AS row_number, t.*, s.name AS subject_name, o.name AS object_name
FROM triples AS t
LEFT JOIN entities AS s ON s.id = t.subject
LEFT JOIN entities AS o ON o.id = t.object
ORDER BY t.rowid

-- name: mempalace_entities
SELECT rowid AS row_number, * FROM entities ORDER BY rowid
