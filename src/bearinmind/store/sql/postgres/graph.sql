-- The statements of the concept graph, with the fragments of queries.sql.
-- A concept that is merged into another one stands for it; its mentions and relations stay its own.

-- retire_extractor: no extractor is in use from now on
UPDATE extractors SET in_use = FALSE WHERE in_use;

-- take_extractor: from now on this extractor reads memories
INSERT INTO extractors (key, in_use) VALUES (:key, TRUE)
ON CONFLICT (key) DO UPDATE SET in_use = TRUE;

-- queue_readings: a job for every version that an extractor has not read, or for all of them
INSERT INTO work (owner, kind, target, row, turn)
SELECT m.owner, 'extract', :key, m.row,
CASE WHEN m.replaced_at < 9223372036854775807 THEN 2 ELSE 1 END
FROM memories AS m WHERE m.deleted_at IS NULL AND NOT m.sensitive AND (:again OR NOT EXISTS (
    SELECT 1 FROM readings AS r
    WHERE r.owner = m.owner AND r.row = m.row AND r.extractor = :extractor
))
ORDER BY m.updated_at, m.row ON CONFLICT DO NOTHING;

-- known_before: the newest earlier version of a memory that the graph knows, and who read it
SELECT m.row, r.extractor, /*columns*/ FROM memories AS m
LEFT JOIN readings AS r ON r.owner = m.owner AND r.row = m.row
WHERE m.owner = :owner AND m.id = :id AND m.version < :version AND (
    r.row IS NOT NULL
    OR EXISTS (SELECT 1 FROM mentions AS n WHERE n.owner = :owner AND n.row = m.row)
    OR EXISTS (SELECT 1 FROM evidence AS e WHERE e.owner = :owner AND e.row = m.row)
)
ORDER BY m.version DESC LIMIT 1;

-- readings_to_keep: those of these jobs of an owner that are still to be done, with their versions
WITH taken AS MATERIALIZED (
    SELECT w.number, w.target, w.row FROM work AS w
    WHERE w.owner = :owner AND w.number = ANY(:numbers::bigint []) AND w.kind = 'extract'
)
SELECT w.number, w.target, x.number, m.row, m.owner, m.updated_at, m.replaced_at
FROM taken AS w
JOIN memories AS m ON m.row = w.row
JOIN extractors AS x ON x.key = w.target
WHERE m.owner = :owner AND m.deleted_at IS NULL AND NOT m.sensitive;

-- keep_reading: note which extractor read a version
INSERT INTO readings (owner, row, extractor) VALUES (:owner, :row, :extractor)
ON CONFLICT (owner, row) DO UPDATE SET extractor = excluded.extractor;

-- finish_reading: remove a job that is done
DELETE FROM work
WHERE owner = :owner AND number = :job AND kind = 'extract' AND target = :target;

-- fragment telling
CASE WHEN given.kind = 'topic' THEN 0 WHEN given.kind = 'name' THEN 1 ELSE 2 END

-- keep_concept: make a concept known; a more telling kind replaces one that says little
INSERT INTO concepts AS c (owner, number, name, label, kind)
VALUES (:owner, :number, :name, :label, :kind)
ON CONFLICT (owner, name) DO UPDATE SET kind = excluded.kind
WHERE CASE WHEN excluded.kind = 'topic' THEN 0 WHEN excluded.kind = 'name' THEN 1 ELSE 2 END
> CASE WHEN c.kind = 'topic' THEN 0 WHEN c.kind = 'name' THEN 1 ELSE 2 END;

-- keep_concept_many: the same of many concepts; of one that is named twice the first label stays
INSERT INTO concepts AS c (owner, number, name, label, kind)
SELECT :owner, min(given.number), given.name,
(array_agg(given.label ORDER BY given.place)) [1],
(array_agg(given.kind ORDER BY /*telling*/ DESC, given.place)) [1]
FROM unnest(:each_number::bigint [], :each_name::text [], :each_label::text [], :each_kind::text [])
    WITH ORDINALITY AS given (number, name, label, kind, place)
GROUP BY given.name
ON CONFLICT (owner, name) DO UPDATE SET kind = excluded.kind
WHERE CASE WHEN excluded.kind = 'topic' THEN 0 WHEN excluded.kind = 'name' THEN 1 ELSE 2 END
> CASE WHEN c.kind = 'topic' THEN 0 WHEN c.kind = 'name' THEN 1 ELSE 2 END;

