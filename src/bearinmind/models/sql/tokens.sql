-- How many tokens each model was asked for on each day.

-- create: the table
CREATE TABLE IF NOT EXISTS spent (
  day TEXT NOT NULL,
  account TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (day, account)
);

-- spent: by an account on a day
SELECT tokens FROM spent WHERE day = :day AND account = :account;

-- add: to what was spent, or take from it
INSERT INTO spent (day, account, tokens) VALUES (:day, :account, max(0, :tokens))
ON CONFLICT (day, account) DO UPDATE SET tokens = max(0, tokens + :tokens);

-- forget: what nobody asks about any more
DELETE FROM spent WHERE day < :day;
