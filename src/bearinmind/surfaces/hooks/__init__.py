"""Memory that is simply there: what Bear in Mind adds to agents, and how it gets there."""
