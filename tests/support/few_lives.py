"""Random lives on stores that take long to make."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def lead_few_lives(begin: Callable[[], RuleBasedStateMachine], lives: settings) -> None:
    """Lead five lives, each of which needs a database of its own.

    So would each attempt to make a failing one shorter: none is made.
    """
    few = settings(lives, max_examples=5, phases=[Phase.generate])
    run_state_machine_as_test(cast("type[RuleBasedStateMachine]", begin), settings=few)
