-- The statements of the concept graph, with the fragments of queries.sql.
-- A concept that is merged into another one stands for it; its mentions and relations stay its own.

-- retire_extractor: no extractor is in use from now on
UPDATE extractors SET in_use = 0 WHERE in_use;

-- take_extractor: from now on this extractor reads memories
INSERT INTO extractors (key, in_use) VALUES (:key, 1) ON CONFLICT (key) DO UPDATE SET in_use = 1;

-- queue_readings: a job for every version that an extractor has not read, or for all of them
INSERT OR IGNORE INTO work (kind, target, row, turn)
SELECT 'extract', :key, m.row, iif(m.replaced_at < 9223372036854775807, 2, 1) FROM memories AS m
WHERE m.deleted_at IS NULL AND NOT m.sensitive AND (:again OR NOT EXISTS (
    SELECT 1 FROM readings AS r WHERE r.row = m.row AND r.extractor = :extractor
))
ORDER BY m.row;

-- known_before: the newest earlier version of a memory that the graph knows, and who read it
SELECT m.row, r.extractor, /*columns*/ FROM memories AS m LEFT JOIN readings AS r ON r.row = m.row
WHERE m.owner = :owner AND m.id = :id AND m.version < :version AND (
    r.row IS NOT NULL
    OR EXISTS (SELECT 1 FROM mentions AS n WHERE n.row = m.row)
    OR EXISTS (SELECT 1 FROM evidence AS e WHERE e.row = m.row)
)
ORDER BY m.version DESC LIMIT 1;

-- readings_to_keep: those of these jobs of an owner that are still to be done, with their versions
SELECT w.number, w.target, x.number, m.row, m.owner, m.updated_at, m.replaced_at
FROM json_each(:numbers) AS wanted
CROSS JOIN work AS w ON w.number = wanted.value
CROSS JOIN memories AS m ON m.row = w.row
CROSS JOIN extractors AS x ON x.key = w.target
WHERE w.kind = 'extract' AND m.owner = :owner AND m.deleted_at IS NULL AND NOT m.sensitive;

-- keep_reading: note which extractor read a version
INSERT INTO readings (row, extractor) VALUES (:row, :extractor)
ON CONFLICT (row) DO UPDATE SET extractor = excluded.extractor;

-- finish_reading: remove a job that is done
DELETE FROM work WHERE number = :job AND kind = 'extract' AND target = :target;

-- keep_concept: make a concept known; a more telling kind replaces one that says little
INSERT INTO concepts (owner, name, label, kind) VALUES (:owner, :name, :label, :kind)
ON CONFLICT (owner, name) DO UPDATE SET kind = excluded.kind
WHERE CASE WHEN excluded.kind = 'topic' THEN 0 WHEN excluded.kind = 'name' THEN 1 ELSE 2 END
> CASE WHEN concepts.kind = 'topic' THEN 0 WHEN concepts.kind = 'name' THEN 1 ELSE 2 END;

-- concept_numbers: the numbers of these names, each for itself
SELECT c.name, c.number FROM json_each(:names) AS asked
CROSS JOIN concepts AS c ON c.owner = :owner AND c.name = asked.value;

-- mentions_of_rows: what these versions mention
SELECT n.row, n.concept, n.given FROM json_each(:rows) AS wanted
CROSS JOIN mentions AS n INDEXED BY mentions_by_row ON n.row = wanted.value;

-- set_mention: a version mentions a concept so, and not otherwise but for what was given
INSERT INTO mentions (concept, row, roles) VALUES (:concept, :row, :roles)
ON CONFLICT (concept, row) DO UPDATE SET roles = excluded.roles | given
WHERE roles <> excluded.roles | given;

-- add_mention: a version mentions a concept so, too
INSERT INTO mentions (concept, row, roles) VALUES (:concept, :row, :roles)
ON CONFLICT (concept, row) DO UPDATE SET roles = roles | excluded.roles
WHERE roles | excluded.roles <> roles;

-- give_mention: what a version mentions was given by somebody
UPDATE mentions SET given = given | :roles WHERE concept = :concept AND row = :row;

-- remove_mention: a version does not mention a concept
DELETE FROM mentions WHERE concept = :concept AND row = :row;

-- readable_rows: the present versions of these memories, as far as they may be read
SELECT m.id, m.row FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value
WHERE m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL AND NOT m.sensitive;