-- concept_numbers: the numbers of these names, each for itself
SELECT name, number FROM concepts WHERE owner = :owner AND name = ANY(:names::text []);

-- mentions_of_rows: what these versions mention
SELECT row, concept, given FROM mentions WHERE owner = :owner AND row = ANY(:rows::bigint []);

-- fragment count_mentions
UPDATE concepts AS c
SET memories = c.memories + changed.memories, subjects = c.subjects + changed.subjects
FROM (
    SELECT each.concept, sum(each.memories) AS memories, sum(each.subjects) AS subjects
    FROM counted AS each JOIN memories AS m ON m.owner = :owner AND m.row = each.row
    WHERE m.replaced_at = 9223372036854775807 GROUP BY each.concept
) AS changed
WHERE c.owner = :owner AND c.number = changed.concept

-- fragment mentioned_so_far
SELECT roles, given FROM mentions WHERE owner = :owner AND concept = :concept AND row = :row

-- set_mention: a version mentions a concept so, and not otherwise but for what was given
WITH before AS MATERIALIZED (/*mentioned_so_far*/), kept AS (
    INSERT INTO mentions AS n (owner, concept, row, roles) VALUES (:owner, :concept, :row, :roles)
    ON CONFLICT (owner, concept, row) DO UPDATE SET roles = excluded.roles | n.given
    WHERE n.roles <> (excluded.roles | n.given)
    RETURNING concept, row, roles
), counted AS (
    SELECT kept.concept, kept.row, CASE WHEN before.roles IS NULL THEN 1 ELSE 0 END AS memories,
    (kept.roles & 1) - (coalesce(before.roles, 0) & 1) AS subjects
    FROM kept LEFT JOIN before ON TRUE
)
/*count_mentions*/;

-- add_mention: a version mentions a concept so, too; whether that is new
WITH before AS MATERIALIZED (/*mentioned_so_far*/), kept AS (
    INSERT INTO mentions AS n (owner, concept, row, roles) VALUES (:owner, :concept, :row, :roles)
    ON CONFLICT (owner, concept, row) DO UPDATE SET roles = n.roles | excluded.roles
    WHERE (n.roles | excluded.roles) <> n.roles
    RETURNING concept, row, roles
), counted AS (
    SELECT kept.concept, kept.row, CASE WHEN before.roles IS NULL THEN 1 ELSE 0 END AS memories,
    (kept.roles & 1) - (coalesce(before.roles, 0) & 1) AS subjects
    FROM kept LEFT JOIN before ON TRUE
)
/*count_mentions*/;

-- fragment mentioned_by_many
SELECT concept, row, roles FROM mentions WHERE owner = :owner AND row = ANY(:each_row::bigint [])

-- fragment many_mentions
INSERT INTO mentions AS n (owner, concept, row, roles)
SELECT :owner, given.concept, given.row, given.roles
FROM unnest(:each_concept::bigint [], :each_row::bigint [], :each_roles::smallint [])
    AS given (concept, row, roles)

-- fragment counted_many
SELECT kept.concept, kept.row, CASE WHEN before.roles IS NULL THEN 1 ELSE 0 END AS memories,
(kept.roles & 1) - (coalesce(before.roles, 0) & 1) AS subjects
FROM kept LEFT JOIN before ON before.concept = kept.concept AND before.row = kept.row

-- set_mention_many: the same of many mentions; a row for each that is changed
WITH before AS MATERIALIZED (/*mentioned_by_many*/), kept AS (
    /*many_mentions*/
    ON CONFLICT (owner, concept, row) DO UPDATE SET roles = excluded.roles | n.given
    WHERE n.roles <> (excluded.roles | n.given)
    RETURNING concept, row, roles
), counted AS (/*counted_many*/), noted AS (/*count_mentions*/)
SELECT row FROM kept;

-- add_mention_many: the same of many mentions; a row for each that is new
WITH before AS MATERIALIZED (/*mentioned_by_many*/), kept AS (
    /*many_mentions*/
    ON CONFLICT (owner, concept, row) DO UPDATE SET roles = n.roles | excluded.roles
    WHERE (n.roles | excluded.roles) <> n.roles
    RETURNING concept, row, roles
), counted AS (/*counted_many*/), noted AS (/*count_mentions*/)
SELECT row FROM kept;

