-- propose: keep a proposal, unless the same was made before
INSERT INTO proposals (
    owner, id, kind, origin, memories, reason, evidence, change, digest, created_at, state, decided_at,
    undo
) VALUES (
    :owner, :id, :kind, :origin, :memories, :reason, :evidence, :change, :digest, :created_at, :state,
    :decided_at, :undo
) ON CONFLICT (owner, digest) DO NOTHING;

-- proposal: one proposal
SELECT /*proposal*/ FROM proposals WHERE owner = :owner AND id = :id;

-- decide: what became of a proposal
UPDATE proposals SET state = :state, decided_at = :decided_at, undo = :undo
WHERE owner = :owner AND id = :id AND state = :before;

-- redact_proposal: remove what a proposal says, also id and digest, which are made from it
UPDATE proposals SET id = :new_id, digest = :digest, reason = :reason, evidence = '{}', change = '{}',
undo = '{}', state = CASE WHEN state = 'open' THEN 'dismissed' ELSE state END
WHERE owner = :owner AND id = :id;

-- count_proposals: how many there are in each state
SELECT state, count(*) FROM proposals WHERE owner = :owner GROUP BY state;
