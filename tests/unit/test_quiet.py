"""Nothing that Bear in Mind runs reports to anybody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bearinmind

SOURCES = Path(bearinmind.__file__).parent
PROGRAM = """
import os, sys
from pathlib import Path
from bearinmind.models.local import LocalEmbedder
LocalEmbedder("minilm").embed_query("Where are the keys?")
left = [path for path in Path.home().rglob("*") if path.is_file()]
held = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists()]
print(left, [name for name in held if "onnxruntime" in name or name.startswith("socket")])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at what Linux says of a process")
def test_a_model_that_was_run_leaves_no_files_and_no_connections() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ORT_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] []\n"


def test_onnxruntime_is_never_imported_before_it_was_told_to_be_quiet() -> None:
    for path in SOURCES.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for found in re.finditer(
            r"^ *(import onnxruntime|from (onnxruntime|fastembed)\b)", source, re.MULTILINE
        ):
            assert "disable_telemetry()" in source[: found.start()], path.name
