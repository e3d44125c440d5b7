-- The statements of the Postgres store that are not about the graph, words or vectors; those that
-- SQLite says alike are in ../common, read behind the file of the same name. `-- name: what
-- it does` begins a statement; `-- fragment NAME` begins a piece of text that other statements take
-- in as /*NAME*/, and `-- fragment NAME@shared` what it is instead where somebody else than the owner
-- reads. Parameters are `:name`; one that may be NULL says its type.
--
-- What a recall looks up by a list it looks up one by one (LATERAL with OFFSET 0). A plan that is made
-- once for all owners takes every owner for an average one, and would rather read all that one has.

-- fragment columns
m.id, m.owner, m.content, m.category, m.tags, m.keywords, m.importance, m.sensitive,
m.created_at, m.updated_at, m.deleted_at, m.valid_from, m.valid_to,
m.agent, m.session, m.project, m.source, m.trust, m.version

-- fragment version_columns
id, version, content, content_hash, category, tags, keywords, importance, sensitive,
created_at, updated_at, replaced_at, deleted_at, valid_from, valid_to,
agent, session, project, source, trust

-- fragment version_values
:id, :version, :content, :content_hash, :category, :tags, :keywords, :importance, :sensitive,
:created_at, :updated_at, :replaced_at, :deleted_at, :valid_from, :valid_to,
:agent, :session, :project, :source, :trust

-- fragment present
m.updated_at <= :moment AND m.replaced_at > :moment

-- fragment may_replace
-- What is trusted less replaces nothing, unless a person decided so; see `bearinmind.outdates.verdicts`.
(newer.trust = m.trust OR newer.trust = 'user' OR m.trust = 'external'
    OR l.judgement::json ->> 'by' = 'person')

-- fragment superseded
EXISTS (
    SELECT 1 FROM links AS l
    JOIN memories AS newer ON newer.owner = l.owner AND newer.id = l.source
    WHERE l.owner = :owner AND l.target = m.id AND l.kind = 'supersedes'
    AND l.created_at <= :moment AND l.removed_at > :moment
    AND newer.updated_at <= :moment AND newer.replaced_at > :moment AND newer.deleted_at IS NULL
    AND /*may_replace*/
)

-- fragment shared_ids
-- What is shared is on one machine, and asked for by itself: Citus hands the answer over.
ARRAY(
    SELECT s.memory FROM shares AS s
    WHERE s.owner = :owner AND s.reader = :reader AND s.memory IS NOT NULL
    AND s.ended_at = 9223372036854775807
)

-- fragment shared_tags
ARRAY(
    SELECT s.tag FROM shares AS s
    WHERE s.owner = :owner AND s.reader = :reader AND s.tag IS NOT NULL
    AND s.ended_at = 9223372036854775807
)

-- fragment shared
-- The memory itself, or one of its tags; of the past nothing is shared.
(m.id = ANY(/*shared_ids*/) OR m.tags && /*shared_tags*/)
AND m.replaced_at = 9223372036854775807 AND :moment = 9223372036854775806
AND NOT m.sensitive AND NOT /*superseded*/

-- fragment held
m.owner = :owner AND /*present*/

-- fragment held@shared
m.owner = :owner AND m.deleted_at IS NULL AND /*shared*/

-- fragment all_held
memories AS m

-- fragment all_held@shared
-- What is shared is looked up, and all the rest passed over only where a tag is shared.
(
    SELECT m.row FROM unnest(/*shared_ids*/) AS s (memory) CROSS JOIN LATERAL (
        SELECT m.row FROM memories AS m
        WHERE m.owner = :owner AND m.id = s.memory AND m.replaced_at = 9223372036854775807 OFFSET 0
    ) AS m
    UNION
    SELECT m.row FROM memories AS m
    WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807
    AND cardinality(/*shared_tags*/) > 0 AND m.tags && /*shared_tags*/
) AS candidate CROSS JOIN LATERAL (
    SELECT m.* FROM memories AS m WHERE m.owner = :owner AND m.row = candidate.row OFFSET 0
) AS m

