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

-- index_sizes_elsewhere: the bytes of the indexes of spaces on the machines that answer
SELECT held.name, sum(held.bytes::bigint)::bigint
FROM run_command_on_placements('vectors', $$
    SELECT coalesce(jsonb_object_agg(substring(c.relname, '^vectors_of_space_\d+'), pg_relation_size(c.oid)), '{}')
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
    WHERE i.indrelid = '%s'::regclass AND c.relname ~ '^vectors_of_space_'
$$) AS part CROSS JOIN LATERAL jsonb_each_text(part.result::jsonb) AS held (name, bytes)
WHERE part.success GROUP BY held.name;

-- building_everywhere: how far an index build is, on all machines together
SELECT each.value ->> 0, max(each.value ->> 1), sum((each.value ->> 2)::bigint)::bigint,
sum((each.value ->> 3)::bigint)::bigint, sum((each.value ->> 4)::bigint)::bigint,
sum((each.value ->> 5)::bigint)::bigint
FROM run_command_on_all_nodes($$
    SELECT coalesce(jsonb_agg(jsonb_build_array(
        substring(c.relname, '^vectors_of_space_\d+'), p.phase, p.tuples_done, p.tuples_total, p.blocks_done, p.blocks_total
    )), '[]')
    FROM pg_stat_progress_create_index AS p JOIN pg_class AS t ON t.oid = p.relid
    LEFT JOIN pg_class AS c ON c.oid = p.index_relid
    WHERE t.relname ~ '^vectors(_\d+)?$' AND p.datname = current_database()
$$) AS node CROSS JOIN LATERAL jsonb_array_elements(node.result::jsonb) AS each (value)
WHERE node.success GROUP BY each.value ->> 0;

-- sizes_elsewhere: by table: rows, bytes and bytes of indexes on the machines that answer
SELECT p.logicalrelid::regclass::text,
CASE WHEN p.partmethod = 'n' THEN max(counted.numbers [1]) ELSE sum(counted.numbers [1]) END::bigint,
sum(counted.numbers [2])::bigint, sum(counted.numbers [3])::bigint
FROM pg_dist_partition AS p
CROSS JOIN LATERAL run_command_on_placements(p.logicalrelid, $$
    SELECT ARRAY[greatest(reltuples, 0)::bigint, pg_total_relation_size(oid), pg_indexes_size(oid)]
    FROM pg_class WHERE oid = '%s'::regclass
$$) AS part
CROSS JOIN LATERAL (SELECT part.result::bigint [] AS numbers) AS counted
WHERE part.success GROUP BY p.logicalrelid, p.partmethod;

-- bytes_elsewhere: the bytes of the database on the workers that answer
SELECT coalesce(sum(result::bigint), 0)::bigint
FROM run_command_on_workers('SELECT pg_database_size(current_database())') WHERE success;

-- raise_memory: let new sessions of this role, on all machines, build indexes with so much memory
ALTER ROLE CURRENT_USER IN DATABASE {database} SET maintenance_work_mem = {memory};

-- lower_memory: let them use what the server allows again
ALTER ROLE CURRENT_USER IN DATABASE {database} RESET maintenance_work_mem;

-- forget_local: remove what a table had on the coordinator; it is elsewhere now
SELECT truncate_local_data_after_distributing_table(:name);
