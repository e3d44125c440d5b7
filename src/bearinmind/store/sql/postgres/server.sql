-- What a server counts, and what it tells those who look after it.

-- count_traffic: add to what was counted in a minute or an hour
INSERT INTO traffic (owner, kind, step, start, count)
VALUES (:owner, :kind, :step, :start, :count)
ON CONFLICT (owner, kind, step, start) DO UPDATE SET count = traffic.count + excluded.count;

-- forget_traffic: remove what is older than is kept for steps of that length
DELETE FROM traffic WHERE step = :step AND start < :before;

-- traffic_of: what one user did since a moment
SELECT kind, start, count FROM traffic
WHERE owner = :owner AND step = :step AND start >= :since ORDER BY start, kind;

-- traffic_of_all: what everybody did since a moment
SELECT kind, start, sum(count)::bigint FROM traffic WHERE step = :step AND start >= :since
GROUP BY start, kind ORDER BY start, kind;

-- users_in_traffic: who did how much since a moment
SELECT owner, kind, sum(count)::bigint FROM traffic WHERE step = :step AND start >= :since
GROUP BY owner, kind ORDER BY owner, kind;

-- all_shares: what everybody shares
SELECT /*share*/ FROM shares AS s WHERE s.ended_at = 9223372036854775807
ORDER BY s.owner, s.created_at, s.number LIMIT :limit;

-- versions_by_owner: how many versions of memories each user has in the index
SELECT owner, versions FROM tenants WHERE versions > 0 ORDER BY versions DESC, owner LIMIT :limit;

-- uses_by_owner: how many live memories each user has, and how many bytes all their versions say
SELECT owner, count(*) FILTER (WHERE replaced_at = 9223372036854775807 AND deleted_at IS NULL),
sum(octet_length(content))::bigint FROM memories GROUP BY owner;

-- queue_ends: the first and the last number of the jobs that wait or run, by kind
SELECT kind, min(number), max(number) FROM work WHERE state <> 'dead' GROUP BY kind;