-- fragment admitted
/*held*/
AND (:categories::text [] IS NULL OR m.category = ANY(:categories::text []))
AND (:tags::text [] IS NULL OR m.tags @> :tags::text [])
AND (:created_from::bigint IS NULL OR m.created_at >= :created_from::bigint)
AND (:created_to::bigint IS NULL OR m.created_at < :created_to::bigint)
AND (:session::text IS NULL OR m.session = :session::text)
AND (:project::text IS NULL OR m.project = :project::text)
AND (:agent::text IS NULL OR m.agent = :agent::text)

-- fragment state
CASE
    WHEN m.deleted_at IS NOT NULL THEN 'deleted'
    WHEN /*superseded*/ THEN 'superseded'
    WHEN m.valid_from > :now OR m.valid_to <= :now THEN 'expired'
    ELSE 'live'
END

-- set_for_transaction: let a setting hold until the transaction ends
SELECT set_config(:name, :value, TRUE);

-- set_all_for_transaction: the same for several settings
SELECT set_config(s.name, s.value, TRUE)
FROM unnest(:names::text [], :values::text []) AS s (name, value);

-- limit_transaction: how long it waits for others, and does nothing before it is taken for lost
SELECT
    set_config('lock_timeout', :waiting, TRUE),
    set_config('idle_in_transaction_session_timeout', :absent, TRUE);

-- keep_others_out: wait until nobody writes for any owner, and let nobody begin
SELECT pg_advisory_xact_lock(1111834962);

-- keep_loners_out: wait until nobody needs to be alone, and let nobody begin to be
SELECT pg_advisory_xact_lock_shared(1111834962);

-- take_turn: wait for the turn to write for an owner, and take so many unused numbers; the last one
INSERT INTO tenants AS t (owner, numbers) VALUES (:owner, :count)
ON CONFLICT (owner) DO UPDATE SET numbers = t.numbers + excluded.numbers RETURNING numbers;

-- insert_memory: add a version, as the present one or one that was replaced
INSERT INTO memories (owner, row, /*version_columns*/)
VALUES (:owner, :row, /*version_values*/) RETURNING row;

-- insert_indexed: make a version findable by its terms
INSERT INTO indexed (owner, row, mark, content, keywords, tags, category, function, length)
VALUES (:owner, :row, :mark, :content, :keywords, :tags, :category, :function, :length);

-- count_indexed: so many versions with so many terms came into the index
UPDATE tenants SET versions = versions + :versions, terms = terms + :terms WHERE owner = :owner;

-- close_version: end the present version of a memory, if it is the expected one; its row
WITH closed AS (
    UPDATE memories SET replaced_at = :replaced_at
    WHERE owner = :owner AND id = :id AND version = :version AND replaced_at = 9223372036854775807
    RETURNING row
), uncounted AS (
    UPDATE concepts AS c SET memories = c.memories - 1, subjects = c.subjects - (n.roles & 1)
    FROM mentions AS n JOIN closed ON n.row = closed.row
    WHERE n.owner = :owner AND c.owner = :owner AND c.number = n.concept
), unsaid AS (
    -- What only this version said, or versions before it, is not believed any more.
    UPDATE relations AS r SET retracted_at = said.until
    FROM (
        SELECT e.relation, max(
            CASE WHEN e.row = closed.row THEN least(e.until, :replaced_at)
            ELSE least(e.until, m.replaced_at) END
        ) AS until
        FROM closed
        JOIN evidence AS own ON own.owner = :owner AND own.row = closed.row
        JOIN evidence AS e ON e.owner = :owner AND e.relation = own.relation
        JOIN memories AS m ON m.owner = :owner AND m.row = e.row
        GROUP BY e.relation
    ) AS said
    WHERE r.owner = :owner AND r.number = said.relation AND NOT r.decided
    AND said.until < 9223372036854775807
)
SELECT row FROM closed;

-- delay_jobs: a version is a past one; by itself, since the queue may be on another machine
UPDATE work SET turn = 2 WHERE owner = :owner AND row = :row;

-- kept_version: a row if a version is there just as it was added
SELECT 1 FROM memories
WHERE owner = :owner AND row = :row AND id = :id AND version = :version
AND content_hash = :content_hash AND updated_at = :updated_at;

