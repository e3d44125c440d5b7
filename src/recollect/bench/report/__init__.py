"""One self-contained HTML page about one or more runs."""

from recollect.bench.report.page import render
from recollect.bench.report.runs import comparable, labels

__all__ = ["comparable", "labels", "render"]
