-- The statements of the SQLite store; those that Postgres says alike are in ../common, read behind
-- the file of the same name. `-- name: what it does` begins a statement;
-- `-- fragment NAME` begins a piece of text that other statements take in as /*NAME*/, and
-- `-- fragment NAME@shared` what it is instead where somebody else than the owner reads.
-- CROSS JOIN is how SQLite is told to join in the order written, from the few to the many, and
-- INDEXED BY which index to take: it guesses badly where a file has no statistics yet.

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
    OR json_extract(l.judgement, '$.by') = 'person')

-- fragment marked
-- A person says that a memory is outdated, or it is as likely as `MARK` of `bearinmind.outdates.verdicts`.
l.kind = 'outdates' AND (l.judgement IS NULL OR (
    json_extract(l.judgement, '$.probability') >= 0.92
    AND (newer.trust = m.trust OR newer.trust = 'user' OR m.trust = 'external'
        OR json_extract(l.judgement, '$.by') = 'person')
))
AND NOT EXISTS ( -- nobody says the opposite
    SELECT 1 FROM links AS opposite WHERE opposite.owner = l.owner AND opposite.kind = 'outdates'
    AND opposite.source = l.target AND opposite.target = l.source
    AND opposite.removed_at = 9223372036854775807
)

-- fragment superseded
EXISTS (
    SELECT 1 FROM links AS l INDEXED BY links_by_target
    CROSS JOIN memories AS newer ON newer.owner = l.owner AND newer.id = l.source
    WHERE l.owner = m.owner AND l.target = m.id AND l.kind = 'supersedes'
    AND l.created_at <= :moment AND l.removed_at > :moment
    AND newer.updated_at <= :moment AND newer.replaced_at > :moment AND newer.deleted_at IS NULL
    AND /*may_replace*/
)

-- fragment shared
-- The memory itself, or one of its tags; of the past nothing is shared.
(EXISTS (
    SELECT 1 FROM shares AS s INDEXED BY shares_of_memories
    WHERE s.owner = m.owner AND s.reader = :reader AND s.memory = m.id
    AND s.ended_at = 9223372036854775807
) OR EXISTS (
    SELECT 1 FROM json_each(m.tags) AS tagged
    CROSS JOIN shares AS s INDEXED BY shares_of_tags ON s.owner = m.owner AND s.reader = :reader
    AND s.tag = tagged.value AND s.ended_at = 9223372036854775807
))
AND m.replaced_at = 9223372036854775807 AND :moment = 9223372036854775806
AND NOT m.sensitive AND NOT /*superseded*/

-- fragment held
m.owner = :owner AND /*present*/

-- fragment held@shared
m.owner = :owner AND m.deleted_at IS NULL AND /*shared*/

-- fragment all_held
memories AS m

-- fragment all_held@shared
-- What is shared is looked up, and all the rest passed over only where a tag is shared. That a tag is
-- among those of a memory is first looked for in its text, which takes a tenth of the time.
(
    SELECT m.row FROM shares AS s INDEXED BY shares_of_memories
    CROSS JOIN memories AS m ON m.owner = s.owner AND m.id = s.memory
    WHERE s.owner = :owner AND s.reader = :reader AND s.memory IS NOT NULL
    AND s.ended_at = 9223372036854775807 AND m.replaced_at = 9223372036854775807
    UNION
    SELECT m.row FROM (
        SELECT 1 FROM shares AS s INDEXED BY shares_of_tags
        WHERE s.owner = :owner AND s.reader = :reader AND s.tag IS NOT NULL
        AND s.ended_at = 9223372036854775807 LIMIT 1
    ) CROSS JOIN memories AS m CROSS JOIN (
        SELECT json_quote(s.tag) AS quoted FROM shares AS s INDEXED BY shares_of_tags
        WHERE s.owner = :owner AND s.reader = :reader AND s.tag IS NOT NULL
        AND s.ended_at = 9223372036854775807 LIMIT -1 -- so that it is made once, not for each memory
    ) AS tagged
    WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807 AND instr(m.tags, tagged.quoted)
) AS candidate CROSS JOIN memories AS m ON m.row = candidate.row

-- fragment admitted
/*held*/
AND (:categories IS NULL OR m.category IN (SELECT value FROM json_each(:categories)))
AND (:tags IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:tags) AS wanted
    WHERE NOT EXISTS (SELECT 1 FROM json_each(m.tags) AS held WHERE held.value = wanted.value)
))
AND (:created_from IS NULL OR m.created_at >= :created_from)
AND (:created_to IS NULL OR m.created_at < :created_to)
AND (:session IS NULL OR m.session = :session)
AND (:project IS NULL OR m.project = :project)
AND (:agent IS NULL OR m.agent = :agent)