-- rows_of_memories: every version of these memories
SELECT row FROM memories WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids));

-- copy_mentions: a version mentions what another one does
INSERT INTO mentions (concept, row, roles, given)
SELECT concept, :row, roles, given FROM mentions INDEXED BY mentions_by_row WHERE row = :before;

-- forget_mentions: remove what these versions mention
DELETE FROM mentions WHERE row IN (SELECT value FROM json_each(:rows));

-- forget_readings: these versions were not read
DELETE FROM readings WHERE row IN (SELECT value FROM json_each(:rows));

-- orphans: those of these concepts that nothing mentions or relates
SELECT c.number FROM json_each(:concepts) AS wanted CROSS JOIN concepts AS c ON c.number = wanted.value
WHERE NOT EXISTS (SELECT 1 FROM mentions AS n WHERE n.concept = c.number)
AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = c.number)
AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = c.number);

-- remove_concepts: remove these concepts
DELETE FROM concepts WHERE number IN (SELECT value FROM json_each(:concepts));

-- stated_before: the relation that a statement made at a moment belongs to
SELECT number, decided FROM relations INDEXED BY relations_by_source
WHERE source = :source AND type = :type AND target = :target
AND valid_from IS :valid_from AND valid_to IS :valid_to AND founded = :founded
-- what was said before it was retracted on purpose is retracted with it
AND (NOT decided OR (founded AND retracted_at > :since))
ORDER BY decided DESC, retracted_at, number LIMIT 1;

-- insert_relation: keep a relation
INSERT INTO relations (
    owner, source, type, target, weight, valid_from, valid_to, recorded_at, retracted_at, founded,
    origin
) VALUES (
    :owner, :source, :type, :target, :weight, :valid_from, :valid_to, :since, :until, :founded,
    :origin
) RETURNING number;

-- extend_relation: a relation is believed for another span as well
UPDATE relations SET weight = max(weight, :weight),
recorded_at = min(recorded_at, :since), retracted_at = max(retracted_at, :until)
WHERE number = :number;

-- keep_evidence: a version says so
INSERT INTO evidence (relation, row, since, given) VALUES (:number, :row, :since, :given)
ON CONFLICT (relation, row) DO UPDATE SET since = min(since, excluded.since),
until = 9223372036854775807, given = max(given, excluded.given);

-- copy_evidence: a version says what another one does, from when it was written
INSERT INTO evidence (relation, row, since, given)
SELECT e.relation, :row, m.updated_at, e.given
FROM evidence AS e INDEXED BY evidence_by_row
CROSS JOIN relations AS r ON r.number = e.relation
CROSS JOIN memories AS m ON m.row = :row
WHERE e.row = :before AND e.until = 9223372036854775807 AND NOT r.decided;

-- extend_relations_of: believe the relations that a version states as long as it is present
UPDATE relations SET
    recorded_at = min(recorded_at, (SELECT updated_at FROM memories WHERE row = :row)),
    retracted_at = max(retracted_at, (SELECT replaced_at FROM memories WHERE row = :row))
WHERE number IN (SELECT relation FROM evidence WHERE row = :row) AND NOT decided;

-- end_evidence: an extractor no longer reads in a version what it or another one did
UPDATE evidence SET until = :at
WHERE row = :row AND NOT given AND until = 9223372036854775807
AND relation NOT IN (SELECT value FROM json_each(:stated)) RETURNING relation;

-- relations_of_rows: the relations that these versions are evidence for
SELECT DISTINCT e.relation FROM json_each(:rows) AS wanted
CROSS JOIN evidence AS e INDEXED BY evidence_by_row ON e.row = wanted.value;

-- forget_evidence: remove what these versions are evidence for
DELETE FROM evidence WHERE row IN (SELECT value FROM json_each(:rows));

-- settle_relations: let these relations be believed as long as their evidence says so
UPDATE relations SET (recorded_at, retracted_at) = (
    SELECT min(e.since), max(min(e.until, m.replaced_at))
    FROM evidence AS e CROSS JOIN memories AS m ON m.row = e.row
    WHERE e.relation = relations.number
) WHERE number IN (SELECT value FROM json_each(:relations)) AND founded AND NOT decided;

-- ends_of_unfounded: where the relations without any evidence left begin and end
SELECT r.number, r.source, r.target FROM json_each(:relations) AS wanted
CROSS JOIN relations AS r ON r.number = wanted.value
WHERE r.founded AND NOT EXISTS (SELECT 1 FROM evidence AS e WHERE e.relation = r.number);