-- stored_ids: those of these ids under which something is stored
SELECT DISTINCT m.id FROM memories AS m WHERE m.owner = :owner AND m.id = ANY(:ids::text []);

-- fragment marked
-- A person says that a memory is outdated, or it is as likely as `MARK` of `bearinmind.outdates.verdicts`.
l.kind = 'outdates' AND (l.judgement IS NULL OR (
    (l.judgement::json ->> 'probability')::float8 >= 0.92
    AND (newer.trust = m.trust OR newer.trust = 'user' OR m.trust = 'external'
        OR l.judgement::json ->> 'by' = 'person')
))
AND NOT EXISTS ( -- nobody says the opposite
    SELECT 1 FROM links AS opposite WHERE opposite.owner = :owner AND opposite.kind = 'outdates'
    AND opposite.source = l.target AND opposite.target = l.source
    AND opposite.removed_at = 9223372036854775807
)

-- fragment known_now
-- What was outdated before the given one was made has ceased to hold: it is not known, but new again.
NOT EXISTS (
    SELECT 1 FROM links AS l
    JOIN memories AS newer ON newer.owner = l.owner AND newer.id = l.source
    WHERE l.owner = :owner AND l.target = m.id AND l.removed_at = 9223372036854775807
    AND newer.replaced_at = 9223372036854775807 AND newer.deleted_at IS NULL
    AND ((l.kind = 'supersedes' AND /*may_replace*/)
        OR (newer.created_at < asked.created_at AND NOT newer.sensitive AND /*marked*/))
)

-- known: the live memory with this content, other than a given one
SELECT /*columns*/ FROM (
    -- With OFFSET: or the planner reads memories in the order of time until one has the hash.
    SELECT * FROM memories AS m
    WHERE m.owner = :owner AND m.content_hash = :content_hash
    AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL OFFSET 0
) AS m CROSS JOIN (SELECT :created_at::bigint AS created_at) AS asked
WHERE m.id <> :id AND /*known_now*/
ORDER BY m.created_at, m.id LIMIT 1;

-- known_many: the same for many contents, each behind its place among them
SELECT asked.place, m.*
FROM unnest(:each_id::text [], :each_content_hash::bytea [], :each_created_at::bigint [])
    WITH ORDINALITY AS asked (id, content_hash, created_at, place)
CROSS JOIN LATERAL (
    SELECT /*columns*/ FROM (
        SELECT * FROM memories AS m
        WHERE m.owner = :owner AND m.content_hash = asked.content_hash
        AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL OFFSET 0
    ) AS m
    WHERE m.id <> asked.id AND /*known_now*/
    ORDER BY m.created_at, m.id LIMIT 1
) AS m;

-- get_many: the versions of these memories that were present at a moment
SELECT m.* FROM unnest(:ids::text []) AS wanted (id) CROSS JOIN LATERAL (
    SELECT /*columns*/ FROM memories AS m
    WHERE m.owner = :owner AND m.id = wanted.id AND /*present*/ OFFSET 0
) AS m;

-- list_newest: memories that a filter admits, newest first
SELECT /*columns*/ FROM /*all_held*/
WHERE /*admitted*/
AND (m.created_at, m.id) < (:after_time, :after_id)
AND /*state*/ = ANY(:states::text [])
ORDER BY m.created_at DESC, m.id DESC LIMIT :limit;

-- list_oldest: memories that a filter admits, oldest first
SELECT /*columns*/ FROM /*all_held*/
WHERE /*admitted*/
AND (m.created_at, m.id) > (:after_time, :after_id)
AND /*state*/ = ANY(:states::text [])
ORDER BY m.created_at, m.id LIMIT :limit;

-- list_important: memories that a filter admits, the most important first
SELECT /*columns*/ FROM /*all_held*/
WHERE /*admitted*/
AND /*state*/ = ANY(:states::text [])
ORDER BY m.importance DESC, m.created_at DESC, m.id DESC LIMIT :limit;

-- count_admitted: how many memories a filter admits
SELECT count(*) FROM /*all_held*/ WHERE /*admitted*/ AND /*state*/ = ANY(:states::text []);

