-- Stand-in until brief B's file replaces it.

-- tenant_facts: x
SELECT versions, terms FROM tenants WHERE owner = :owner;

-- frequencies: x
SELECT t.term, (SELECT count(*) FROM indexed AS i WHERE i.owner = :owner AND i.lexemes @> ARRAY[t.term]) FROM unnest(:terms::text []) AS t (term);

-- matches_any: x
SELECT /*columns*/, i.content, i.keywords, i.tags, i.category, i.function, i.length
FROM indexed AS i JOIN memories AS m ON m.owner = i.owner AND m.row = i.row
WHERE i.owner = :owner AND i.lexemes && :terms::text [] AND /*admitted*/
ORDER BY (SELECT count(*) FROM unnest(:terms::text []) AS t (t) WHERE i.lexemes @> ARRAY[t.t]) DESC, i.row LIMIT :limit;

-- matches_every: x
SELECT /*columns*/, i.content, i.keywords, i.tags, i.category, i.function, i.length
FROM indexed AS i JOIN memories AS m ON m.owner = i.owner AND m.row = i.row
WHERE i.owner = :owner AND i.lexemes @> :terms::text [] AND /*admitted*/
ORDER BY i.row LIMIT :limit;
