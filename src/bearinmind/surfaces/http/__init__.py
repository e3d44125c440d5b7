"""The server: every verb over HTTP, made from the one table of verbs."""