-- fragment state
CASE
    WHEN m.deleted_at IS NOT NULL THEN 'deleted'
    WHEN /*superseded*/ THEN 'superseded'
    WHEN m.valid_from > :now OR m.valid_to <= :now THEN 'expired'
    ELSE 'live'
END

-- insert_memory: add a version, as the present one or one that was replaced
INSERT INTO memories (owner, /*version_columns*/)
VALUES (:owner, /*version_values*/) RETURNING row;

-- insert_indexed: make a version findable by its terms
INSERT INTO indexed (row, content, keywords, tags, category, function, length)
VALUES (:row, :content, :keywords, :tags, :category, :function, :length);

-- close_version: end the present version of a memory, if it is the expected one; its row
UPDATE memories SET replaced_at = :replaced_at
WHERE owner = :owner AND id = :id AND version = :version AND replaced_at = 9223372036854775807
RETURNING row;

-- stored_ids: those of these ids under which something is stored
SELECT DISTINCT m.id FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value;

-- known: the live memory with this content, other than a given one
SELECT /*columns*/ FROM memories AS m INDEXED BY memories_by_hash
WHERE m.owner = :owner AND m.content_hash = :content_hash
AND m.replaced_at = 9223372036854775807 AND m.deleted_at IS NULL AND m.id <> :id
AND NOT EXISTS (
    SELECT 1 FROM links AS l INDEXED BY links_by_target
        CROSS JOIN memories AS newer ON newer.owner = l.owner AND newer.id = l.source
    WHERE l.owner = m.owner AND l.target = m.id AND l.removed_at = 9223372036854775807
    AND newer.replaced_at = 9223372036854775807 AND newer.deleted_at IS NULL
    -- What was outdated before the given one was made has ceased to hold: it is new again.
    AND ((l.kind = 'supersedes' AND /*may_replace*/)
        OR (newer.created_at < :created_at AND NOT newer.sensitive AND /*marked*/))
)
ORDER BY m.created_at, m.id LIMIT 1;

-- get_many: the versions of these memories that were present at a moment
SELECT /*columns*/ FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.owner = :owner AND m.id = wanted.value
WHERE /*present*/;

-- list_newest: memories that a filter admits, newest first
SELECT /*columns*/ FROM /*all_held*/
WHERE /*admitted*/
AND (m.created_at, m.id) < (:after_time, :after_id)
AND /*state*/ IN (SELECT value FROM json_each(:states))
ORDER BY m.created_at DESC, m.id DESC LIMIT :limit;

-- list_oldest: memories that a filter admits, oldest first
SELECT /*columns*/ FROM /*all_held*/
WHERE /*admitted*/
AND (m.created_at, m.id) > (:after_time, :after_id)
AND /*state*/ IN (SELECT value FROM json_each(:states))
ORDER BY m.created_at, m.id LIMIT :limit;

-- list_important: memories that a filter admits, the most important first
SELECT /*columns*/ FROM /*all_held*/
WHERE /*admitted*/
AND /*state*/ IN (SELECT value FROM json_each(:states))
ORDER BY m.importance DESC, m.created_at DESC, m.id DESC LIMIT :limit;

-- count_admitted: how many memories a filter admits
SELECT count(*) FROM /*all_held*/
WHERE /*admitted*/ AND /*state*/ IN (SELECT value FROM json_each(:states));

-- delete_memories: remove every version of these memories
DELETE FROM memories WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids));

-- delete_indexed: remove these memories from the index
DELETE FROM indexed WHERE row IN (
    SELECT row FROM memories WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids))
);

-- delete_links: remove every link that begins or ends at these memories
DELETE FROM links WHERE owner = :owner AND (
    source IN (SELECT value FROM json_each(:ids)) OR target IN (SELECT value FROM json_each(:ids))
);

-- count_states: how many memories are in each state, since when, and how many are still to come
SELECT /*state*/ AS state, count(*), min(m.created_at), max(m.created_at),
    count(*) FILTER (WHERE m.valid_from > :now) FROM memories AS m
WHERE m.owner = :owner AND /*present*/ GROUP BY state;

