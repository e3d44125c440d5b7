-- What tells whether a SQLite file is a store, and of which schema.

-- identity: one statement, so that it sees one state of a file that another process is just creating
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id, pragma_user_version;

-- begin_index: the index is empty, and made by this analysis
INSERT INTO index_facts VALUES (1, :analysis, 0, 0);
