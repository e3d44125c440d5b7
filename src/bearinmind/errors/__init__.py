"""Every error that Bear in Mind raises on purpose: a tree, whose root is `MindError`.

A surface maps *types* to exit codes and statuses, never the text of a message. Each error carries a
stable `code` for machines and a `hint` with the next step for people.
"""

# ruff: noqa: F403  the modules hold nothing but errors, and every one of them is exported

from __future__ import annotations

from bearinmind.errors.base import MindError
from bearinmind.errors.conflicts import *
from bearinmind.errors.failures import *
from bearinmind.errors.input import *

__all__ = [
    name
    for name, each in globals().items()
    if isinstance(each, type) and issubclass(each, MindError)
]
