-- What a server counts, and what it tells those who look after it.

-- count_traffic: add to what was counted in a minute or an hour
INSERT INTO traffic (owner, kind, step, start, count)
VALUES (:owner, :kind, :step, :start, :count)
ON CONFLICT (owner, kind, step, start) DO UPDATE SET count = count + excluded.count;

-- traffic_of_all: what everybody did since a moment
SELECT kind, start, sum(count) FROM traffic WHERE step = :step AND start >= :since
GROUP BY start, kind ORDER BY start, kind;

-- users_in_traffic: who did how much since a moment
SELECT owner, kind, sum(count) FROM traffic WHERE step = :step AND start >= :since
GROUP BY owner, kind ORDER BY owner, kind;

-- uses_by_owner: how many live memories each user has, and how many bytes all their versions say
SELECT owner, count(*) FILTER (WHERE replaced_at = 9223372036854775807 AND deleted_at IS NULL),
sum(length(CAST(content AS BLOB))) FROM memories GROUP BY owner;
