-- Links that were inferred or decided say by whom and how surely; every live memory is compared once.
ALTER TABLE links ADD COLUMN judgement TEXT;

INSERT OR IGNORE INTO work (kind, target, row, turn)
SELECT 'compare', '', row, 0 FROM memories
WHERE replaced_at = 9223372036854775807 AND deleted_at IS NULL AND NOT sensitive ORDER BY row;
