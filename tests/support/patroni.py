"""A real cluster of Patroni nodes on this machine, from the files that deploy/patroni/ ships."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

import httpx

from support.other_user import open_python
from support.processes import (
    alive,
    as_account,
    children,
    free_ports,
    needed,
    own,
    postgres_programs,
    private_folder,
    wait_until,
)

DEPLOY = Path(__file__).parents[2] / "deploy" / "patroni"

#: The shortest times that Patroni takes, so that a fail-over needs seconds and not half a minute.
QUICK = {
    "ttl: 30": "ttl: 20",
    "loop_wait: 10": "loop_wait: 1",
    "retry_timeout: 10": "retry_timeout: 3",
}

_NAMES = "abc"


class Node:
    """One node: a Patroni process, and the server that it starts and watches."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self.home = home
        self.data = home / "data"
        self.port, self.rest_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, configuration: Path, environment: Mapping[str, str]) -> None:
        python = open_python()
        self._process = as_account(
            [python.program, "-m", "patroni", str(configuration)],
            environment={**python.environment, **environment, **self._own_environment()},
            log=self.home / "patroni.log",
        )

    def role(self) -> str:
        """What the node says that it is: primary, replica, or nothing as long as it starts."""
        try:
            answer = httpx.get(f"http://127.0.0.1:{self.rest_port}/patroni", timeout=2).json()
        except (httpx.HTTPError, ValueError):
            return ""
        return str(answer["role"]) if answer.get("state") == "running" else ""

    def kill(self) -> None:
        """Everything of the node dies at once, as when its machine loses power."""
        server = self._server()
        doomed = [server, *children(server)] if server else []
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(alive, doomed)))

    def log(self) -> str:
        """What Patroni and the server said last."""
        return (self.home / "patroni.log").read_text(errors="replace")[-1_500:]

    def died(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _server(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return None

    def _own_environment(self) -> dict[str, str]:
        rest, server = f"127.0.0.1:{self.rest_port}", f"127.0.0.1:{self.port}"
        return {
            "PATRONI_NAME": self.name,
            "PATRONI_RESTAPI_LISTEN": rest,
            "PATRONI_RESTAPI_CONNECT_ADDRESS": rest,
            "PATRONI_POSTGRESQL_LISTEN": server,
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": server,
            "PATRONI_POSTGRESQL_DATA_DIR": str(self.data),
            "PATRONI_POSTGRESQL_PGPASS": str(self.home / "pgpass"),
        }


class Cluster:
    """Patroni nodes and the etcd in which they agree on a leader; gone when it is stopped."""

    def __init__(self, *, times: Mapping[str, str] = QUICK) -> None:
        self._times = times
        self._folder = private_folder()
        self._password = secrets.token_hex(8)
        self._etcd: subprocess.Popen[bytes] | None = None
        self._etcd_port, self._etcd_peer_port = free_ports(2)
        self.nodes: list[Node] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, nodes: int = 3) -> None:
        """Start so many nodes, and wait until one leads and the others follow."""
        self._configuration = self._write_files()
        self._start_etcd()
        self.nodes = [Node(name, self._make_folder(name)) for name in _NAMES[:nodes]]
        for node in self.nodes:
            self.start_node(node)
        self.wait_until_whole()

    def start_node(self, node: Node) -> None:
        """Start a node, for the first time or once more."""
        node.start(self._configuration, self._environment())

    def url(self, *nodes: Node, wanted: str = "read-write") -> str:
        """A URL of these nodes, or of all of them, for a session of the wanted kind."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes or self.nodes)
        options = f"target_session_attrs={wanted}&passfile={quote(str(self._passfile), safe='')}"
        return f"postgresql://bearinmind@{hosts}/bearinmind?{options}"

    def administrator_url(self, node: Node) -> str:
        """A URL of the superuser of one node."""
        return f"postgresql://postgres:{self._password}@127.0.0.1:{node.port}/bearinmind"

    def leader(self) -> Node:
        """The node that takes writes; waits until there is one."""
        return self._first("primary")

    def standby(self) -> Node:
        """A node that follows the leader; waits until there is one."""
        return self._first("replica")

    def kill_leader(self) -> Node:
        """The leader dies at once, its server with it."""
        leader = self.leader()
        leader.kill()
        return leader

    def wait_until_whole(self) -> None:
        """Wait until one node leads and all others follow, one of them synchronously."""
        wait_until(self._whole, complaint=self._logs)

    def stop(self) -> None:
        """Everything that was started ends, and its files are gone."""
        for node in self.nodes:
            node.kill()
        if self._etcd:
            self._etcd.kill()
            self._etcd.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _passfile(self) -> Path:
        return self._folder / "passfile"

    def _first(self, role: str) -> Node:
        """The first node of a role; a busy machine may take a while to tell."""
        nodes: list[Node] = []

        def look() -> bool:
            nodes[:] = [node for node in self.nodes if node.role() == role]
            return bool(nodes)

        wait_until(look, complaint=self._logs)
        return nodes[0]

    def _whole(self) -> bool:
        assert not any(node.died() for node in self.nodes), self._logs()
        try:
            address = f"http://127.0.0.1:{self.nodes[0].rest_port}/cluster"
            members = httpx.get(address, timeout=2).json()["members"]
        except (httpx.HTTPError, ValueError, KeyError):
            return False
        kinds = sorted(member["role"] for member in members if member["state"] != "stopped")
        followers = ["replica"] * (len(self.nodes) - 2) + ["sync_standby"]
        streaming = all(m["state"] == "streaming" for m in members if m["role"] != "leader")
        return streaming and kinds == sorted(["leader", *followers][: len(self.nodes)])

    def _start_etcd(self) -> None:
        client, peer = (
            f"http://127.0.0.1:{port}" for port in (self._etcd_port, self._etcd_peer_port)
        )
        options = {
            "data-dir": str(self._make_folder("etcd") / "data"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        }
        self._etcd = as_account(
            [needed("etcd"), *(f"--{name}={value}" for name, value in options.items())],
            environment={"PATH": os.environ["PATH"]},
            log=self._folder / "etcd.log",
        )
        wait_until(lambda: self._etcd_answers(client))

    def _etcd_answers(self, client: str) -> bool:
        try:
            return httpx.get(f"{client}/health", timeout=2).is_success
        except httpx.HTTPError:
            return False

    def _write_files(self) -> Path:
        """The files of the deployment with this machine's paths and times."""
        text = (DEPLOY / "patroni.yml").read_text()
        script = self._give("make-database", (DEPLOY / "make-database").read_text())
        script.chmod(0o700)
        for old, new in {**self._times, "/etc/patroni/make-database": str(script)}.items():
            assert old in text, old
            text = text.replace(old, new)
        self._give("password", self._password)
        self._give("passfile", f"*:*:*:*:{self._password}\n", ours=True)
        return self._give("patroni.yml", text)

    def _environment(self) -> dict[str, str]:
        users = {"SUPERUSER": "postgres", "REPLICATION": "replicator", "REWIND": "rewinder"}
        logins = {f"PATRONI_{user}_USERNAME": name for user, name in users.items()}
        passwords = {f"PATRONI_{user}_PASSWORD": self._password for user in users}
        return {
            **logins,
            **passwords,
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "PATRONI_ETCD3_HOSTS": f"127.0.0.1:{self._etcd_port}",
            "PATRONI_POSTGRESQL_BIN_DIR": str(postgres_programs().folder),
            "BEARINMIND_PASSWORD_FILE": str(self._folder / "password"),
        }

    def _make_folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(mode=0o700)
        own(folder)
        return folder

    def _give(self, name: str, text: str, *, ours: bool = False) -> Path:
        """A private file of the account that runs the nodes, or of whoever runs the test."""
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_text(text)
        if not ours:
            own(path)
        return path

    def _logs(self) -> str:
        return "\n".join(f"--- {node.name}\n{node.log()}" for node in self.nodes)


@contextmanager
def cluster(nodes: int = 3, *, times: Mapping[str, str] = QUICK) -> Iterator[Cluster]:
    """A running cluster, gone afterwards."""
    with Cluster(times=times) as started:
        started.start(nodes)
        yield started