-- give_mention: what a version mentions was given by somebody
UPDATE mentions SET given = given | :roles
WHERE owner = :owner AND concept = :concept AND row = :row;

-- fragment uncounted
SELECT concept, row, -1 AS memories, -(roles & 1) AS subjects FROM gone

-- remove_mention: a version does not mention a concept
WITH gone AS (
    DELETE FROM mentions WHERE owner = :owner AND concept = :concept AND row = :row
    RETURNING concept, row, roles
), counted AS (/*uncounted*/)
/*count_mentions*/;

-- readable_rows: the present versions of these memories, as far as they may be read
SELECT m.id, m.row FROM memories AS m
WHERE m.owner = :owner AND m.id = ANY(:ids::text [])
AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL AND NOT m.sensitive;

-- rows_of_memories: every version of these memories
SELECT row FROM memories WHERE owner = :owner AND id = ANY(:ids::text []);

-- copy_mentions: a version mentions what another one does
WITH kept AS (
    INSERT INTO mentions (owner, concept, row, roles, given)
    SELECT owner, concept, :row, roles, given FROM mentions WHERE owner = :owner AND row = :before
    RETURNING concept, row, roles
), counted AS (SELECT concept, row, 1 AS memories, roles & 1 AS subjects FROM kept)
/*count_mentions*/;

-- forget_mentions: remove what these versions mention
WITH gone AS (
    DELETE FROM mentions WHERE owner = :owner AND row = ANY(:rows::bigint [])
    RETURNING concept, row, roles
), counted AS (/*uncounted*/)
/*count_mentions*/;

-- forget_readings: these versions were not read
DELETE FROM readings WHERE owner = :owner AND row = ANY(:rows::bigint []);

-- orphans: those of these concepts that nothing mentions or relates
SELECT c.number FROM concepts AS c
WHERE c.owner = :owner AND c.number = ANY(:concepts::bigint [])
AND NOT EXISTS (SELECT 1 FROM mentions AS n WHERE n.owner = :owner AND n.concept = c.number)
AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.owner = :owner AND r.source = c.number)
AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.owner = :owner AND r.target = c.number);

-- remove_concepts: remove these concepts
DELETE FROM concepts WHERE owner = :owner AND number = ANY(:concepts::bigint []);

-- stated_before: the relation that a statement made at a moment belongs to
SELECT number, decided FROM relations
WHERE owner = :owner AND source = :source AND type = :type AND target = :target
AND valid_from IS NOT DISTINCT FROM :valid_from::bigint
AND valid_to IS NOT DISTINCT FROM :valid_to::bigint AND founded = :founded
-- what was said before it was retracted on purpose is retracted with it
AND (NOT decided OR (founded AND retracted_at > :since))
ORDER BY decided DESC, retracted_at, number LIMIT 1;

-- insert_relation: keep a relation
INSERT INTO relations (
    owner, number, source, type, target, weight, valid_from, valid_to, recorded_at, retracted_at,
    founded, origin
) VALUES (
    :owner, :number, :source, :type, :target, :weight, :valid_from, :valid_to, :since, :until,
    :founded, :origin
) RETURNING number;

-- extend_relation: a relation is believed for another span as well
UPDATE relations SET weight = greatest(weight, :weight::double precision),
recorded_at = least(recorded_at, :since), retracted_at = greatest(retracted_at, :until)
WHERE owner = :owner AND number = :number;

-- keep_evidence: a version says so
INSERT INTO evidence AS e (owner, relation, row, since, given)
VALUES (:owner, :number, :row, :since, :given)
ON CONFLICT (owner, relation, row) DO UPDATE SET since = least(e.since, excluded.since),
until = 9223372036854775807, given = e.given OR excluded.given;

-- copy_evidence: a version says what another one does, from when it was written
INSERT INTO evidence (owner, relation, row, since, given)
SELECT e.owner, e.relation, :row, m.updated_at, e.given
FROM evidence AS e
JOIN relations AS r ON r.owner = e.owner AND r.number = e.relation
JOIN memories AS m ON m.owner = e.owner AND m.row = :row
WHERE e.owner = :owner AND e.row = :before AND e.until = 9223372036854775807 AND NOT r.decided;