-- delete_memories: remove every version of these memories
DELETE FROM memories WHERE owner = :owner AND id = ANY(:ids::text []);

-- fragment forget_indexed
DELETE FROM indexed AS i USING memories AS m WHERE i.owner = m.owner AND i.row = m.row

-- fragment uncount
UPDATE tenants AS t SET
    versions = t.versions - gone.versions, terms = t.terms - gone.terms
FROM (
    SELECT owner, count(*) AS versions, sum(length) AS terms FROM forgotten GROUP BY owner
) AS gone
WHERE t.owner = :owner AND t.owner = gone.owner

-- delete_indexed: remove these memories from the index
WITH forgotten AS (
    /*forget_indexed*/ AND m.owner = :owner AND m.id = ANY(:ids::text []) RETURNING i.owner, i.length
)
/*uncount*/;

-- forget_indexed_row: remove one version from the index
WITH forgotten AS (
    /*forget_indexed*/ AND m.owner = :owner AND m.row = :row RETURNING i.owner, i.length
)
/*uncount*/;

-- delete_links: remove every link that begins or ends at these memories
DELETE FROM links WHERE owner = :owner
AND (source = ANY(:ids::text []) OR target = ANY(:ids::text []));

-- count_states: how many memories are in each state, since when, and how many are still to come
SELECT /*state*/ AS state, count(*), min(m.created_at), max(m.created_at),
    count(*) FILTER (WHERE m.valid_from > :now) FROM memories AS m
WHERE m.owner = :owner AND /*present*/ GROUP BY 1;

-- count_tags: how many live memories the most used tags have
SELECT tag.value, count(*) FROM memories AS m, unnest(m.tags) AS tag (value)
WHERE m.owner = :owner AND /*present*/ AND /*state*/ = 'live'
GROUP BY tag.value ORDER BY count(*) DESC, tag.value LIMIT :limit;

-- sensitive_among: those of these memories that have a sensitive version
SELECT DISTINCT id FROM memories WHERE owner = :owner AND id = ANY(:ids::text []) AND sensitive;

-- conceal_judgements: remove the texts of what was judged about a memory
UPDATE links SET judgement = (judgement::jsonb - 'thing' - 'aspect' - 'evidence')::text
WHERE owner = :owner AND (source = :id OR target = :id) AND judgement IS NOT NULL;

-- links_of: the links that began or ended at these memories at a moment
SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement FROM links AS l
WHERE l.owner = :owner AND (l.source = ANY(:ids::text []) OR l.target = ANY(:ids::text []))
AND l.created_at <= :moment AND l.removed_at > :moment
ORDER BY l.created_at, l.source, l.kind, l.target;

-- fragment newer_above
newer.updated_at <= :moment AND newer.replaced_at > :moment AND newer.deleted_at IS NULL
AND /*present*/ AND (l.kind <> 'supersedes' OR /*may_replace*/)

-- newer: the links of these kinds above these memories, as far as their chains go
WITH RECURSIVE above (source, target, kind, created_at, removed_at, judgement) AS (
    SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement FROM links AS l
    JOIN memories AS newer ON newer.owner = l.owner AND newer.id = l.source
    JOIN memories AS m ON m.owner = l.owner AND m.id = l.target
    WHERE l.owner = :owner AND l.target = ANY(:ids::text []) AND l.kind = ANY(:kinds::text [])
    AND l.created_at <= :moment AND l.removed_at > :moment AND /*newer_above*/
    UNION
    SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement FROM above
    JOIN links AS l ON l.owner = :owner AND l.target = above.source AND l.kind = ANY(:kinds::text [])
    JOIN memories AS newer ON newer.owner = l.owner AND newer.id = l.source
    JOIN memories AS m ON m.owner = l.owner AND m.id = l.target
    WHERE l.created_at <= :moment AND l.removed_at > :moment AND /*newer_above*/
)
SELECT source, target, kind, created_at, removed_at, judgement FROM above
ORDER BY created_at, source, target;

