-- Limits of requests hold for all servers of a store together.
-- From when on a client may again do all that a minute allows; counted for all servers together.
-- What is lost in a crash of the server is less than a minute's counts, and no commit waits for it.
CREATE UNLOGGED TABLE allowances (
    client TEXT COLLATE "C" PRIMARY KEY, -- a key, a user or the address of somebody without a good key
    full_at BIGINT NOT NULL,
    granted BIGINT NOT NULL -- the last portion that a server took
);