-- extend_relations_of: believe the relations that a version states as long as it is present
UPDATE relations AS r SET
    recorded_at = least(r.recorded_at, m.updated_at),
    retracted_at = greatest(r.retracted_at, m.replaced_at)
FROM memories AS m
WHERE m.owner = :owner AND m.row = :row AND r.owner = :owner AND NOT r.decided AND r.number IN (
    SELECT relation FROM evidence WHERE owner = :owner AND row = :row
);

-- end_evidence: an extractor no longer reads in a version what it or another one did
UPDATE evidence SET until = :at
WHERE owner = :owner AND row = :row AND NOT given AND until = 9223372036854775807
AND relation <> ALL(:stated::bigint []) RETURNING relation;

-- relations_of_rows: the relations that these versions are evidence for
SELECT DISTINCT relation FROM evidence WHERE owner = :owner AND row = ANY(:rows::bigint []);

-- forget_evidence: remove what these versions are evidence for
DELETE FROM evidence WHERE owner = :owner AND row = ANY(:rows::bigint []);

-- settle_relations: let these relations be believed as long as their evidence says so
UPDATE relations AS r SET recorded_at = said.since, retracted_at = said.until
FROM (
    SELECT e.relation, min(e.since) AS since, max(least(e.until, m.replaced_at)) AS until
    FROM evidence AS e JOIN memories AS m ON m.owner = e.owner AND m.row = e.row
    WHERE e.owner = :owner AND e.relation = ANY(:relations::bigint []) GROUP BY e.relation
) AS said
WHERE r.owner = :owner AND r.number = said.relation AND r.founded AND NOT r.decided;

-- ends_of_unfounded: where the relations without any evidence left begin and end
SELECT r.number, r.source, r.target FROM relations AS r
WHERE r.owner = :owner AND r.number = ANY(:relations::bigint []) AND r.founded AND NOT EXISTS (
    SELECT 1 FROM evidence AS e WHERE e.owner = :owner AND e.relation = r.number
);

-- remove_relations: remove these relations
DELETE FROM relations WHERE owner = :owner AND number = ANY(:relations::bigint []);

-- retract_relation: stop believing a relation, on purpose
UPDATE relations SET retracted_at = :at, decided = TRUE
WHERE number = :number AND owner = :owner AND retracted_at = 9223372036854775807;

-- relation: what a relation says
SELECT source, type, target, weight, valid_from, origin, founded FROM relations
WHERE owner = :owner AND number = :number;

-- present_evidence: the present versions that state a relation
SELECT e.row FROM evidence AS e JOIN memories AS m ON m.owner = e.owner AND m.row = e.row
WHERE e.owner = :owner AND e.relation = :number AND e.until = 9223372036854775807
AND m.replaced_at = 9223372036854775807 ORDER BY e.row;

-- merged_already: the merge of an alias that holds
SELECT number FROM merges
WHERE owner = :owner AND alias = :alias AND undone_at = 9223372036854775807;

-- insert_merge: take two concepts for one
INSERT INTO merges (owner, number, alias, concept, reason, score, merged_at)
VALUES (:owner, :number, :alias, :concept, :reason, :score, :merged_at);

-- undo_merge: take them for two again
UPDATE merges SET undone_at = :at
WHERE owner = :owner AND alias = :alias AND undone_at = 9223372036854775807;

-- stands_for: which concept a concept stands for
SELECT coalesce(stands_for, number) FROM concepts WHERE owner = :owner AND number = :concept;

-- standing_for: the concepts that stand for one of these
SELECT number FROM concepts WHERE owner = :owner AND stands_for = ANY(:concepts::bigint []);

-- point_anew: let these concepts stand for what the merges that hold lead to
WITH RECURSIVE above (alias, number, steps) AS (
    SELECT c.number, c.number, 0 FROM unnest(:concepts::bigint []) AS c (number)
    UNION ALL
    SELECT above.alias, x.concept, above.steps + 1 FROM above
    JOIN merges AS x ON x.owner = :owner AND x.alias = above.number
    AND x.undone_at = 9223372036854775807
), top AS (SELECT DISTINCT ON (alias) alias, number FROM above ORDER BY alias, steps DESC)
UPDATE concepts AS c SET stands_for = nullif(top.number, c.number)
FROM top WHERE c.owner = :owner AND c.number = top.alias;