-- count_tags: how many live memories the most used tags have
SELECT tag.value, count(*) FROM memories AS m, json_each(m.tags) AS tag
WHERE m.owner = :owner AND /*present*/ AND /*state*/ = 'live'
GROUP BY tag.value ORDER BY count(*) DESC, tag.value LIMIT :limit;

-- sensitive_among: those of these memories that have a sensitive version
SELECT DISTINCT id FROM memories WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids)) AND sensitive;

-- conceal_judgements: remove the texts of what was judged about a memory
UPDATE links SET judgement = json_remove(judgement, '$.thing', '$.aspect', '$.evidence')
WHERE owner = :owner AND (source = :id OR target = :id) AND judgement IS NOT NULL;

-- links_of: the links that began or ended at these memories at a moment
SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement
FROM json_each(:ids) AS wanted CROSS JOIN links AS l ON l.owner = :owner AND l.source = wanted.value
WHERE l.created_at <= :moment AND l.removed_at > :moment
UNION
SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement
FROM json_each(:ids) AS wanted CROSS JOIN links AS l INDEXED BY links_by_target
    ON l.owner = :owner AND l.target = wanted.value
WHERE l.created_at <= :moment AND l.removed_at > :moment
ORDER BY 4, 1, 3, 2;

-- fragment newer_above
newer.updated_at <= :moment AND newer.replaced_at > :moment AND newer.deleted_at IS NULL
AND /*present*/ AND (l.kind <> 'supersedes' OR /*may_replace*/)

-- newer: the links of these kinds above these memories, as far as their chains go
WITH RECURSIVE above (source, target, kind, created_at, removed_at, judgement) AS (
    SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement
    FROM json_each(:ids) AS wanted
    CROSS JOIN links AS l INDEXED BY links_by_target
        ON l.owner = :owner AND l.target = wanted.value AND l.kind IN (SELECT value FROM json_each(:kinds))
    CROSS JOIN memories AS newer ON newer.owner = :owner AND newer.id = l.source
    CROSS JOIN memories AS m ON m.owner = :owner AND m.id = l.target
    WHERE l.created_at <= :moment AND l.removed_at > :moment AND /*newer_above*/
    UNION
    SELECT l.source, l.target, l.kind, l.created_at, l.removed_at, l.judgement
    FROM above
    CROSS JOIN links AS l INDEXED BY links_by_target
        ON l.owner = :owner AND l.target = above.source AND l.kind IN (SELECT value FROM json_each(:kinds))
    CROSS JOIN memories AS newer ON newer.owner = :owner AND newer.id = l.source
    CROSS JOIN memories AS m ON m.owner = :owner AND m.id = l.target
    WHERE l.created_at <= :moment AND l.removed_at > :moment AND /*newer_above*/
)
SELECT source, target, kind, created_at, removed_at, judgement FROM above
ORDER BY created_at, source, target;

-- supersedes_already: whether one memory supersedes another, directly or by way of others
WITH RECURSIVE below (id) AS (
    SELECT :source
    UNION
    SELECT l.target FROM below
    CROSS JOIN links AS l ON l.owner = :owner AND l.source = below.id AND l.kind = 'supersedes'
    AND l.removed_at = 9223372036854775807
)
SELECT 1 FROM below WHERE id = :target LIMIT 1;

-- index_facts: how much the index holds
SELECT versions, terms FROM index_facts;

-- frequencies: in how many versions each of these terms occurs
SELECT term, doc FROM lexicon_terms WHERE term IN (SELECT value FROM json_each(:terms));

-- owned_facts: how much the index holds, and how much of that is an owner's
SELECT f.versions, f.terms, coalesce(t.versions, 0), coalesce(t.terms, 0)
FROM index_facts AS f LEFT JOIN tenants AS t ON t.owner = :owner;

-- owned_frequencies: in how many versions of an owner each of these terms occurs
SELECT asked.value, (
    SELECT count(*) FROM lexicon CROSS JOIN memories AS m ON m.row = lexicon.rowid
    WHERE lexicon MATCH '"' || asked.value || '"' AND m.owner = :owner
) FROM json_each(:terms) AS asked;

-- fragment entry
i.content, i.keywords, i.tags, i.category, i.function, i.length

-- matches_ahead: the best matches of the whole index, each with whether the scope holds it
SELECT /*columns*/, /*entry*/, best.score, best.row, m.owner = :owner AND /*present*/
FROM (
    SELECT rowid AS row, bm25(lexicon, 1.0, 0.7, 0.7, 0.2, 0.1) AS score
    FROM lexicon WHERE lexicon MATCH :match ORDER BY score, row LIMIT :ahead
) AS best
CROSS JOIN memories AS m ON m.row = best.row
CROSS JOIN indexed AS i ON i.row = best.row;

