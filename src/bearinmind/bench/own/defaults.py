"""What `bench own` does when nothing else is said; here, so that the help can tell it quickly."""

from __future__ import annotations

SEED = 1
MOST = 200  #: questions of one source
MOST_CALLS = 100  #: of a model that writes questions
