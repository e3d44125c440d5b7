-- Statements over the files of other programs. Every column is read, because releases of those
-- programs differ in them; what a column means is decided where it is read.

-- columns: of every table, virtual ones aside
SELECT tables.name, info.name
FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS info
WHERE tables.type = 'table' AND upper(tables.sql) NOT LIKE 'CREATE VIRTUAL%'
ORDER BY tables.name, info.cid

-- mem0_history: what happened to each memory of mem0
SELECT rowid AS row_number, * FROM history ORDER BY rowid

-- service_memories: of mcp-memory-service
SELECT rowid AS row_number, * FROM memories ORDER BY rowid

-- service_graph: the links between them
SELECT rowid AS row_number, * FROM memory_graph ORDER BY rowid

-- service_beliefs: what it concluded from them
SELECT rowid AS row_number, * FROM beliefs ORDER BY rowid

-- claude_mem_sessions: of claude-mem
SELECT rowid AS row_number, * FROM sdk_sessions ORDER BY rowid

-- claude_mem_observations: what it noted in them
SELECT rowid AS row_number, * FROM observations ORDER BY rowid

-- claude_mem_summaries: of its sessions
SELECT rowid AS row_number, * FROM session_summaries ORDER BY rowid

-- claude_mem_prompts: what was asked in them
SELECT rowid AS row_number, * FROM user_prompts ORDER BY rowid

-- mempalace_collection: by which a file of MemPalace is known
SELECT id FROM collections WHERE name = 'mempalace_drawers'

-- mempalace_drawers: its memories, in pieces
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

-- mempalace_triples: its graph, with the names of both ends
SELECT t.rowid AS row_number, t.*, s.name AS subject_name, o.name AS object_name
FROM triples AS t
LEFT JOIN entities AS s ON s.id = t.subject
LEFT JOIN entities AS o ON o.id = t.object
ORDER BY t.rowid

-- mempalace_entities: what the graph is about
SELECT rowid AS row_number, * FROM entities ORDER BY rowid