-- remove_relations: remove these relations
DELETE FROM relations WHERE number IN (SELECT value FROM json_each(:relations));

-- retract_relation: stop believing a relation, on purpose
UPDATE relations SET retracted_at = :at, decided = 1
WHERE number = :number AND owner = :owner AND retracted_at = 9223372036854775807;

-- relation: what a relation says
SELECT source, type, target, weight, valid_from, origin, founded FROM relations WHERE number = :number;

-- present_evidence: the present versions that state a relation
SELECT e.row FROM evidence AS e CROSS JOIN memories AS m ON m.row = e.row
WHERE e.relation = :number AND e.until = 9223372036854775807
AND m.replaced_at = 9223372036854775807 ORDER BY e.row;

-- merged_already: the merge of an alias that holds
SELECT number FROM merges WHERE alias = :alias AND undone_at = 9223372036854775807;

-- insert_merge: take two concepts for one
INSERT INTO merges (owner, alias, concept, reason, score, merged_at)
VALUES (:owner, :alias, :concept, :reason, :score, :merged_at);

-- undo_merge: take them for two again
UPDATE merges SET undone_at = :at WHERE alias = :alias AND undone_at = 9223372036854775807;

-- stands_for: which concept a concept stands for
SELECT coalesce(stands_for, number) FROM concepts WHERE number = :concept;

-- standing_for: the concepts that stand for one of these
SELECT number FROM concepts WHERE stands_for IN (SELECT value FROM json_each(:concepts));

-- point_anew: let these concepts stand for what the merges that hold lead to
UPDATE concepts SET stands_for = (
    WITH RECURSIVE above (number, steps) AS (
        SELECT concepts.number, 0
        UNION ALL
        SELECT x.concept, above.steps + 1 FROM above CROSS JOIN merges AS x
            ON x.alias = above.number AND x.undone_at = 9223372036854775807
    )
    SELECT nullif(above.number, concepts.number) FROM above ORDER BY above.steps DESC LIMIT 1
) WHERE number IN (SELECT value FROM json_each(:concepts));

-- remove_merges: remove every merge of these concepts, undone ones too
DELETE FROM merges WHERE alias IN (SELECT value FROM json_each(:concepts))
OR concept IN (SELECT value FROM json_each(:concepts));

-- list_merges: the merges of a scope
SELECT a.name, c.name, x.reason, x.score, x.merged_at, x.undone_at FROM merges AS x
CROSS JOIN concepts AS a ON a.number = x.alias
CROSS JOIN concepts AS c ON c.number = x.concept
WHERE x.owner = :owner AND (:undone OR x.undone_at = 9223372036854775807)
ORDER BY x.merged_at, x.number;

-- fragment concept
c.number, c.name, c.memories, c.subjects, (
    SELECT json_group_array(json_array(member.number, member.name, member.memories, member.subjects))
    FROM concepts AS member INDEXED BY concepts_merged WHERE member.stands_for = c.number
)

-- fragment standing
CROSS JOIN concepts AS c ON c.number = coalesce(found.stands_for, found.number)

-- concepts_named: what these names stand for
SELECT asked.value, /*concept*/, c.label, c.kind FROM json_each(:names) AS asked
CROSS JOIN concepts AS found ON found.owner = :owner AND found.name = asked.value
/*standing*/;

-- known_names: those of these names of which some memory is the subject
SELECT asked.value FROM json_each(:names) AS asked
CROSS JOIN concepts AS found ON found.owner = :owner AND found.name = asked.value
WHERE found.subjects > 0
OR EXISTS (SELECT 1 FROM concepts AS c WHERE c.number = found.stands_for AND c.subjects > 0)
OR EXISTS (
    SELECT 1 FROM concepts AS member
    WHERE member.stands_for = coalesce(found.stands_for, found.number) AND member.subjects > 0
);

