-- The statements about proposals.

-- fragment proposal
id, kind, origin, memories, reason, evidence, change, digest, created_at, state, decided_at, undo

-- proposals: proposals in these states, behind one of them
SELECT /*proposal*/ FROM proposals
WHERE owner = :owner AND id > :after AND state IN (SELECT value FROM json_each(:states))
ORDER BY id LIMIT :limit;

-- proposals_naming: the proposals that name one of these memories
SELECT id FROM proposals WHERE owner = :owner AND EXISTS (
    SELECT 1 FROM json_each(:named) AS gone
    WHERE instr(memories || evidence || change || undo, gone.value)
);