-- remove_merges: remove every merge of these concepts, undone ones too
DELETE FROM merges WHERE owner = :owner
AND (alias = ANY(:concepts::bigint []) OR concept = ANY(:concepts::bigint []));

-- list_merges: the merges of a scope
SELECT a.name, c.name, x.reason, x.score, x.merged_at, x.undone_at FROM merges AS x
JOIN concepts AS a ON a.owner = x.owner AND a.number = x.alias
JOIN concepts AS c ON c.owner = x.owner AND c.number = x.concept
WHERE x.owner = :owner AND (:undone OR x.undone_at = 9223372036854775807)
ORDER BY x.merged_at, x.number;

-- fragment concept
c.number, c.name, c.memories, c.subjects, (
    SELECT json_agg(json_build_array(member.number, member.name, member.memories, member.subjects))
    FROM concepts AS member WHERE member.owner = :owner AND member.stands_for = c.number
)

-- fragment standing
CROSS JOIN LATERAL (
    SELECT c.* FROM concepts AS c
    WHERE c.owner = :owner AND c.number = coalesce(found.stands_for, found.number) OFFSET 0
) AS c

-- fragment found_by_name
CROSS JOIN LATERAL (
    SELECT found.owner, found.number, found.stands_for FROM concepts AS found
    WHERE found.owner = :owner AND found.name = asked.name OFFSET 0
) AS found

-- concepts_named: what these names stand for
SELECT asked.name, /*concept*/, c.label, c.kind
FROM unnest(:names::text []) WITH ORDINALITY AS asked (name, place)
/*found_by_name*/
/*standing*/
ORDER BY asked.place;

-- known_names: those of these names of which some memory is the subject
SELECT found.name FROM concepts AS found
WHERE found.owner = :owner AND found.name = ANY(:names::text []) AND (
    found.subjects > 0
    OR EXISTS (
        SELECT 1 FROM concepts AS c
        WHERE c.owner = :owner AND c.number = found.stands_for AND c.subjects > 0
    )
    OR EXISTS (
        SELECT 1 FROM concepts AS member WHERE member.owner = :owner
        AND member.stands_for = coalesce(found.stands_for, found.number) AND member.subjects > 0
    )
);

-- hubs: the concepts that most memories mention
SELECT c.name, /*concept*/, c.label, c.kind FROM (
    SELECT top.number, sum(member.memories) AS total FROM concepts AS member
    JOIN concepts AS top
    ON top.owner = member.owner AND top.number = coalesce(member.stands_for, member.number)
    WHERE member.owner = :owner
    GROUP BY top.number HAVING sum(member.memories) > 0 AND (
        :containing::text IS NULL OR bool_or(strpos(member.name, :containing::text) > 0)
    )
) AS hub JOIN concepts AS c ON c.owner = :owner AND c.number = hub.number
ORDER BY hub.total DESC, c.name LIMIT :limit;

-- mentions_in: what these memories mention, as far as the filter admits them
SELECT m.row, m.id, n.roles, /*concept*/
FROM unnest(:ids::text []) WITH ORDINALITY AS wanted (id, place)
CROSS JOIN LATERAL (
    SELECT m.owner, m.row, m.id FROM memories AS m
    WHERE m.id = wanted.id AND /*admitted*/ AND m.deleted_at IS NULL OFFSET 0
) AS m
CROSS JOIN LATERAL (
    SELECT n.roles, n.concept FROM mentions AS n
    WHERE n.owner = :owner AND n.row = m.row OFFSET 0
) AS n
CROSS JOIN LATERAL (
    SELECT found.owner, found.number, found.stands_for FROM concepts AS found
    WHERE found.owner = :owner AND found.number = n.concept OFFSET 0
) AS found
/*standing*/
ORDER BY wanted.place;

-- fragment mentioned_memory
LATERAL (
    SELECT m.id FROM memories AS m
    WHERE m.row = n.row AND /*admitted*/ AND m.deleted_at IS NULL OFFSET 0
) AS m

-- fragment in_role
(:role::bigint IS NULL OR n.roles & :role::bigint > 0)

-- fragment mentioning
CROSS JOIN /*mentioned_memory*/
WHERE n.owner = :owner AND /*in_role*/