-- matches: the best matches that the filter admits
SELECT /*columns*/, /*entry*/, best.score, best.row, 1
FROM (
    SELECT lexicon.rowid AS row, bm25(lexicon, 1.0, 0.7, 0.7, 0.2, 0.1) AS score
    FROM lexicon CROSS JOIN memories AS m ON m.row = lexicon.rowid
    WHERE lexicon MATCH :match AND /*admitted*/
    ORDER BY score, lexicon.rowid LIMIT :limit
) AS best
CROSS JOIN memories AS m ON m.row = best.row
CROSS JOIN indexed AS i ON i.row = best.row;

-- count_owned: how many present versions a scope has
SELECT count(*) FROM memories WHERE owner = :owner AND replaced_at = 9223372036854775807;

-- unindexed: present or past versions that the index must hold
SELECT m.row, /*columns*/ FROM memories AS m
WHERE m.row > :after AND m.deleted_at IS NULL ORDER BY m.row LIMIT :limit;

-- forget_index: empty the index, to be made anew
DELETE FROM indexed;

-- index_analysis: which analysis made the index
SELECT analysis FROM index_facts;

-- mark_index: note which analysis made the index
UPDATE index_facts SET analysis = :analysis;

-- optimise_index: merge the index into one piece; terms of purged memories are gone after it
INSERT INTO lexicon (lexicon) VALUES ('optimize');

-- check_index: compare the index with the terms it was made from
INSERT INTO lexicon (lexicon, rank) VALUES ('integrity-check', 1);

-- count_unindexed: versions that should be in the index and are not
SELECT count(*) FROM memories AS m
WHERE m.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM indexed AS i WHERE i.row = m.row);

-- count_presents: memories that do not have exactly one present version
SELECT count(*) FROM (
    SELECT 1 FROM memories GROUP BY owner, id
    HAVING sum(replaced_at = 9223372036854775807) <> 1
);

-- unembedded: what the next jobs are to embed of a scope
SELECT count(*) FROM (
    SELECT row FROM work INDEXED BY work_by_target
    WHERE kind = 'embed' AND target = :target AND state <> 'dead' LIMIT :jobs
) AS w CROSS JOIN memories AS m ON m.row = w.row
WHERE m.owner = :owner AND m.replaced_at = 9223372036854775807;

-- spaces: every space, the active one first
SELECT s.key, s.description, s.state,
(SELECT count(*) FROM work WHERE kind = 'embed' AND target = s.key AND state <> 'dead'),
(SELECT count(*) FROM work WHERE kind = 'embed' AND target = s.key AND state = 'dead')
FROM spaces AS s ORDER BY s.state, s.number;

-- vectors_by_space: how many vectors each space has
SELECT key, embedded FROM spaces;

-- spaces_in_use: the spaces that memories are embedded into
SELECT number, key, json_extract(description, '$.text'), state <> 'active'
FROM spaces WHERE state <> 'retired';

-- space_number: under which number the file has a space
SELECT number FROM spaces WHERE key = :key;

-- queue_all: a job for every version that belongs into a space and has no vector there
INSERT OR IGNORE INTO work (kind, target, row, turn)
SELECT 'embed', :key, m.row, iif(m.replaced_at < 9223372036854775807, 2, :turn) FROM memories AS m
WHERE m.deleted_at IS NULL AND NOT m.sensitive
AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.row = m.row AND v.space = :space)
ORDER BY m.row;

-- insert_job: a job for one version
INSERT INTO work (kind, target, row, turn) VALUES (:kind, :target, :row, :turn);

-- drop_departures: remove what was said about the vectors of a space
DELETE FROM departures WHERE space = :space;

-- forget_vectors: remove the vectors of these memories
DELETE FROM vectors WHERE row IN (
    SELECT row FROM memories WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids))
);

-- forget_jobs: remove the jobs of these versions
DELETE FROM work WHERE row IN (SELECT value FROM json_each(:rows));

-- embedded_before: the newest earlier version of a memory that has a vector in a space
SELECT v.row, /*columns*/ FROM memories AS m CROSS JOIN vectors AS v ON v.row = m.row
WHERE m.owner = :owner AND m.id = :id AND m.version < :version AND v.space = :space
ORDER BY m.version DESC LIMIT 1;

