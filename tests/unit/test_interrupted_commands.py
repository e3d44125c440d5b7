"""An interrupt ends a command with the status of one, whatever it breaks on its way out."""

from __future__ import annotations

import pytest
import typer

from bearinmind.surfaces.cli.main import INTERNAL, INTERRUPTED, guarded


def interrupted() -> None:
    """An interrupt arrives while something is being closed."""
    try:
        raise KeyboardInterrupt
    finally:
        raise ValueError("half of it is closed")


def broken() -> None:
    raise ValueError("a fault of ours")


@pytest.mark.parametrize(("command", "status"), [(interrupted, INTERRUPTED), (broken, INTERNAL)])
def test_what_an_interrupt_breaks_is_no_fault(command: object, status: int) -> None:
    assert callable(command)
    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    assert ended.value.exit_code == status