-- supersedes_already: whether one memory supersedes another, directly or by way of others
WITH RECURSIVE below (id) AS (
    SELECT :source::text COLLATE "C"
    UNION
    SELECT l.target FROM below
    JOIN links AS l ON l.owner = :owner AND l.source = below.id AND l.kind = 'supersedes'
    AND l.removed_at = 9223372036854775807
)
SELECT 1 FROM below WHERE id = :target LIMIT 1;

-- analysis: which analysis made the index
SELECT analysis FROM store_facts;

-- unindexed: present or past versions of any owner that the index must hold, behind one of them
SELECT m.owner, m.row FROM memories AS m
WHERE (m.owner, m.row) > (:owner, :row) AND m.deleted_at IS NULL
ORDER BY m.owner, m.row LIMIT :limit;

-- unindexed_of: of these versions of an owner those that the index must hold, as they are now
SELECT m.row, /*columns*/ FROM memories AS m
WHERE m.owner = :owner AND m.row = ANY(:rows::bigint []) AND m.deleted_at IS NULL;

-- forget_entry: remove what the index has of a version, to be made anew
WITH forgotten AS (
    DELETE FROM indexed WHERE owner = :owner AND row = :row RETURNING owner, length
)
/*uncount*/;

-- mark_index: the index is made by this analysis
UPDATE store_facts SET analysis = :analysis;

-- count_unindexed: versions that should be in the index and are not
SELECT count(*) FROM memories AS m WHERE m.deleted_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM indexed AS i WHERE i.owner = m.owner AND i.row = m.row
);

-- count_presents: memories that do not have exactly one present version
SELECT count(*) FROM (
    SELECT 1 FROM memories GROUP BY owner, id
    HAVING count(*) FILTER (WHERE replaced_at = 9223372036854775807) <> 1
) AS wrong;

-- unembedded: what the next jobs are to embed of a scope
WITH queued AS MATERIALIZED (
    SELECT row FROM work WHERE owner = :owner AND kind = 'embed' AND target = :target AND state <> 'dead'
    LIMIT :jobs
)
SELECT count(*) FROM queued AS w JOIN memories AS m ON m.row = w.row
WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807;

-- spaces: every space, the active one first; nothing here is on another machine
WITH queued AS MATERIALIZED (
    SELECT target, count(*) FILTER (WHERE state <> 'dead') AS waiting,
    count(*) FILTER (WHERE state = 'dead') AS dead
    FROM work WHERE kind = 'embed' GROUP BY target
)
SELECT s.key, s.description, s.state, coalesce(queued.waiting, 0), coalesce(queued.dead, 0)
FROM spaces AS s LEFT JOIN queued ON queued.target = s.key
ORDER BY s.state, s.number;

-- vectors_by_space: how many vectors each space has
SELECT s.key, sum(e.vectors)::bigint FROM embedded AS e JOIN spaces AS s ON s.number = e.space
GROUP BY s.key;

-- spaces_in_use: the spaces that memories are embedded into
SELECT number, key, description::jsonb ->> 'text', (state <> 'active')::int
FROM spaces WHERE state <> 'retired';

-- space_number: under which number the store has a space
SELECT number FROM spaces WHERE key = :key;

-- queued_rows: the versions that the next jobs of a kind are about
SELECT row FROM work
WHERE owner = :owner AND kind = :kind AND (:target = '' OR target = :target) AND state <> 'dead'
LIMIT :jobs;

-- count_present: how many of these versions are the present ones
SELECT count(*) FROM memories
WHERE owner = :owner AND row = ANY(:rows::bigint []) AND replaced_at = 9223372036854775807;

-- queue_all: a job for every version that belongs into a space and has no vector there
INSERT INTO work (owner, kind, target, row, turn)
SELECT m.owner, 'embed', :key, m.row,
CASE WHEN m.replaced_at < 9223372036854775807 THEN 2 ELSE :turn END
FROM memories AS m WHERE m.deleted_at IS NULL AND NOT m.sensitive AND NOT EXISTS (
    SELECT 1 FROM vectors AS v WHERE v.owner = m.owner AND v.space = :space AND v.row = m.row
)
ORDER BY m.updated_at, m.row ON CONFLICT DO NOTHING;

