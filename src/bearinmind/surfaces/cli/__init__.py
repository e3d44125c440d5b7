"""The command line."""

from bearinmind.surfaces.cli.main import app, main

__all__ = ["app", "main"]
