"""The baselines by the names under which a run asks for them."""

from __future__ import annotations

from collections.abc import Mapping

from bearinmind.bench.baselines.dense import ExactCosine
from bearinmind.bench.baselines.fts import EarlierLexical, Fts5AndOr, Fts5Porter
from bearinmind.bench.baselines.fused import LexicalFusion, ReciprocalRankFusion
from bearinmind.bench.baselines.library import Bm25Library
from bearinmind.bench.baselines.ranking import Baseline

BASELINES: Mapping[str, type[Baseline]] = {
    "earlier": EarlierLexical,
    "fts5-and-or": Fts5AndOr,
    "fts5-porter": Fts5Porter,
    "bm25s": Bm25Library,
    "cosine": ExactCosine,
    "rrf": ReciprocalRankFusion,
    "rrf-lexical": LexicalFusion,
}
