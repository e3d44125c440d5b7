"""The TypeScript client has the verbs of this release."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from bearinmind.surfaces.verbs.table import EVERY_VERB

PACKAGE = Path(__file__).parents[2] / "packages/typescript"


def test_the_generated_types_and_methods_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate_typescript", PACKAGE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)

    written = (PACKAGE / "src/api.ts").read_text(encoding="utf-8")

    assert written == generate.generated(), "run `make typescript`"
    for verb in EVERY_VERB:
        assert f'  "{verb.name}": {{"method": "{verb.method}", "path": "{verb.path}"' in written
