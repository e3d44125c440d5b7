-- extractor_in_use: the extractor that reads memories
SELECT number, key FROM extractors WHERE in_use;

-- drop_other_readings: remove the jobs of every other extractor
DELETE FROM work WHERE kind = 'extract' AND target <> :key;

-- count_readings_due: how many versions an extractor is to read
SELECT count(*) FROM work WHERE kind = 'extract' AND target = :key AND state <> 'dead';

-- mentioning_newest: the newest versions that mention a concept
SELECT n.row, m.id, n.roles, n.concept FROM mentions AS n
/*mentioning*/ AND n.concept = :concept
ORDER BY n.row DESC LIMIT :limit;

-- relations_after: the next relations that are believed, in the order of their numbers
SELECT /*relation*/ FROM relations AS r
/*ends*/
WHERE r.number > :after AND /*believed*/ ORDER BY r.number LIMIT :limit;
