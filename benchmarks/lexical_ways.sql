-- Other ways of finding memories by their words on Postgres, over the tables of a store. Each is a
-- pair of fragments that give rows and scores, for any and for every one of the terms. `:lexemes` are
-- the terms that are searched, `:all_lexemes` those that count in the score; both behind the mark.

-- fragment idf
(
    SELECT sum(asked.information)
    FROM unnest(:padded::text [], :information::float8 []) AS asked (padded, information)
    WHERE strpos(i.line, asked.padded) > 0
)

-- fragment idf_any
SELECT i.row, /*idf*/ AS score
FROM (/*indexed*/ AND /*lexemes*/ && :lexemes::text [] OFFSET 0) AS i

-- fragment idf_every
SELECT i.row, /*idf*/ AS score
FROM (/*indexed*/ AND /*lexemes*/ @> :lexemes::text [] OFFSET 0) AS i

-- fragment unnested
(
    SELECT sum(held.information * held.count * '2.2'::float8 / (held.count + i.norm)) FROM (
        SELECT asked.information, count(*)::float8 AS count
        FROM unnest(string_to_array(i.line, ' ')) AS word (term)
        JOIN unnest(:terms::text [], :information::float8 []) AS asked (term, information)
            ON asked.term = word.term
        GROUP BY asked.term, asked.information
    ) AS held
)

-- fragment unnested_any
SELECT i.row, /*unnested*/ AS score
FROM (/*indexed*/ AND /*lexemes*/ && :lexemes::text [] OFFSET 0) AS i

-- fragment unnested_every
SELECT i.row, /*unnested*/ AS score
FROM (/*indexed*/ AND /*lexemes*/ @> :lexemes::text [] OFFSET 0) AS i

-- fragment unmarked_any
SELECT i.row, /*score*/ AS score FROM (
    SELECT i.row, i.content, i.keywords || i.tags AS labels, i.category, i.function,
        /*line*/ AS line, '0.3'::float8 + '0.9'::float8 * ((i.length + 1) / :average::float8) AS norm
    FROM way_unmarked AS i WHERE i.owner = :owner AND i.terms && :searched::text [] OFFSET 0
) AS i

-- fragment unmarked_every
SELECT i.row, /*score*/ AS score FROM (
    SELECT i.row, i.content, i.keywords || i.tags AS labels, i.category, i.function,
        /*line*/ AS line, '0.3'::float8 + '0.9'::float8 * ((i.length + 1) / :average::float8) AS norm
    FROM way_unmarked AS i WHERE i.owner = :owner AND i.terms @> :searched::text [] OFFSET 0
) AS i

-- fragment any_of
(SELECT string_agg(quote_literal(l), ' | ')::tsquery FROM unnest(:lexemes::text []) AS l)

-- fragment every_one_of
(SELECT string_agg(quote_literal(l), ' & ')::tsquery FROM unnest(:lexemes::text []) AS l)

-- fragment any_of_all
(SELECT string_agg(quote_literal(l), ' | ')::tsquery FROM unnest(:all_lexemes::text []) AS l)

-- fragment ts_rank_any
SELECT t.row, ts_rank('{0.1, 0.2, 0.7, 1.0}', t.vector, /*any_of_all*/, 1) AS score
FROM way_tsvector AS t WHERE t.owner = :owner AND t.vector @@ /*any_of*/

-- fragment ts_rank_every
SELECT t.row, ts_rank('{0.1, 0.2, 0.7, 1.0}', t.vector, /*any_of_all*/, 1) AS score
FROM way_tsvector AS t WHERE t.owner = :owner AND t.vector @@ /*every_one_of*/

-- fragment ts_rank_cd_any
SELECT t.row, ts_rank_cd('{0.1, 0.2, 0.7, 1.0}', t.vector, /*any_of_all*/, 1) AS score
FROM way_tsvector AS t WHERE t.owner = :owner AND t.vector @@ /*any_of*/

-- fragment ts_rank_cd_every
SELECT t.row, ts_rank_cd('{0.1, 0.2, 0.7, 1.0}', t.vector, /*any_of_all*/, 1) AS score
FROM way_tsvector AS t WHERE t.owner = :owner AND t.vector @@ /*every_one_of*/

-- fragment by_term
(
    SELECT sum(asked.information * ts_rank(
        '{0.1, 0.2, 0.7, 1.0}', t.vector, quote_literal(asked.lexeme)::tsquery, 1
    ))
    FROM unnest(:all_lexemes::text [], :information::float8 []) AS asked (lexeme, information)
)

-- fragment ts_rank_idf_any
SELECT t.row, /*by_term*/ AS score
FROM way_tsvector AS t WHERE t.owner = :owner AND t.vector @@ /*any_of*/

-- fragment ts_rank_idf_every
SELECT t.row, /*by_term*/ AS score
FROM way_tsvector AS t WHERE t.owner = :owner AND t.vector @@ /*every_one_of*/

-- fragment from_postings
SELECT c.row, sum(asked.information * p.count * '2.2'::float8 / (
    p.count + '0.3'::float8 + '0.9'::float8 * ((p.length + 1) / :average::float8)
)) AS score
FROM candidates AS c
CROSS JOIN unnest(:terms::text [], :information::float8 []) AS asked (term, information)
JOIN way_postings AS p ON p.owner = :owner AND p.term = asked.term AND p.row = c.row
GROUP BY c.row

-- fragment postings_any
WITH candidates AS MATERIALIZED (
    SELECT DISTINCT p.row FROM way_postings AS p
    WHERE p.owner = :owner AND p.term = ANY(:searched::text [])
) /*from_postings*/

