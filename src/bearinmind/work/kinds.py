"""The kinds of background work, by which the queue knows them."""

from __future__ import annotations

EMBED = "embed"  #: a memory's text becomes a vector
EXTRACT = "extract"  #: a memory is read for the concept graph
KINDS = (EMBED, EXTRACT)
