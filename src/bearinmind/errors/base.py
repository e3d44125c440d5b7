"""The base class of every error."""

from __future__ import annotations

import re
from typing import ClassVar


class MindError(Exception):
    """Bear in Mind could not do what was asked."""

    code: ClassVar[str] = "mind_error"
    hint: str = ""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.hint = hint or type(self).hint

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def message(self) -> str:
        """What was wrong, in one sentence."""
        return str(self.args[0])
