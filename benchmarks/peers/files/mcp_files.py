"""Store with the tools of two MCP servers, and keep the files that they write.

mcp_files.py reference FOLDER COMMAND...     @modelcontextprotocol/server-memory
mcp_files.py basic-memory FOLDER COMMAND...  basic-memory mcp
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peers.files.facts import facts


class Server:
    """A server that is spoken to over standard input and output."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | environment,
        )
        self._number = 0
        client = {"name": "files", "version": "1"}
        self._ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> None:
        """Call a tool; a failure ends the script."""
        result = self._ask("tools/call", name=tool, arguments=arguments)["result"]
        if result.get("isError"):
            raise SystemExit(str(result))

    def close(self) -> None:
        """End the server."""
        self._process.communicate(timeout=30)

    def _ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": parameters})
        while True:
            answer: dict[str, Any] = json.loads(self._stdout.readline())
            if answer.get("id") == self._number:
                return answer

    @property
    def _stdout(self) -> Any:  # noqa: ANN401  a pipe, which is always there
        return self._process.stdout

    def _send(self, message: dict[str, object]) -> None:
        stdin: Any = self._process.stdin
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        stdin.flush()


def write_graph(command: Sequence[str], target: Path) -> None:
    """Entities with observations, and relations, as `knowledge-graph.jsonl`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.jsonl"
        server = Server(command, {"MEMORY_FILE_PATH": str(path)})
        every = [*facts()]
        topics = [*dict.fromkeys(fact.topic for fact in every)]
        server.call(
            "create_entities",
            entities=[
                {
                    "name": f"{topic} service",
                    "entityType": "service",
                    "observations": [fact.text for fact in every if fact.topic == topic],
                }
                for topic in topics
            ]
            + [{"name": "Priya", "entityType": "person", "observations": []}],
        )
        server.call(
            "create_relations",
            relations=[
                {"from": "Priya", "to": f"{topic} service", "relationType": "maintains"}
                for topic in topics
            ],
        )
        server.close()
        (target / "knowledge-graph.jsonl").write_bytes(path.read_bytes())


def write_notes(command: Sequence[str], target: Path) -> None:
    """Notes with observations, relations and tags, as `basic-memory.tar.gz`."""
    with TemporaryDirectory() as folder:
        home = Path(folder) / "notes"
        environment = {"HOME": folder, "BASIC_MEMORY_HOME": str(home), "BASIC_MEMORY_ENV": "test"}
        server = Server(command, environment)
        for number, topic, text in facts():
            server.call(
                "write_note",
                title=f"{topic.capitalize()} note {number}",
                folder=topic,
                tags=[topic, f"team-{number % 7}"],
                note_type="note",
                project="main",
                content=_note(number, topic, text),
            )
        server.close()
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path in sorted(home.rglob("*.md")):
                archive.add(path, str(path.relative_to(home)))
    (target / "basic-memory.tar.gz").write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


def _note(number: int, topic: str, text: str) -> str:
    before = f"- follows [[{_title(number - 1)}]]\n" if number else ""
    return (
        f"# {topic.capitalize()} note {number}\n\n{text}\n\n"
        f"## Observations\n- [fact] {text} #{topic} (seen in ticket {number})\n\n"
        f"## Relations\n{before}- part_of [[Overview]]\n"
    )


def _title(number: int) -> str:
    topic = [*facts(number + 1)][number].topic
    return f"{topic.capitalize()} note {number}"


def main() -> None:
    """Write the file of one server."""
    which, folder, *command = sys.argv[1:]
    write = {"reference": write_graph, "basic-memory": write_notes}[which]
    write(command, Path(folder))


if __name__ == "__main__":
    main()
