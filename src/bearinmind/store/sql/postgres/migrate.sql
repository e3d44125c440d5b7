-- What opening a database asks of it, and how its schema is brought up to date.

-- database_facts: what a database is, what it has, and what the role may do there
SELECT
    current_setting('server_version_num')::INTEGER,
    current_setting('server_version'),
    current_database()::TEXT,
    current_user::TEXT,
    current_schema()::TEXT,
    (SELECT relowner::REGROLE::TEXT FROM pg_class WHERE oid = to_regclass('store_facts')),
    (
        SELECT count(*) FROM pg_attribute
        WHERE attrelid = to_regclass('store_facts') AND attname IN ('schema', 'analysis')
    ) = 2,
    (
        SELECT count(*) FROM pg_class AS c
        WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (
            SELECT 1 FROM pg_depend AS d
            WHERE d.classid = 'pg_class'::REGCLASS AND d.objid = c.oid AND d.deptype = 'e'
        )
    ),
    pg_is_in_recovery(),
    has_database_privilege(current_database(), 'CREATE'),
    coalesce(
        pg_has_role((SELECT relowner FROM pg_class WHERE oid = to_regclass('vectors')), 'USAGE'),
        TRUE
    ),
    e.extversion,
    e.extnamespace::REGNAMESPACE::TEXT,
    CASE WHEN e.extversion IS NULL THEN ( -- it reads a folder of files: only when it matters
        SELECT default_version FROM pg_available_extensions WHERE name = 'vector'
    ) END,
    to_regtype('halfvec') IS NOT NULL,
    EXISTS (
        SELECT 1 FROM pg_attribute
        WHERE attrelid = to_regclass('vectors') AND attname = 'vector' AND NOT attisdropped
    ),
    EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')
FROM (SELECT 1) AS one LEFT JOIN pg_extension AS e ON e.extname = 'vector';

-- store_facts: the schema of a store, how far the next migration is, and which analysis made its index
SELECT schema, steps, analysis FROM store_facts;

-- try_to_migrate: whether nobody else migrates; nobody begins until the transaction ends
SELECT pg_try_advisory_xact_lock(1111834963);

-- schema_to_change: the schema that is to be changed, by nobody else at the same time
SELECT schema, steps FROM store_facts FOR UPDATE;

-- begin_facts: this is a store
INSERT INTO store_facts (schema, analysis) VALUES (:schema, :analysis);

-- note_schema: a migration is done
UPDATE store_facts SET schema = :schema, steps = 0;

-- note_steps: so many statements of the next migration are done
UPDATE store_facts SET steps = :steps WHERE schema < :schema;

-- index_is_valid: whether an index is complete; no row when there is none
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name);

-- is_built: a row while somebody builds an index
SELECT 1 FROM pg_stat_progress_create_index
WHERE index_relid = to_regclass(:name) AND datname = current_database();
