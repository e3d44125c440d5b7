-- The statements that find memories by their words. The terms of an owner stand in the index behind
-- the owner's mark. The owner is asked for nevertheless: two of them may have the same mark, and Citus
-- has to know on which machine to look. But by a collation that no index has (POSIX is C by another
-- name), or a plan that takes every owner for an average one would rather split all texts of a large
-- one than look its terms up.

-- fragment entry
i.content, i.keywords, i.tags, i.category, i.function, i.length

-- fragment line
i.content || i.keywords || i.tags || i.category || i.function

-- fragment lexemes
-- as in the index `indexed_by_lexeme`
string_to_array(i.mark || replace(btrim(/*line*/), '  ', ' ' || i.mark), ' ')

-- fragment in_content
((octet_length(i.content) - octet_length(replace(i.content, asked.padded, ''))) / asked.octets)

-- fragment in_labels
((octet_length(i.labels) - octet_length(replace(i.labels, asked.padded, ''))) / asked.octets)

-- fragment in_category
((octet_length(i.category) - octet_length(replace(i.category, asked.padded, ''))) / asked.octets)

-- fragment in_function
((octet_length(i.function) - octet_length(replace(i.function, asked.padded, ''))) / asked.octets)

-- fragment score
-- BM25 as SQLite has it, k1 = 1.2 and b = 0.75, an occurrence counted by its field. Most rows do not
-- hold most of the terms, so whether they do is asked of the whole line, and where of those that do.
(
    SELECT sum(held.information * (held.count * '2.2'::float8 / (held.count + i.norm))) FROM (
        SELECT asked.information, (
            /*in_content*/ + '0.7'::float8 * /*in_labels*/
            + '0.2'::float8 * /*in_category*/ + '0.1'::float8 * /*in_function*/
        ) AS count
        FROM unnest(:padded::text [], :octets::int [], :information::float8 [])
            AS asked (padded, octets, information)
        WHERE strpos(i.line, asked.padded) > 0
        OFFSET 0
    ) AS held
)

-- fragment indexed
SELECT i.row, i.content, i.keywords || i.tags AS labels, i.category, i.function, /*line*/ AS line,
    '0.3'::float8 + '0.9'::float8 * ((i.length + 1) / :average::float8) AS norm
FROM indexed AS i WHERE i.owner = :owner COLLATE "POSIX"

-- fragment best
-- One by one, until enough of them are admitted.
CROSS JOIN LATERAL (
    SELECT /*columns*/ FROM memories AS m WHERE m.row = best.row AND /*admitted*/ OFFSET 0
) AS m
CROSS JOIN LATERAL (
    SELECT /*entry*/ FROM indexed AS i WHERE i.owner = :owner AND i.row = best.row OFFSET 0
) AS i
ORDER BY best.score DESC, best.row LIMIT :limit

-- index_facts: how much an owner's index holds, and how many of its versions hold each of these terms
SELECT t.versions, t.terms, ARRAY(
    SELECT (
        SELECT count(*) FROM indexed AS i
        WHERE i.owner = :owner COLLATE "POSIX" AND /*lexemes*/ @> ARRAY[asked.lexeme]
    )
    FROM unnest(:lexemes::text []) WITH ORDINALITY AS asked (lexeme, place) ORDER BY asked.place
)
FROM tenants AS t WHERE t.owner = :owner;

-- matches_any: the best memories that hold any of these terms and that the filter admits
SELECT /*columns*/, /*entry*/ FROM (
    SELECT i.row, /*score*/ AS score
    FROM (/*indexed*/ AND /*lexemes*/ && :lexemes::text [] OFFSET 0) AS i
    ORDER BY score DESC, row
) AS best
/*best*/;

-- matches_every: the best memories that hold every one of these terms and that the filter admits
SELECT /*columns*/, /*entry*/ FROM (
    SELECT i.row, /*score*/ AS score
    FROM (/*indexed*/ AND /*lexemes*/ @> :lexemes::text [] OFFSET 0) AS i
    ORDER BY score DESC, row
) AS best
/*best*/;
