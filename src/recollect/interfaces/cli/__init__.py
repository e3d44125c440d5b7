"""The command line."""

from recollect.interfaces.cli.main import app, main

__all__ = ["app", "main"]
