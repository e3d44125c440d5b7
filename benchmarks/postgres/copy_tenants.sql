-- Lets the tenants named in `others` hold what the first memories of their pattern hold.
INSERT INTO tenants (owner, numbers, versions, terms)
SELECT o.owner, t.numbers, %(upto)s, %(upto)s * t.terms / t.versions
FROM others AS o JOIN tenants AS t ON t.owner = o.pattern
ON CONFLICT (owner) DO UPDATE SET versions = excluded.versions, terms = excluded.terms;
INSERT INTO memories (
    owner, row, id, version, content, content_hash, category, tags, keywords, importance, sensitive,
    created_at, updated_at, replaced_at, deleted_at, valid_from, valid_to,
    agent, session, project, source, trust
)
SELECT o.owner, m.row, o.owner || '-' || m.row, m.version, m.content, m.content_hash, m.category,
m.tags, m.keywords, m.importance, m.sensitive, m.created_at, m.updated_at, m.replaced_at,
m.deleted_at, m.valid_from, m.valid_to, m.agent, m.session, m.project, m.source, m.trust
FROM (
    SELECT p.*, row_number() OVER (PARTITION BY p.owner ORDER BY p.row) AS place
    FROM memories AS p WHERE p.owner IN (SELECT pattern FROM others)
) AS m JOIN others AS o ON o.pattern = m.owner
WHERE m.place > %(after)s AND m.place <= %(upto)s;
INSERT INTO indexed (owner, row, mark, content, keywords, tags, category, function, length)
SELECT o.owner, i.row, o.mark, i.content, i.keywords, i.tags, i.category, i.function, i.length
FROM others AS o
JOIN memories AS m ON m.owner = o.owner
JOIN indexed AS i ON i.owner = o.pattern AND i.row = m.row
ON CONFLICT DO NOTHING;
INSERT INTO vectors (owner, space, row, vector)
SELECT o.owner, v.space, v.row, v.vector FROM others AS o
JOIN memories AS m ON m.owner = o.owner
JOIN vectors AS v ON v.owner = o.pattern AND v.row = m.row
ON CONFLICT DO NOTHING;
INSERT INTO embedded (owner, space, vectors)
SELECT o.owner, v.space, count(*) FROM others AS o JOIN vectors AS v ON v.owner = o.owner
GROUP BY o.owner, v.space
ON CONFLICT (owner, space) DO UPDATE SET vectors = excluded.vectors;
INSERT INTO readings (owner, row, extractor)
SELECT o.owner, r.row, r.extractor FROM others AS o
JOIN memories AS m ON m.owner = o.owner
JOIN readings AS r ON r.owner = o.pattern AND r.row = m.row
ON CONFLICT DO NOTHING;
INSERT INTO mentions (owner, concept, row, roles, given)
SELECT o.owner, n.concept, n.row, n.roles, n.given FROM others AS o
JOIN memories AS m ON m.owner = o.owner
JOIN mentions AS n ON n.owner = o.pattern AND n.row = m.row
ON CONFLICT DO NOTHING;
INSERT INTO concepts (owner, number, name, label, kind, memories, subjects)
SELECT o.owner, c.number, c.name, c.label, c.kind, c.memories, c.subjects FROM others AS o
JOIN concepts AS c ON c.owner = o.pattern
WHERE EXISTS (SELECT 1 FROM mentions AS n WHERE n.owner = o.owner AND n.concept = c.number)
ON CONFLICT DO NOTHING;