-- queue_comparisons: a job for every present version that a space lacks: it was not compared yet
INSERT INTO work (owner, kind, target, row, turn)
SELECT m.owner, 'compare', '', m.row, 0 FROM memories AS m
WHERE m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL AND NOT m.sensitive
AND NOT EXISTS (
    SELECT 1 FROM vectors AS v WHERE v.owner = m.owner AND v.space = :space AND v.row = m.row
)
ORDER BY m.updated_at, m.row ON CONFLICT DO NOTHING;

-- insert_job: a job for one version
INSERT INTO work (owner, kind, target, row, turn) VALUES (:owner, :kind, :target, :row, :turn);

-- drop_counts: nobody has vectors in a space any more
DELETE FROM embedded WHERE space = :space;

-- fragment uncount_vectors
UPDATE embedded AS e SET vectors = e.vectors - gone.vectors
FROM (SELECT owner, space, count(*) AS vectors FROM forgotten GROUP BY owner, space) AS gone
WHERE e.owner = :owner AND e.owner = gone.owner AND e.space = gone.space

-- forget_vectors: remove the vectors of these memories
WITH forgotten AS (
    DELETE FROM vectors AS v USING memories AS m
    WHERE v.owner = m.owner AND v.row = m.row AND m.owner = :owner AND m.id = ANY(:ids::text [])
    RETURNING v.owner, v.space
)
/*uncount_vectors*/;

-- forget_vectors_of_row: remove the vectors of one version
WITH forgotten AS (
    DELETE FROM vectors WHERE owner = :owner AND row = :row RETURNING owner, space
)
/*uncount_vectors*/;

-- forget_jobs: remove the jobs of these versions
DELETE FROM work WHERE owner = :owner AND row = ANY(:rows::bigint []);

-- forget_jobs_of_row: remove the jobs of one version
DELETE FROM work WHERE owner = :owner AND row = :row;

-- embedded_before: the newest earlier version of a memory that has a vector in a space
SELECT v.row, /*columns*/ FROM memories AS m
JOIN vectors AS v ON v.owner = m.owner AND v.space = :space AND v.row = m.row
WHERE m.owner = :owner AND m.id = :id AND m.version < :version
ORDER BY m.version DESC LIMIT 1;

-- fragment count_vectors
INSERT INTO embedded AS e (owner, space, vectors)
SELECT owner, space, count(*) FROM kept GROUP BY owner, space
ON CONFLICT (owner, space) DO UPDATE SET vectors = e.vectors + excluded.vectors

-- copy_vector: give a version the vector of another one
WITH kept AS (
    INSERT INTO vectors (owner, space, row, vector)
    SELECT owner, space, :row, vector FROM vectors
    WHERE owner = :owner AND space = :space AND row = :before
    ON CONFLICT DO NOTHING RETURNING owner, space
)
/*count_vectors*/;

-- keep_vector: keep the vector of a job, unless the job is gone or the vector is there
WITH job AS MATERIALIZED (
    SELECT row FROM work
    WHERE owner = :owner AND number = :number AND kind = 'embed' AND target = :key
), kept AS (
    INSERT INTO vectors (owner, space, row, vector)
    SELECT m.owner, :space, m.row, :vector::halfvec FROM job
    JOIN memories AS m ON m.owner = :owner AND m.row = job.row
    ON CONFLICT DO NOTHING RETURNING owner, space
)
/*count_vectors*/;

-- keep_vector_many: the same of many jobs; a row for each that is new
WITH job AS MATERIALIZED (
    SELECT w.row, given.vector
    FROM unnest(:each_number::bigint [], :each_vector::text []) AS given (number, vector)
    JOIN work AS w ON w.owner = :owner AND w.number = given.number
    WHERE w.kind = 'embed' AND w.target = :key
), kept AS (
    INSERT INTO vectors (owner, space, row, vector)
    SELECT m.owner, :space, m.row, job.vector::halfvec FROM job
    JOIN memories AS m ON m.owner = :owner AND m.row = job.row
    ON CONFLICT DO NOTHING RETURNING owner, space, row
), counted AS (/*count_vectors*/)
SELECT row FROM kept;

-- finish_job: remove a job that is done
DELETE FROM work WHERE owner = :owner AND number = :number AND kind = 'embed' AND target = :key;

