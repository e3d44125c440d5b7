"""One self-contained HTML page about one or more runs."""

from bearinmind.bench.report.page import render
from bearinmind.bench.report.runs import comparable, labels

__all__ = ["comparable", "labels", "render"]
