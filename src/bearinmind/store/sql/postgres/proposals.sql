-- The statements about proposals.

-- fragment proposal
id, kind, origin, memories, reason, evidence, change, digest, created_at, state, decided_at, undo

-- proposals: proposals in these states, behind one of them
SELECT /*proposal*/ FROM proposals
WHERE owner = :owner AND id > :after AND state = ANY(:states::text [])
ORDER BY id LIMIT :limit;

-- proposals_naming: the proposals that name one of these memories
SELECT id FROM proposals WHERE owner = :owner AND EXISTS (
    SELECT 1 FROM unnest(:named::text []) AS gone (name)
    WHERE strpos(memories || evidence || change || undo, gone.name) > 0
);
