"""A model does not answer, or not as it should."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bearinmind.errors.base import MindError


class ModelFailure(MindError):
    """A model does not answer, or not as it should."""

    hint = "Check the `llm_url`, `llm_model` and `llm_key` settings, and that the server is up."


class WorkFailure(ModelFailure):
    """A model could not do a piece of background work."""

    def __init__(
        self,
        message: str = "",
        *,
        hint: str = "",
        permanent: bool = False,
        retry_after: float | None = None,
        refused: Sequence[int] = (),
        untried: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.permanent = permanent  #: trying the same again is of no use
        self.retry_after = retry_after  #: seconds that the server asked for
        self.refused = tuple(refused)  #: positions of the texts at fault, where they are known
        self.untried = untried  #: nothing was asked of it, so this counts as no attempt


class EmbedderFailure(WorkFailure):
    """The embedder does not answer, or not as it should."""

    hint = "`bearinmind doctor` says how the embedder does; recall goes on by words meanwhile."


class ExtractorFailure(WorkFailure):
    """The extractor of the concept graph does not answer, or not as it should."""

    hint = "`bearinmind doctor` says how the extractor does; recall goes on without new edges."
    #: What other extractors had found in the same memories before this one failed.
    found: Sequence[Any] = ()


class RerankerFailure(ModelFailure):
    """The reranker does not answer, or not as it should."""

    hint = "Recall goes on in the fused order; check the `reranker` settings."
