-- A database for a while, on a server that has others too.

-- create_scratch: make it, without anything that an operator put into the usual template
CREATE DATABASE {database} TEMPLATE template0;

-- drop_scratch: remove it, even while clients are connected to it
DROP DATABASE IF EXISTS {database} WITH (FORCE);