-- hubs: the concepts that most memories mention; reading them all is faster than by an index
SELECT c.name, /*concept*/, c.label, c.kind FROM (
    SELECT number, name, memories AS total FROM concepts NOT INDEXED
    WHERE owner = :owner AND stands_for IS NULL AND memories > 0
    AND (:containing IS NULL OR instr(name, :containing))
    AND number NOT IN (SELECT stands_for FROM concepts WHERE stands_for IS NOT NULL)
    UNION ALL
    SELECT top.number, top.name, sum(member.memories) FROM concepts AS top
    CROSS JOIN concepts AS member ON member.number = top.number OR member.stands_for = top.number
    WHERE top.owner = :owner
    AND top.number IN (SELECT stands_for FROM concepts WHERE stands_for IS NOT NULL)
    GROUP BY top.number HAVING sum(member.memories) > 0
    AND (:containing IS NULL OR max(instr(member.name, :containing)))
    ORDER BY total DESC, name LIMIT :limit
) AS hub CROSS JOIN concepts AS c ON c.number = hub.number
ORDER BY hub.total DESC, c.name;

-- mentions_in: what these memories mention, as far as the filter admits them
SELECT m.row, m.id, n.roles, /*concept*/ FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.id = wanted.value
CROSS JOIN mentions AS n INDEXED BY mentions_by_row ON n.row = m.row
CROSS JOIN concepts AS found ON found.number = n.concept
/*standing*/
WHERE /*admitted*/ AND m.deleted_at IS NULL
ORDER BY wanted.key;

-- fragment mentioning
CROSS JOIN memories AS m ON m.row = n.row
WHERE /*admitted*/ AND m.deleted_at IS NULL AND (:role IS NULL OR n.roles & :role)

-- mentioning_named: what these names stand for, and who mentions those that few memories mention
SELECT /*concept*/, n.row, m.id, n.roles, n.concept FROM json_each(:names) AS asked
CROSS JOIN concepts AS found ON found.owner = :owner AND found.name = asked.value
/*standing*/
LEFT JOIN mentions AS n
    ON n.concept = c.number AND c.memories <= :limit AND (:role IS NULL OR n.roles & :role)
LEFT JOIN memories AS m ON m.row = n.row AND /*admitted*/ AND m.deleted_at IS NULL;

-- mentioning_these: the versions that mention these concepts
SELECT n.row, m.id, n.roles, n.concept FROM json_each(:concepts) AS wanted
CROSS JOIN mentions AS n ON n.concept = wanted.value
/*mentioning*/;

-- about_newest: the newest versions that are about a concept
SELECT n.row, m.id, n.roles, n.concept FROM mentions AS n INDEXED BY mentions_about
/*mentioning*/ AND n.concept = :concept AND n.roles & 1
ORDER BY n.row DESC LIMIT :limit;

-- mentions_after: what the next admitted versions mention, in the order of writing
SELECT m.row, m.id, n.roles, /*concept*/ FROM (
    SELECT m.row, m.id FROM memories AS m
    WHERE m.row > :after AND /*admitted*/ AND m.deleted_at IS NULL
    AND EXISTS (SELECT 1 FROM mentions AS n WHERE n.row = m.row)
    ORDER BY m.row LIMIT :limit
) AS m
CROSS JOIN mentions AS n INDEXED BY mentions_by_row ON n.row = m.row
CROSS JOIN concepts AS found ON found.number = n.concept
/*standing*/
ORDER BY m.row;

-- fragment said
e.since <= :moment AND e.until > :moment AND /*admitted*/ AND m.deleted_at IS NULL

-- fragment unfounded
NOT r.founded

-- fragment unfounded@shared
-- What no memory says is the owner's alone.
FALSE

-- fragment believed
r.owner = :owner AND r.recorded_at <= :moment AND r.retracted_at > :moment AND (
    /*unfounded*/ OR EXISTS (
        SELECT 1 FROM evidence AS e CROSS JOIN memories AS m ON m.row = e.row
        WHERE e.relation = r.number AND /*said*/
    )
)

-- fragment relation
r.number, source.name, r.type, target.name, r.weight, r.valid_from, r.valid_to,
r.recorded_at, r.retracted_at, r.origin

-- fragment ends
CROSS JOIN concepts AS s ON s.number = r.source
CROSS JOIN concepts AS source ON source.number = coalesce(s.stands_for, s.number)
CROSS JOIN concepts AS t ON t.number = r.target
CROSS JOIN concepts AS target ON target.number = coalesce(t.stands_for, t.number)

-- relations_at: the relations that begin or end at these concepts, the heaviest first
SELECT /*relation*/ FROM (
    SELECT r.number FROM json_each(:concepts) AS wanted
    CROSS JOIN relations AS r INDEXED BY relations_by_source ON r.source = wanted.value
    UNION
    SELECT r.number FROM json_each(:concepts) AS wanted
    CROSS JOIN relations AS r INDEXED BY relations_by_target ON r.target = wanted.value
) AS near CROSS JOIN relations AS r ON r.number = near.number
/*ends*/
WHERE /*believed*/
ORDER BY r.weight DESC, r.recorded_at DESC, r.number LIMIT :limit;

