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
