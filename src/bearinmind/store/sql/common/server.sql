-- forget_traffic: remove what is older than is kept for steps of that length
DELETE FROM traffic WHERE step = :step AND start < :before;

-- traffic_of: what one user did since a moment
SELECT kind, start, count FROM traffic
WHERE owner = :owner AND step = :step AND start >= :since ORDER BY start, kind;

-- all_shares: what everybody shares
SELECT /*share*/ FROM shares AS s WHERE s.ended_at = 9223372036854775807
ORDER BY s.owner, s.created_at, s.number LIMIT :limit;

-- versions_by_owner: how many versions of memories each user has in the index
SELECT owner, versions FROM tenants WHERE versions > 0 ORDER BY versions DESC, owner LIMIT :limit;

-- queue_ends: the first and the last number of the jobs that wait or run, by kind
SELECT kind, min(number), max(number) FROM work WHERE state <> 'dead' GROUP BY kind;
