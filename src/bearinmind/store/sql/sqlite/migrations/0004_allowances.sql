-- Limits of requests hold for all servers of a store together.
-- From when on a client may again do all that a minute allows; counted for all servers together.
CREATE TABLE allowances (
    client TEXT PRIMARY KEY, -- a key, a user or the address of somebody without a good key
    full_at INTEGER NOT NULL,
    granted INTEGER NOT NULL -- the last portion that a server took
) STRICT, WITHOUT ROWID;
