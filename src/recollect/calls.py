"""Calls to other people's HTTP servers: time-outs, retries with back-off, rate limits."""
