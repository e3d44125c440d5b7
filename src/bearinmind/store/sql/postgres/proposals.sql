-- The statements about proposals.

-- fragment proposal
id, kind, origin, memories, reason, evidence, change, digest, created_at, state, decided_at, undo

-- propose: keep a proposal, unless the same was made before
INSERT INTO proposals (
    owner, id, kind, origin, memories, reason, evidence, change, digest, created_at, state, decided_at,
    undo
) VALUES (
    :owner, :id, :kind, :origin, :memories, :reason, :evidence, :change, :digest, :created_at, :state,
    :decided_at, :undo
) ON CONFLICT (owner, digest) DO NOTHING;

-- proposals: proposals in these states, behind one of them
SELECT /*proposal*/ FROM proposals
WHERE owner = :owner AND id > :after AND state = ANY(:states::text [])
ORDER BY id LIMIT :limit;

-- proposal: one proposal
SELECT /*proposal*/ FROM proposals WHERE owner = :owner AND id = :id;

-- decide: what became of a proposal
UPDATE proposals SET state = :state, decided_at = :decided_at, undo = :undo
WHERE owner = :owner AND id = :id AND state = :before;

-- count_proposals: how many there are in each state
SELECT state, count(*) FROM proposals WHERE owner = :owner GROUP BY state;

-- redact_proposals: remove what proposals say that name one of these memories; none is to be applied
UPDATE proposals SET reason = :reason, evidence = '{}', change = '{}', undo = '{}',
state = CASE WHEN state = 'open' THEN 'dismissed' ELSE state END
WHERE owner = :owner AND EXISTS (
    SELECT 1 FROM unnest(:named::text []) AS gone (name)
    WHERE strpos(memories || evidence || change || undo, gone.name) > 0
);