-- copy_code: give a version the code of another one's vector
INSERT INTO vectors (space, row, owner, code)
SELECT space, :row, owner, code FROM vectors WHERE row = :before AND space = :space;

-- copy_vector: and the vector itself
INSERT INTO exact_vectors (seq, vector) SELECT new.seq, e.vector
FROM vectors AS old CROSS JOIN exact_vectors AS e ON e.seq = old.seq
CROSS JOIN vectors AS new ON new.row = :row AND new.space = :space
WHERE old.row = :before AND old.space = :space;

-- keep_code: keep the code of a job's vector, unless the job is gone or the code is there
INSERT OR IGNORE INTO vectors (space, row, owner, code)
SELECT :space, m.row, m.owner, :code FROM work AS w CROSS JOIN memories AS m ON m.row = w.row
WHERE w.number = :number AND w.kind = 'embed' AND w.target = :key;

-- keep_vector: and the vector itself
INSERT OR IGNORE INTO exact_vectors (seq, vector)
SELECT v.seq, :vector FROM work AS w CROSS JOIN vectors AS v ON v.row = w.row AND v.space = :space
WHERE w.number = :number AND w.kind = 'embed' AND w.target = :key;

-- finish_job: remove a job that is done
DELETE FROM work WHERE number = :number AND kind = 'embed' AND target = :key;

-- arrivals: vectors that arrived after one, in order
SELECT seq, code FROM vectors INDEXED BY vectors_by_owner
WHERE space = :space AND owner = :owner AND seq > :after ORDER BY seq LIMIT :limit;

-- departed: vectors that left after a departure, in order
SELECT number, seq FROM departures INDEXED BY departures_by_owner
WHERE space = :space AND owner = :owner AND number > :after ORDER BY number;

-- admitted_vectors: the vectors of the memories that a filter admits
SELECT v.seq FROM /*all_held*/
CROSS JOIN vectors AS v ON v.row = m.row AND v.space = :space
WHERE /*admitted*/ AND m.deleted_at IS NULL;

-- vectors_present: of these vectors, those whose version was present at a moment
SELECT m.id, e.vector FROM json_each(:seqs) AS wanted
CROSS JOIN vectors AS v ON v.seq = wanted.value
CROSS JOIN memories AS m ON m.row = v.row
CROSS JOIN exact_vectors AS e ON e.seq = v.seq
WHERE /*held*/ AND m.deleted_at IS NULL;

-- vectors_of: the vectors of those of these memories that a filter admits
SELECT m.id, e.vector FROM json_each(:ids) AS wanted
CROSS JOIN memories AS m ON m.id = wanted.value
CROSS JOIN vectors AS v ON v.row = m.row AND v.space = :space
CROSS JOIN exact_vectors AS e ON e.seq = v.seq
WHERE /*admitted*/ AND m.deleted_at IS NULL;

-- finish_comparison: remove a job that is done
DELETE FROM work WHERE number = :number AND kind = 'compare'
AND EXISTS (SELECT 1 FROM memories AS m WHERE m.row = work.row AND m.owner = :owner);

-- forget_comparison: a version that is a past one is not compared
DELETE FROM work WHERE row = :row AND kind = 'compare';

-- anything_due: a row if any job of these kinds can be claimed
SELECT 1 FROM json_each(:kinds) AS asked WHERE EXISTS (
    SELECT 1 FROM work INDEXED BY work_by_due
    WHERE kind = asked.value AND state <> 'dead' AND due <= :now
) LIMIT 1;

-- claim: take the jobs whose turn it is
UPDATE work SET state = 'claimed', due = :until, attempts = attempts + 1 WHERE number IN (
    SELECT w.number FROM json_each(:kinds) AS asked CROSS JOIN work AS w ON w.number IN (
        SELECT number FROM work INDEXED BY work_by_turn
        WHERE kind = asked.value AND state <> 'dead' AND due <= :now
        ORDER BY turn, number LIMIT :limit
    )
    ORDER BY w.turn, w.number LIMIT :limit
) RETURNING (SELECT owner FROM memories WHERE row = work.row), number;

-- jobs: these jobs with their versions, in the order of their turn
SELECT w.number, w.kind, w.target, w.attempts - 1, /*columns*/ FROM json_each(:numbers) AS wanted
CROSS JOIN work AS w ON w.number = wanted.value
CROSS JOIN memories AS m ON m.row = w.row
ORDER BY w.turn, w.number;

