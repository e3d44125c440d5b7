-- Conflicts are changes like others, and what others share is looked at by replicas.

ALTER TABLE changes DROP CONSTRAINT changes_kind_check;

ALTER TABLE changes ADD CONSTRAINT changes_kind_check
CHECK (kind IN ('memory', 'link', 'share', 'conflict')) NOT VALID;

ALTER TABLE changes VALIDATE CONSTRAINT changes_kind_check;

ALTER TABLE peers ADD COLUMN shared_at BIGINT;

ALTER TABLE peers ADD COLUMN shared_error TEXT;
