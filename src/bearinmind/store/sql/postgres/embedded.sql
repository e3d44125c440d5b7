-- The one database of an embedded server, made while the server is installed.
CREATE DATABASE bearinmind;
