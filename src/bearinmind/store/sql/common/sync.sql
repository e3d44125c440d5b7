-- feed: the feed of an owner
SELECT epoch, head FROM feeds WHERE owner = :owner;

-- open_feed: number the changes of an owner from now on
INSERT INTO feeds (owner, epoch, head) VALUES (:owner, :epoch, 0) ON CONFLICT DO NOTHING;

-- note_head: the numbers that were given count
UPDATE feeds SET head = (SELECT coalesce(max(number), 0) FROM changes WHERE owner = :owner)
WHERE owner = :owner;

-- advance_feed: take so many numbers, if an owner has a feed; the last one
UPDATE feeds SET head = head + :count WHERE owner = :owner RETURNING head;

-- note_change: a thing changed last under this number
INSERT INTO changes (owner, kind, name, number, gone) VALUES (:owner, :kind, :name, :number, :gone)
ON CONFLICT (owner, kind, name) DO UPDATE SET
number = excluded.number, gone = excluded.gone, refused = NULL;

-- changes_after: the changes behind a number
SELECT kind, name, number, gone, refused FROM changes
WHERE owner = :owner AND number > :after ORDER BY number LIMIT :limit;

-- settle_change: a thing has no number any more, unless it changed again
DELETE FROM changes WHERE owner = :owner AND kind = :kind AND name = :name AND number = :number;

-- refuse_change: why the server does not take a change
UPDATE changes SET refused = :reason
WHERE owner = :owner AND kind = :kind AND name = :name AND number = :number;

-- close_feed: number no more changes
DELETE FROM feeds WHERE owner = :owner;

-- forget_all_changes: and forget those that were
DELETE FROM changes WHERE owner = :owner;

-- remove_share_named: remove a share that holds, as if it had never been
DELETE FROM shares WHERE owner = :owner AND number IN (SELECT named.number FROM /*named_shares*/);

-- remove_link_named: remove every link there ever was of one kind between two memories
DELETE FROM links WHERE owner = :owner AND source = :source AND kind = :kind AND target = :target;

-- rows_behind: the rows of the versions of a memory behind one
SELECT row FROM memories WHERE owner = :owner AND id = :id AND version > :version;

-- delete_behind: remove the versions of a memory behind one
DELETE FROM memories WHERE owner = :owner AND id = :id AND version > :version;

-- forget_secrets_behind: remove what they kept sealed
DELETE FROM secrets WHERE owner = :owner AND id = :id AND version > :version;

-- peer: the server of a replica
SELECT url, user_name, epoch, cursor, pulled_at, pushed_at, pull_error, push_error, shared_at,
shared_error FROM peers WHERE owner = :owner;

-- keep_peer: how far a replica has come with its server
INSERT INTO peers (
    owner, url, user_name, epoch, cursor, pulled_at, pushed_at, pull_error, push_error, shared_at,
    shared_error
) VALUES (
    :owner, :url, :user, :epoch, :cursor, :pulled_at, :pushed_at, :pull_error, :push_error,
    :shared_at, :shared_error
) ON CONFLICT (owner) DO UPDATE SET
url = excluded.url, user_name = excluded.user_name, epoch = excluded.epoch, cursor = excluded.cursor,
pulled_at = excluded.pulled_at, pushed_at = excluded.pushed_at, pull_error = excluded.pull_error,
push_error = excluded.push_error, shared_at = excluded.shared_at,
shared_error = excluded.shared_error;

-- forget_peer: a replica has no server any more
DELETE FROM peers WHERE owner = :owner;

-- keep_peer_number: the server gave a thing this number
INSERT INTO peer_numbers (owner, kind, name, number) VALUES (:owner, :kind, :name, :number)
ON CONFLICT (owner, kind, name) DO UPDATE SET number = excluded.number;

-- forget_peer_numbers: the numbers of the server mean nothing any more
DELETE FROM peer_numbers WHERE owner = :owner;

-- remove_conflict_named: remove one conflict, however often it was kept
DELETE FROM conflicts
WHERE owner = :owner AND kind = :kind AND subject_kind = :subject_kind
AND subject_name = :subject_name AND served = :served AND other = :other;

-- resolve_conflict: take a conflict off the list
UPDATE conflicts SET resolved_at = :at
WHERE owner = :owner AND number = :number AND resolved_at = 9223372036854775807
RETURNING /*conflict*/;

-- forget_conflicts: forget every conflict
DELETE FROM conflicts WHERE owner = :owner;