-- finish_comparison: remove a job that is done
DELETE FROM work WHERE owner = :owner AND number = :number AND kind = 'compare';

-- forget_comparison: a version that is a past one is not compared
DELETE FROM work WHERE owner = :owner AND row = :row AND kind = 'compare';

-- anything_due: a row if any job of these kinds can be claimed
SELECT 1 FROM unnest(:kinds::text []) AS asked (kind) WHERE EXISTS (
    SELECT 1 FROM work AS w WHERE w.kind = asked.kind AND w.state <> 'dead' AND w.due <= :now
) LIMIT 1;

-- claim: take the jobs whose turn it is; those that somebody else is just taking are passed over
WITH taken AS (
    SELECT w.owner, w.number FROM unnest(:kinds::text []) AS asked (kind)
    CROSS JOIN LATERAL (
        SELECT w.owner, w.number, w.turn FROM work AS w
        WHERE w.kind = asked.kind AND w.state <> 'dead' AND w.due <= :now
        ORDER BY w.turn, w.number LIMIT :limit FOR UPDATE SKIP LOCKED
    ) AS w
    ORDER BY w.turn, w.number LIMIT :limit
)
UPDATE work AS w SET state = 'claimed', due = :until, attempts = w.attempts + 1
FROM taken WHERE w.owner = taken.owner AND w.number = taken.number
RETURNING w.owner, w.number, w.kind, w.target, w.attempts - 1, w.turn, w.row;

-- jobs: these jobs with their versions, in the order of their turn
WITH taken AS MATERIALIZED (
    SELECT w.owner, w.number, w.kind, w.target, w.row, w.turn, w.attempts
    FROM unnest(:owners::text [], :numbers::bigint []) AS wanted (owner, number)
    JOIN work AS w ON w.owner = wanted.owner AND w.number = wanted.number
)
SELECT w.number, w.kind, w.target, w.attempts - 1, /*columns*/
FROM taken AS w JOIN memories AS m ON m.owner = w.owner AND m.row = w.row
ORDER BY w.turn, w.number;

-- versions_in: the versions in these rows of an owner
SELECT m.row, /*columns*/ FROM memories AS m WHERE m.owner = :owner AND m.row = ANY(:rows::bigint []);

-- postpone: put claimed jobs back, untried; they are due when the claim would have run out
UPDATE work SET state = 'waiting', attempts = attempts - 1
WHERE owner = :owner AND number = ANY(:numbers::bigint []) AND state = 'claimed';

-- insert_lost_job: a job for one version, unless it is there
INSERT INTO work (owner, kind, target, row, turn) VALUES (:owner, :kind, :target, :row, :turn)
ON CONFLICT DO NOTHING;

-- give_back: put a job back, or give it up, if this claim took it; untried when there is no error
UPDATE work SET state = :state, due = :due,
error = CASE WHEN :error::text = '' THEN error ELSE :error::text END,
attempts = attempts - CASE WHEN :error::text = '' THEN 1 ELSE 0 END
WHERE owner = :owner AND number = :number AND state = 'claimed' AND attempts = :attempts;

-- work_counts: what is in the queue; the error is that of the youngest job that has one
SELECT kind, target,
CASE WHEN state = 'claimed' AND due > :now THEN 'running'
    WHEN state = 'claimed' THEN 'waiting' ELSE state END AS standing,
count(*),
(array_agg(error ORDER BY number DESC) FILTER (WHERE error IS NOT NULL)) [1],
coalesce(max(number) FILTER (WHERE error IS NOT NULL), 0)
FROM work GROUP BY kind, target, standing ORDER BY kind, target, standing;

-- density: how many memories of each category were made in each span of time
SELECT created_at / :width::bigint * :width::bigint, category, count(*) FROM memories
WHERE owner = :owner AND replaced_at = 9223372036854775807 AND deleted_at IS NULL
GROUP BY 1, category ORDER BY 1, category;

-- agent_sessions: the sessions of agents in which memories were made, the latest first
SELECT session, max(project), max(agent), min(created_at), max(created_at), count(*)
FROM memories WHERE owner = :owner AND session IS NOT NULL
AND replaced_at = 9223372036854775807 AND deleted_at IS NULL
GROUP BY session ORDER BY 5 DESC, session LIMIT :limit;