-- fragment postings_every
WITH candidates AS MATERIALIZED (
    SELECT p.row FROM way_postings AS p
    WHERE p.owner = :owner AND p.term = ANY(:searched::text [])
    GROUP BY p.row HAVING count(*) = cardinality(:searched::text [])
) /*from_postings*/

-- fragment vector_of
(
    SELECT coalesce(string_agg(quote_literal(l.mark || l.term) || ':' || l.place || l.weight, ' '), '')::tsvector
    FROM (
        SELECT i.mark, f.weight, w.term, least(row_number() OVER (ORDER BY f.weight, w.place), 16383) AS place
        FROM (
            VALUES ('A', i.content), ('B', i.keywords || i.tags), ('C', i.category), ('D', i.function)
        ) AS f (weight, line)
        CROSS JOIN unnest(string_to_array(btrim(f.line), '  ')) WITH ORDINALITY AS w (term, place)
        WHERE w.term <> ''
    ) AS l
)

-- fragment counts_of
(
    SELECT w.term, sum(f.weight) AS count
    FROM (
        VALUES ('1.0'::float8, i.content), ('0.7', i.keywords || i.tags), ('0.2', i.category),
        ('0.1', i.function)
    ) AS f (weight, line)
    CROSS JOIN unnest(string_to_array(btrim(f.line), '  ')) AS w (term)
    WHERE w.term <> '' GROUP BY w.term
)

-- make_lines: as shipped, once more, to see what it takes
CREATE TABLE way_lines (LIKE indexed INCLUDING ALL);

-- make_lexemes: the terms, each once behind the mark, stored beside the lines
CREATE TABLE way_lexemes (LIKE indexed INCLUDING DEFAULTS, lexemes TEXT [] COLLATE "C", PRIMARY KEY (owner, row));
CREATE INDEX way_lexemes_by_lexeme ON way_lexemes USING gin (lexemes) WITH (fastupdate = off);

-- make_unmarked: the terms without the mark
CREATE TABLE way_unmarked (LIKE indexed INCLUDING DEFAULTS, terms TEXT [] COLLATE "C", PRIMARY KEY (owner, row));
CREATE INDEX way_unmarked_by_term ON way_unmarked USING gin (terms) WITH (fastupdate = off);

-- make_tsvector: full text search
CREATE TABLE way_tsvector (owner TEXT COLLATE "C", row BIGINT, vector TSVECTOR, PRIMARY KEY (owner, row));
CREATE INDEX way_tsvector_by_lexeme ON way_tsvector USING gin (vector) WITH (fastupdate = off);

-- make_postings: a row for every term of a memory
CREATE TABLE way_postings (
    owner TEXT COLLATE "C", term TEXT COLLATE "C", row BIGINT, count FLOAT4, length INTEGER,
    PRIMARY KEY (owner, term, row) INCLUDE (count, length)
);

-- make_frequencies: how many memories hold each term
CREATE TABLE way_frequencies (
    owner TEXT COLLATE "C", term TEXT COLLATE "C", versions BIGINT, PRIMARY KEY (owner, term)
) WITH (fillfactor = 70);

-- empty_lines: remove an owner's later rows
DELETE FROM way_lines WHERE owner = :owner AND row > :after;

-- fill_lines: take over these rows
INSERT INTO way_lines SELECT i.* FROM indexed AS i
WHERE i.owner = coalesce(:owner::text, i.owner) AND i.row BETWEEN :first AND :last;

-- empty_lexemes: remove an owner's later rows
DELETE FROM way_lexemes WHERE owner = :owner AND row > :after;

-- fill_lexemes: take over these rows
INSERT INTO way_lexemes SELECT i.*, /*lexemes*/ FROM indexed AS i
WHERE i.owner = coalesce(:owner::text, i.owner) AND i.row BETWEEN :first AND :last;

-- empty_unmarked: remove an owner's later rows
DELETE FROM way_unmarked WHERE owner = :owner AND row > :after;

-- fill_unmarked: take over these rows
INSERT INTO way_unmarked SELECT i.*, string_to_array(btrim(/*line*/), '  ') FROM indexed AS i
WHERE i.owner = coalesce(:owner::text, i.owner) AND i.row BETWEEN :first AND :last;

-- empty_tsvector: remove an owner's later rows
DELETE FROM way_tsvector WHERE owner = :owner AND row > :after;

-- fill_tsvector: take over these rows
INSERT INTO way_tsvector SELECT i.owner, i.row, /*vector_of*/ FROM indexed AS i
WHERE i.owner = coalesce(:owner::text, i.owner) AND i.row BETWEEN :first AND :last;

-- empty_postings: remove an owner's later rows
DELETE FROM way_postings WHERE owner = :owner AND row > :after;

-- fill_postings: take over these rows
INSERT INTO way_postings SELECT i.owner, c.term, i.row, c.count, i.length
FROM indexed AS i CROSS JOIN LATERAL /*counts_of*/ AS c
WHERE i.owner = coalesce(:owner::text, i.owner) AND i.row BETWEEN :first AND :last;

-- fill_frequencies: take over these rows
INSERT INTO way_frequencies AS f SELECT i.owner, c.term, count(*)
FROM indexed AS i CROSS JOIN LATERAL /*counts_of*/ AS c
WHERE i.owner = coalesce(:owner::text, i.owner) AND i.row BETWEEN :first AND :last
GROUP BY i.owner, c.term
ON CONFLICT (owner, term) DO UPDATE SET versions = f.versions + excluded.versions;

-- look_up_frequencies: how frequent these terms are, from the table
SELECT f.term, f.versions FROM way_frequencies AS f
WHERE f.owner = :owner AND f.term = ANY(:terms::text []);

-- size_of: how many bytes a table takes, without and with its indexes
SELECT pg_table_size(:table::text::regclass), pg_total_relation_size(:table::text::regclass);
