"""Memory that is simply there: what Recollect adds to agents, and how it gets there."""