-- dead_jobs: the jobs that were given up, the youngest first
WITH dead AS MATERIALIZED (
    SELECT * FROM work WHERE state = 'dead' ORDER BY number DESC LIMIT :limit
)
SELECT w.kind, w.target, m.owner, m.id, w.attempts, w.error FROM dead AS w
JOIN memories AS m ON m.owner = w.owner AND m.row = w.row ORDER BY w.number DESC;

-- next_due: when the next job, perhaps only of these kinds, can be claimed
SELECT min(first) FROM (
    SELECT (
        SELECT min(w.due) FROM work AS w WHERE w.kind = asked.kind AND w.state <> 'dead'
    ) AS first FROM unnest(:kinds::text []) AS asked (kind)
    UNION ALL
    SELECT min(due) FROM work WHERE state <> 'dead' AND :kinds::text [] IS NULL
) AS each;

-- count_stray: vectors without a memory or a space, and owners whose vectors are counted wrongly
SELECT stray.count + miscounted.count
FROM (
    SELECT count(*) AS count FROM vectors AS v
    WHERE NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.owner = v.owner AND m.row = v.row)
    OR NOT EXISTS (SELECT 1 FROM spaces AS s WHERE s.number = v.space)
) AS stray
CROSS JOIN (
    SELECT count(*) AS count FROM embedded AS e FULL JOIN (
        SELECT owner, space, count(*) AS vectors FROM vectors GROUP BY owner, space
    ) AS held ON held.owner = e.owner AND held.space = e.space
    WHERE coalesce(e.vectors, 0) <> coalesce(held.vectors, 0)
) AS miscounted;

-- count_unembedded: present versions without a vector in the active space and without a job for it
WITH queued AS MATERIALIZED (SELECT owner, row, target FROM work WHERE kind = 'embed')
SELECT count(*) FROM spaces AS s CROSS JOIN memories AS m
WHERE s.state = 'active' AND m.replaced_at = 9223372036854775807
AND m.deleted_at IS NULL AND NOT m.sensitive
AND NOT EXISTS (
    SELECT 1 FROM vectors AS v WHERE v.owner = m.owner AND v.space = s.number AND v.row = m.row
)
AND NOT EXISTS (
    SELECT 1 FROM queued AS w WHERE w.owner = m.owner AND w.row = m.row AND w.target = s.key
);

-- facts: the versions of the server and of pgvector, and how many bytes the database has
SELECT
    split_part(current_setting('server_version'), ' ', 1),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    pg_database_size(current_database());

-- fragment sealed
s.owner, s.id, s.version, s.key_id, s.nonce, s.ciphertext, s.fingerprint

-- forget_secrets: remove the records of these memories
DELETE FROM secrets WHERE owner = :owner AND id = ANY(:ids::text []);

-- conceal_version: overwrite the text of a version that has become sensitive
UPDATE memories SET content = :content, content_hash = :content_hash, sensitive = TRUE
WHERE owner = :owner AND id = :id AND version = :version AND NOT sensitive RETURNING row;

-- list_sensitive: the sensitive memories that are not deleted
SELECT /*columns*/ FROM memories AS m
WHERE m.owner = :owner AND m.sensitive AND m.replaced_at = 9223372036854775807
AND m.deleted_at IS NULL ORDER BY m.created_at DESC, m.id DESC;

-- retire_key: take no more records under a key
INSERT INTO retired_keys (key_id, retired_at) VALUES (:key_id, :now) ON CONFLICT DO NOTHING;

-- note_audit: keep an audit entry
INSERT INTO audit (owner, number, at, action, id, version, agent, key, detail)
VALUES (:owner, :number, :at, :action, :id, :version, :agent, :key, :detail);

-- list_audit: the youngest audit entries
SELECT at, owner, action, id, version, agent, key, detail FROM audit
WHERE owner = :owner AND (:actions::text [] IS NULL OR action = ANY(:actions::text []))
ORDER BY number DESC LIMIT :limit;
