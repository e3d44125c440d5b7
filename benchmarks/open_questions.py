"""The figures of docs/explanation/open-questions.md that no other command gives.

    python benchmarks/open_questions.py PART --data DIR [--data DIR ...] [--choose NAME] [--keep]

Development queries alone, but for `reader` and `links`, which choose nothing. PART is one of:

    encoders    what each embedder finds alone and beside words, its milliseconds and bytes
    precision   rankings by 32-bit vectors against 16 and 8 bits
    rerankers   rerankers without a model, behind the same stage
    asking      terms that the asker adds, a focus, a boost: right ones and wrong ones
    concepts    embeddings of concepts: seeds for a question that names nothing, synonym edges
    links       what links bring to an answer, of each kind
    reader      whether what is recalled changes answers: --choose names a chat model to ask, too
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

from questions import found

PARTS = ("encoders", "precision", "rerankers", "asking", "concepts", "links", "reader")


def main() -> int:
    """Measure one part on each set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", type=Path, action="append", required=True, help="a set's folder")
    parser.add_argument("--choose", action="append", default=[], help="only these arms")
    parser.add_argument("--keep", action="store_true", help="keep it for the docs")
    options = parser.parse_args()
    measure = importlib.import_module(f"questions.{options.part}").measure
    for folder in options.data:
        result = measure(folder, options.choose)
        print(json.dumps({folder.name: result}, indent=1), flush=True)
        if options.keep:
            found.keep(options.part, folder.name, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
