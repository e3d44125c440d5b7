"""What the files of an evaluation set of one's own hold, apart from what every set holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bearinmind.bench.inference import Verdict

FORMAT = 1
#: Who gave a grade when no model did.
USER = "user"
BEST = 3

Grade = Annotated[int, Field(ge=0, le=BEST)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Made(_Record):
    """Of one source: how many questions it gave, and why not more."""

    source: str
    queries: int
    rejected: Mapping[str, int] = {}
    why_none: str = ""


class About(_Record):
    """How a set was made."""

    format: int = FORMAT
    created_at: str
    bearinmind: str
    user: str
    seed: int
    memories: int
    left_out: int  #: memories that are questions themselves
    sensitive: int  #: memories that were never looked at
    generators: tuple[str, ...]  #: models that wrote questions
    sources: tuple[Made, ...]


class Judgement(_Record):
    """One grade for one memory and one question; of the same judge the last one counts."""

    query_id: str
    memory_id: str
    said: str  #: a fingerprint of both texts: a changed memory is judged anew
    grade: Grade | None  #: None takes the grade back
    by: str
    at: str


class Pair(_Record):
    """A memory that some arm gave back for a question."""

    query_id: str
    memory_id: str


class Written(_Record):
    """What a model wrote when it was asked for a question."""

    said: str  #: a fingerprint of the memory's text
    model: str
    question: str | None  #: None when it could not be used
    reason: str = ""  #: why not


class Figure(_Record):
    """What was found in one stratum."""

    stratum: str
    metric: str
    queries: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    corrected_p: float
    wins: int
    losses: int
    verdict: str


class Trial(_Record):
    """One comparison, whatever came of it."""

    at: str
    bearinmind: str
    code: str
    fingerprint: str
    split: str
    before: Mapping[str, Any]  #: all settings that were changed from the shipped defaults
    after: Mapping[str, Any]
    against: Mapping[str, Any]  #: what the first run was asked to change
    changed: Mapping[str, Any]  #: what the second run was asked to change
    figures: tuple[Figure, ...]  #: the headline first
    verdict: str
    unjudged: Mapping[str, int]  #: by run: memories of a first ten that nobody judged
    given: Mapping[str, int]  #: by run: memories of a first ten
    adopted: bool = False

    @property
    def better(self) -> bool:
        """Whether the second run may take the place of the first."""
        return self.verdict == Verdict.BETTER
