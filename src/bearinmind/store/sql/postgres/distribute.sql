-- How the tables are spread over the machines of a Citus cluster; the functions are those of Citus.

-- citus_version: the version of the extension, if the database has it
SELECT extversion FROM pg_extension WHERE extname = 'citus';

-- citus_nodes: the machines of the cluster, which of them coordinates, and which may hold rows
SELECT nodename || ':' || nodeport, groupid = 0, shouldhaveshards FROM pg_dist_node
WHERE isactive AND noderole = 'primary' ORDER BY nodename, nodeport;

-- vector_on_workers: the version of pgvector that each worker offers, or why it does not answer
SELECT nodename || ':' || nodeport, success, result FROM run_command_on_workers(
    $$SELECT coalesce(max(default_version), '') FROM pg_available_extensions WHERE name = 'vector'$$
) ORDER BY nodename, nodeport;

-- spread_already: the tables that Citus knows, and how it keeps each: h by a hash, n as copies
SELECT logicalrelid::REGCLASS::TEXT, partmethod::TEXT FROM pg_dist_partition ORDER BY 1;

-- left_behind: the tables that Citus knows of which the coordinator has rows on its own disk
SELECT logicalrelid::REGCLASS::TEXT FROM pg_dist_partition
WHERE pg_relation_size(logicalrelid) > 0 ORDER BY 1;

-- tables_of_owners: the tables of memories, that is, all whose rows belong to somebody
SELECT c.relname::TEXT FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'owner' AND NOT a.attisdropped
WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('tenants'))
-- The parts of a table that Citus keeps here have its name and a number; they are hidden as a rule.
AND c.relkind = 'r' AND c.relname !~ '_[0-9]{5,}$' ORDER BY c.relname;

-- references_of: the foreign keys of a table, with the statements that remove and add them
SELECT
    format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::REGCLASS, conname),
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::REGCLASS, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE conrelid = to_regclass(:name) AND contype = 'f' ORDER BY conname;

-- one_by_one: let what follows be done shard by shard, as foreign keys need
SELECT set_config('citus.multi_shard_modify_mode', 'sequential', TRUE);

-- spread_first: spread the table that all others follow by its owner
SELECT create_distributed_table(:name, 'owner', colocate_with => 'none');

-- spread: spread a table by its owner, so that all rows of an owner are on one machine
SELECT create_distributed_table(:name, 'owner', colocate_with => :first);

-- copy_everywhere: keep a copy of a small table on every machine
SELECT create_reference_table(:name);

-- bring_back: keep a table on the coordinator alone
SELECT undistribute_table(:name);

-- hold_everywhere: let a setting hold until the transaction ends; passed on, which set_config is not
SET LOCAL {name} = {value};

-- vectors_that_answer: how many vectors each space has on the machines that answer
WITH parts AS MATERIALIZED (
    SELECT result::jsonb AS counts FROM run_command_on_shards('embedded', $$
        SELECT coalesce(jsonb_object_agg(space, vectors), '{}')
        FROM (SELECT space, sum(vectors) AS vectors FROM %s GROUP BY space) AS held
    $$) WHERE success
)
SELECT s.key, sum(held.value::bigint)::bigint
FROM parts CROSS JOIN jsonb_each_text(parts.counts) AS held (space, value)
JOIN spaces AS s ON s.number = held.space::bigint GROUP BY s.key;

-- forget_local: remove what a table had on the coordinator; it is elsewhere now
SELECT truncate_local_data_after_distributing_table(:name);
