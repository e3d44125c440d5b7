"""Write a folder with the memory tool of the anthropic SDK: `memory_tool_files.py FOLDER`.

Run by the Python of an environment with `anthropic`. The commands are those that a model sends.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from peers.files.facts import facts


def main() -> None:
    """Create files, change one and insert into another; write `memory-tool.tar.gz`."""
    with TemporaryDirectory() as folder:
        tool = BetaLocalFilesystemMemoryTool(base_path=folder)
        for number, topic, text in facts():
            path = f"/memories/{topic}/note_{number}.md"
            tool.call({"command": "create", "path": path, "file_text": f"{text}\n"})
        change = {"old_str": "region 0", "new_str": "region zero"}
        path = "/memories/billing/note_0.md"
        tool.call({"command": "str_replace", "path": path, **change})
        lines = {"insert_line": 1, "insert_text": "- the queue is called jobs\n"}
        tool.call({"command": "insert", "path": "/memories/search/note_1.md", **lines})
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for file in sorted(Path(folder).rglob("*")):
                if file.is_file():
                    archive.add(file, str(file.relative_to(folder)))
    data = gzip.compress(packed.getvalue(), 9, mtime=0)
    (Path(sys.argv[1]) / "memory-tool.tar.gz").write_bytes(data)


if __name__ == "__main__":
    main()
