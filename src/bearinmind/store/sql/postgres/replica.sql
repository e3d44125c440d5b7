-- How far a standby is behind its primary, measured at both. Positions are bytes of the log since it
-- began, on a timeline; every fail-over begins another one, on which the same numbers mean other things.

-- primary_position: the timeline of the primary, and how much of its log is durable
-- What is acknowledged is durable. What is merely inserted may stay unsent for long on an idle server.
SELECT
    ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::BIT(32)::INTEGER,
    (pg_current_wal_flush_lsn() - '0/0'::PG_LSN)::BIGINT;

-- replica_position: the timeline that a standby follows, and how much of the log it shows; none of a primary
-- The receiver says its timeline to members of pg_read_all_stats alone. What everybody may read follows
-- it with the next restart point: late, and never early.
SELECT
    greatest(
        (SELECT received_tli FROM pg_stat_wal_receiver),
        (SELECT timeline_id FROM pg_control_checkpoint()),
        (SELECT min_recovery_end_timeline FROM pg_control_recovery())
    ),
    (pg_last_wal_replay_lsn() - '0/0'::PG_LSN)::BIGINT
WHERE pg_is_in_recovery();