-- evidence_of: the admitted memories that say so
SELECT e.relation, m.id FROM json_each(:relations) AS wanted
CROSS JOIN evidence AS e ON e.relation = wanted.value
CROSS JOIN memories AS m ON m.row = e.row
WHERE /*said*/ ORDER BY m.row;

-- graph_counts: what the graph of a scope holds
SELECT
held.concepts, held.mentions,
(SELECT count(*) FROM relations WHERE owner = :owner AND retracted_at = 9223372036854775807),
(SELECT count(*) FROM merges WHERE owner = :owner AND undone_at = 9223372036854775807),
(
    SELECT count(*) FROM work AS w CROSS JOIN memories AS m ON m.row = w.row
    WHERE w.kind = 'extract' AND m.owner = :owner AND m.replaced_at = 9223372036854775807
)
FROM (
    SELECT count(iif(stands_for IS NULL, 1, NULL)) AS concepts, coalesce(sum(memories), 0) AS mentions
    FROM concepts NOT INDEXED WHERE owner = :owner
) AS held;

-- read_so_far: whether a scope has a concept, and what the next jobs are to read of it
SELECT EXISTS (SELECT 1 FROM concepts WHERE owner = :owner),
(
    SELECT count(*) FROM (
        SELECT row FROM work INDEXED BY work_by_target
        WHERE kind = 'extract' AND state <> 'dead' LIMIT :jobs
    ) AS w CROSS JOIN memories AS m ON m.row = w.row
    WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807
);

-- count_unread: present versions that no extractor has read and that no job is there for
SELECT count(*) FROM extractors AS x CROSS JOIN memories AS m
WHERE x.in_use AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL AND NOT m.sensitive
AND NOT EXISTS (SELECT 1 FROM readings AS r WHERE r.row = m.row AND r.extractor = x.number)
AND NOT EXISTS (
    SELECT 1 FROM work AS w WHERE w.row = m.row AND w.kind = 'extract' AND w.target = x.key
);

-- count_graph_faults: parts of the graph that hang in the air, and concepts counted wrongly
SELECT (
    SELECT count(*) FROM mentions AS n LEFT JOIN memories AS m ON m.row = n.row
    LEFT JOIN concepts AS c ON c.number = n.concept
    WHERE m.row IS NULL OR m.sensitive OR m.deleted_at IS NOT NULL OR c.owner IS NOT m.owner
) + (
    SELECT count(*) FROM evidence AS e LEFT JOIN memories AS m ON m.row = e.row
    LEFT JOIN relations AS r ON r.number = e.relation
    WHERE m.row IS NULL OR m.sensitive OR m.deleted_at IS NOT NULL OR r.owner IS NOT m.owner
) + (
    SELECT count(*) FROM relations AS r
    LEFT JOIN concepts AS s ON s.number = r.source LEFT JOIN concepts AS t ON t.number = r.target
    WHERE s.owner IS NOT r.owner OR t.owner IS NOT r.owner
    OR r.founded <> EXISTS (SELECT 1 FROM evidence AS e WHERE e.relation = r.number)
) + (
    SELECT count(*) FROM concepts AS c LEFT JOIN (
        SELECT n.concept, count(*) AS versions,
        sum(m.replaced_at = 9223372036854775807) AS memories,
        sum(m.replaced_at = 9223372036854775807 AND n.roles & 1) AS subjects
        FROM mentions AS n CROSS JOIN memories AS m ON m.row = n.row GROUP BY n.concept
    ) AS counted ON counted.concept = c.number
    WHERE c.memories <> coalesce(counted.memories, 0)
    OR c.subjects <> coalesce(counted.subjects, 0)
    OR (counted.versions IS NULL AND NOT EXISTS (
        SELECT 1 FROM relations AS r WHERE r.source = c.number OR r.target = c.number
    ))
) + (
    SELECT count(*) FROM concepts AS c
    WHERE (c.stands_for IS NULL) = EXISTS (
        SELECT 1 FROM merges AS x
        WHERE x.alias = c.number AND x.undone_at = 9223372036854775807
    )
);