-- mentioning_named: what these names stand for, and who mentions those that few memories mention
SELECT c.*, n.row, m.id, n.roles, n.concept FROM (
    SELECT /*concept*/ FROM unnest(:names::text []) AS asked (name)
    /*found_by_name*/
    /*standing*/
    OFFSET 0
) AS c
LEFT JOIN LATERAL (
    SELECT n.row, n.roles, n.concept FROM mentions AS n
    WHERE n.owner = :owner AND n.concept = c.number AND c.memories <= :limit AND /*in_role*/ OFFSET 0
) AS n ON TRUE
LEFT JOIN /*mentioned_memory*/ ON TRUE;

-- mentioning_these: the versions that mention these concepts
SELECT n.row, m.id, n.roles, n.concept FROM unnest(:concepts::bigint []) AS wanted (concept)
CROSS JOIN LATERAL (
    SELECT n.owner, n.row, n.roles, n.concept FROM mentions AS n
    WHERE n.owner = :owner AND n.concept = wanted.concept OFFSET 0
) AS n
/*mentioning*/;

-- about_newest: the newest versions that are about a concept
SELECT n.row, m.id, n.roles, n.concept FROM mentions AS n
/*mentioning*/ AND n.concept = :concept AND n.roles & 1 = 1
ORDER BY n.row DESC LIMIT :limit;

-- mentions_after: what the next admitted versions mention, in the order of writing
SELECT m.row, m.id, n.roles, /*concept*/ FROM (
    SELECT m.owner, m.row, m.id FROM memories AS m
    WHERE m.row > :after AND /*admitted*/ AND m.deleted_at IS NULL
    AND EXISTS (SELECT 1 FROM mentions AS n WHERE n.owner = m.owner AND n.row = m.row)
    ORDER BY m.row LIMIT :limit
) AS m
JOIN mentions AS n ON n.owner = :owner AND n.row = m.row
JOIN concepts AS found ON found.owner = :owner AND found.number = n.concept
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
        SELECT 1 FROM evidence AS e JOIN memories AS m ON m.owner = e.owner AND m.row = e.row
        WHERE e.owner = :owner AND e.relation = r.number AND /*said*/
    )
)

-- fragment relation
r.number, source.name, r.type, target.name, r.weight, r.valid_from, r.valid_to,
r.recorded_at, r.retracted_at, r.origin

-- fragment ends
JOIN concepts AS s ON s.owner = r.owner AND s.number = r.source
JOIN concepts AS source
ON source.owner = r.owner AND source.number = coalesce(s.stands_for, s.number)
JOIN concepts AS t ON t.owner = r.owner AND t.number = r.target
JOIN concepts AS target
ON target.owner = r.owner AND target.number = coalesce(t.stands_for, t.number)

-- relations_at: the relations that begin or end at these concepts, the heaviest first
SELECT /*relation*/ FROM relations AS r
/*ends*/
WHERE (r.source = ANY(:concepts::bigint []) OR r.target = ANY(:concepts::bigint []))
AND /*believed*/
ORDER BY r.weight DESC, r.recorded_at DESC, r.number LIMIT :limit;

-- evidence_of: the admitted memories that say so
SELECT e.relation, m.id FROM evidence AS e
JOIN memories AS m ON m.owner = e.owner AND m.row = e.row
WHERE e.owner = :owner AND e.relation = ANY(:relations::bigint []) AND /*said*/ ORDER BY m.row;

-- graph_counts: what the graph of a scope holds
WITH queued AS MATERIALIZED (SELECT row FROM work WHERE owner = :owner AND kind = 'extract')
SELECT held.concepts, held.mentions, believed.relations, holding.merges, waiting.versions
FROM (
    SELECT count(*) FILTER (WHERE stands_for IS NULL) AS concepts,
    coalesce(sum(memories), 0)::bigint AS mentions
    FROM concepts WHERE owner = :owner
) AS held
CROSS JOIN (
    SELECT count(*) AS relations FROM relations
    WHERE owner = :owner AND retracted_at = 9223372036854775807
) AS believed
CROSS JOIN (
    SELECT count(*) AS merges FROM merges
    WHERE owner = :owner AND undone_at = 9223372036854775807
) AS holding
CROSS JOIN (
    SELECT count(*) AS versions FROM queued AS w JOIN memories AS m ON m.row = w.row
    WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807
) AS waiting;

