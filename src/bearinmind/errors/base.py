"""What every error is."""

from __future__ import annotations

import re
from typing import ClassVar


def _code_of(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class MindError(Exception):
    """Something Bear in Mind was asked to do could not be done."""

    code: ClassVar[str] = "mind_error"
    hint: str = ""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.hint = hint or type(self).hint

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = _code_of(cls.__name__)

    @property
    def message(self) -> str:
        """What was wrong, in one sentence."""
        return str(self.args[0])
