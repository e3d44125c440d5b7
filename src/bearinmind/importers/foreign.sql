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

-- name: chroma_collections
SELECT name FROM collections

-- name: mempalace_drawers
SELECT
  embeddings.id AS row_number,
  embeddings.embedding_id AS id,
  json_group_object(
    field.key,
    coalesce(field.string_value, field.int_value, field.float_value, field.bool_value)
  ) AS fields
FROM embeddings
JOIN segments ON segments.id = embeddings.segment_id
JOIN collections ON collections.id = segments.collection
JOIN embedding_metadata AS field ON field.id = embeddings.id
-- Left out: what it makes from drawers to search them, and references to pictures and sounds.
WHERE collections.name NOT IN ('mempalace_closets', 'mempalace_assets')
GROUP BY embeddings.id
ORDER BY embeddings.id

-- name: mempalace_triples
SELECT
  triples.rowid AS row_number,
  triples.*,
  coalesce(subjects.name, triples.subject) AS subject_name,
  coalesce(objects.name, triples.object) AS object_name
FROM triples
LEFT JOIN entities AS subjects ON subjects.id = triples.subject
LEFT JOIN entities AS objects ON objects.id = triples.object
ORDER BY triples.rowid

-- name: mempalace_entities
SELECT rowid AS row_number, * FROM entities ORDER BY rowid