-- read_so_far: whether a scope has a concept, and what the next jobs are to read of it
WITH queued AS MATERIALIZED (
    SELECT row FROM work WHERE owner = :owner AND kind = 'extract' AND state <> 'dead' LIMIT :jobs
)
SELECT held.concepts > 0, waiting.versions
FROM (
    SELECT count(*) AS concepts FROM (SELECT 1 FROM concepts WHERE owner = :owner LIMIT 1) AS one
) AS held
CROSS JOIN (
    SELECT count(*) AS versions FROM queued AS w JOIN memories AS m ON m.row = w.row
    WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807
) AS waiting;

-- has_concepts: a row if a scope has a concept
SELECT 1 FROM concepts WHERE owner = :owner LIMIT 1;

-- count_unread: present versions that no extractor has read and that no job is there for
WITH queued AS MATERIALIZED (SELECT owner, row, target FROM work WHERE kind = 'extract')
SELECT count(*) FROM extractors AS x CROSS JOIN memories AS m
WHERE x.in_use AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL AND NOT m.sensitive
AND NOT EXISTS (
    SELECT 1 FROM readings AS r
    WHERE r.owner = m.owner AND r.row = m.row AND r.extractor = x.number
)
AND NOT EXISTS (
    SELECT 1 FROM queued AS w WHERE w.owner = m.owner AND w.row = m.row AND w.target = x.key
);

-- count_graph_faults: parts of the graph that hang in the air, and concepts counted wrongly
SELECT wrong_mentions.count + wrong_evidence.count + wrong_relations.count + wrong_concepts.count + wrong_merged.count
FROM (
    SELECT count(*) AS count FROM mentions AS n
    LEFT JOIN memories AS m ON m.owner = n.owner AND m.row = n.row
    LEFT JOIN concepts AS c ON c.owner = n.owner AND c.number = n.concept
    WHERE m.row IS NULL OR m.sensitive OR m.deleted_at IS NOT NULL OR c.number IS NULL
) AS wrong_mentions
CROSS JOIN (
    SELECT count(*) AS count FROM evidence AS e
    LEFT JOIN memories AS m ON m.owner = e.owner AND m.row = e.row
    LEFT JOIN relations AS r ON r.owner = e.owner AND r.number = e.relation
    WHERE m.row IS NULL OR m.sensitive OR m.deleted_at IS NOT NULL OR r.number IS NULL
) AS wrong_evidence
CROSS JOIN (
    SELECT count(*) AS count FROM relations AS r
    LEFT JOIN concepts AS s ON s.owner = r.owner AND s.number = r.source
    LEFT JOIN concepts AS t ON t.owner = r.owner AND t.number = r.target
    WHERE s.number IS NULL OR t.number IS NULL OR r.founded <> EXISTS (
        SELECT 1 FROM evidence AS e WHERE e.owner = r.owner AND e.relation = r.number
    )
) AS wrong_relations
CROSS JOIN (
    SELECT count(*) AS count FROM concepts AS c LEFT JOIN (
        SELECT n.owner, n.concept, count(*) AS versions,
        count(*) FILTER (WHERE m.replaced_at = 9223372036854775807) AS memories,
        count(*) FILTER (WHERE m.replaced_at = 9223372036854775807 AND n.roles & 1 = 1) AS subjects
        FROM mentions AS n JOIN memories AS m ON m.owner = n.owner AND m.row = n.row
        GROUP BY n.owner, n.concept
    ) AS counted ON counted.owner = c.owner AND counted.concept = c.number
    WHERE c.memories <> coalesce(counted.memories, 0)
    OR c.subjects <> coalesce(counted.subjects, 0)
    OR (counted.versions IS NULL AND NOT EXISTS (
        SELECT 1 FROM relations AS r
        WHERE r.owner = c.owner AND (r.source = c.number OR r.target = c.number)
    ))
) AS wrong_concepts
CROSS JOIN (
    SELECT count(*) AS count FROM concepts AS c
    WHERE (c.stands_for IS NULL) = EXISTS (
        SELECT 1 FROM merges AS x WHERE x.owner = c.owner
        AND x.alias = c.number AND x.undone_at = 9223372036854775807
    )
) AS wrong_merged;
