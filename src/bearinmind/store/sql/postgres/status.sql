-- What `bearinmind db status` asks, beside what opening a database does.

-- server_state: bytes of the database, connections to it, and how many the server allows in all
SELECT
    pg_database_size(current_database()),
    (SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend'),
    current_setting('max_connections')::INTEGER;

-- extensions: the extensions of the database with their versions
SELECT extname::TEXT, extversion FROM pg_extension ORDER BY extname;

-- table_sizes: every table of the store, about how many rows it has, its bytes, and those of its indexes
SELECT c.relname::TEXT, greatest(c.reltuples, 0)::BIGINT, pg_total_relation_size(c.oid), pg_indexes_size(c.oid)
FROM pg_class AS c
WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('store_facts'))
AND c.relkind IN ('r', 'p')
AND NOT EXISTS (
    SELECT 1 FROM pg_depend AS d
    WHERE d.classid = 'pg_class'::REGCLASS AND d.objid = c.oid AND d.deptype = 'e'
)
ORDER BY 3 DESC, 1;

-- tenant_state: how many users there are, and how many versions of memories all of them have in the index
SELECT count(*), coalesce(sum(versions), 0)::BIGINT FROM tenants;

-- queue_state: how many jobs of each kind wait, are being done or were given up
SELECT kind, state, count(*) FROM work GROUP BY kind, state ORDER BY kind, state;

-- backend_pid: the process that serves this connection
SELECT pg_backend_pid();