-- give_back: put a job back, or give it up, if this claim took it; untried when there is no error
UPDATE work SET state = :state, due = :due, error = iif(:error = '', error, :error),
attempts = attempts - (:error = '')
WHERE number = :number AND state = 'claimed' AND attempts = :attempts;

-- work_counts: what is in the queue; the error is that of the youngest job that has one
SELECT kind, target,
CASE WHEN state = 'claimed' THEN iif(due > :now, 'running', 'waiting') ELSE state END AS standing,
count(*), error, max(iif(error IS NULL, 0, number))
FROM work GROUP BY kind, target, standing ORDER BY kind, target, standing;

-- density: how many memories of each category were made in each span of time
SELECT created_at / :width * :width AS start, category, count(*) FROM memories
WHERE owner = :owner AND replaced_at = 9223372036854775807 AND deleted_at IS NULL
GROUP BY start, category ORDER BY start, category;

-- agent_sessions: the sessions of agents in which memories were made, the latest first
SELECT session, max(project), max(agent), min(created_at), max(created_at) AS last, count(*)
FROM memories WHERE owner = :owner AND session IS NOT NULL
AND replaced_at = 9223372036854775807 AND deleted_at IS NULL
GROUP BY session ORDER BY last DESC, session LIMIT :limit;

-- dead_jobs: the jobs that were given up, the youngest first
SELECT w.kind, w.target, m.owner, m.id, w.attempts, w.error FROM work AS w
CROSS JOIN memories AS m ON m.row = w.row
WHERE w.state = 'dead' ORDER BY w.number DESC LIMIT :limit;

-- next_due: when the next job, perhaps only of these kinds, can be claimed
SELECT min(first) FROM (
    SELECT (
        SELECT min(due) FROM work INDEXED BY work_by_due
        WHERE kind = asked.value AND state <> 'dead'
    ) AS first FROM json_each(:kinds) AS asked
    UNION ALL
    SELECT min(due) FROM work INDEXED BY work_by_due WHERE state <> 'dead' AND :kinds IS NULL
);

-- count_stray: vectors without a memory, a space, or their exact values
SELECT count(*) FROM vectors AS v
WHERE NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.row = v.row)
OR NOT EXISTS (SELECT 1 FROM spaces AS s WHERE s.number = v.space)
OR NOT EXISTS (SELECT 1 FROM exact_vectors AS e WHERE e.seq = v.seq);

-- count_unembedded: present versions without a vector in the active space and without a job for it
SELECT count(*) FROM spaces AS s CROSS JOIN memories AS m
WHERE s.state = 'active' AND m.replaced_at = 9223372036854775807
AND m.deleted_at IS NULL AND NOT m.sensitive
AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.row = m.row AND v.space = s.number)
AND NOT EXISTS (
    SELECT 1 FROM work AS w WHERE w.row = m.row AND w.kind = 'embed' AND w.target = s.key
);

-- fragment sealed
s.owner, s.id, s.version, s.key_id, s.nonce, s.ciphertext, s.fingerprint

-- forget_secrets: remove the records of these memories
DELETE FROM secrets WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids));

-- conceal_version: overwrite the text of a version that has become sensitive
UPDATE memories SET content = :content, content_hash = :content_hash, sensitive = 1
WHERE owner = :owner AND id = :id AND version = :version AND NOT sensitive RETURNING row;

-- forget_indexed_row: remove one version from the index
DELETE FROM indexed WHERE row = :row;

-- forget_vectors_of_row: remove the vectors of one version
DELETE FROM vectors WHERE row = :row;

-- forget_jobs_of_row: remove the jobs of one version
DELETE FROM work WHERE row = :row;

-- list_sensitive: the sensitive memories that are not deleted
SELECT /*columns*/ FROM memories AS m INDEXED BY memories_that_are_sensitive
WHERE m.owner = :owner AND m.sensitive AND m.replaced_at = 9223372036854775807
AND m.deleted_at IS NULL ORDER BY m.created_at DESC, m.id DESC;

-- retire_key: take no more records under a key
INSERT OR IGNORE INTO retired_keys (key_id, retired_at) VALUES (:key_id, :now);

-- note_audit: keep an audit entry
INSERT INTO audit (at, owner, action, id, version, agent, key, detail)
VALUES (:at, :owner, :action, :id, :version, :agent, :key, :detail);

-- list_audit: the youngest audit entries
SELECT at, owner, action, id, version, agent, key, detail FROM audit
WHERE owner = :owner AND (:actions IS NULL OR action IN (SELECT value FROM json_each(:actions)))
ORDER BY number DESC LIMIT :limit;
