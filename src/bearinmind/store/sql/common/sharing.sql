-- live_share: the share of the same thing with the same reader
SELECT /*share*/ FROM shares AS s WHERE /*same_share*/;

-- end_share: end the share of the same thing with the same reader
UPDATE shares AS s SET ended_at = :ended_at WHERE /*same_share*/;

-- list_shares: what an owner shares
SELECT /*share*/ FROM shares AS s
WHERE s.owner = :owner AND s.ended_at = 9223372036854775807 ORDER BY s.created_at, s.number;

-- shared_beginning: the ids of admitted memories that begin so
SELECT m.id FROM /*all_held*/
WHERE /*admitted*/ AND m.id >= :prefix AND m.id < :end ORDER BY m.id LIMIT :limit;

-- shared_after: the admitted memories behind an id, with whether the reader may write each
SELECT m.id, m.version, m.updated_at, /*writable*/ FROM /*all_held*/
WHERE /*admitted*/ AND m.id > :after ORDER BY m.id LIMIT :limit;

-- writable_version: the present version of a memory that the reader may write, deleted or not
SELECT /*columns*/ FROM memories AS m
WHERE m.owner = :owner AND m.id = :id AND /*writable*/ AND /*shared*/;
