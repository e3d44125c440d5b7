"""What every test may count on: no home, no settings from outside, the same examples every time."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, settings

from bearinmind.app import Mind
from bearinmind.config import PROVIDER_VARIABLES, Settings
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock, counting_ids, empty_file
from bearinmind.types import Memory, MemoryId, Provenance, UserId
from support.other_user import description, shared_folder

if TYPE_CHECKING:
    from support.postgres_server import Databases

CITUS = bool(os.environ.get("CITUS_URL"))  #: Postgres is a store that is spread over a cluster
AGENT_VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")  #: where agents keep their settings

settings.register_profile(
    "bearinmind",
    derandomize=True,
    max_examples=int(os.environ.get("BEARINMIND_EXAMPLES", "20")),  # `make bench-properties`: more
    deadline=None,  # a busy machine is no reason to fail
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("quick", settings.get_profile("bearinmind"), max_examples=10)
settings.load_profile("bearinmind")

# Threads of numpy wait by running, which costs what the tests beside them could use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# In the background of a shell interrupts are ignored, and what the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


_homes = count(1)
_left: list[str] = []  #: why the present test is none of the quick ones


def _stay_in_this_process(event: str, arguments: tuple[object, ...]) -> None:
    """Skip a test that starts a process or loads the library that runs models.

    So `make quick` is what is left of the unit tests without them, and nobody keeps a list.
    """
    if "PYTEST_CURRENT_TEST" not in os.environ:
        return
    if event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}:
        _left.append("starts a process")
    elif event == "import" and arguments[0] == "onnxruntime":
        _left.append("loads a model")
    else:
        return
    pytest.skip(_left[-1])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A quick test that fails because of one of its threads was skipped is skipped itself."""
    report = yield
    if report.failed and _left:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, _left[-1])
    if report.when == "teardown":
        _left.clear()
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="skip what needs more than this process")


@contextmanager
def _files_in_memory() -> Iterator[None]:
    """Where there is room, all temporary folders are in memory: no commit waits for a disk.

    What a killed process leaves is the same there; no test cuts the power.
    """
    memory = Path("/dev/shm")  # noqa: S108  pytest makes a private folder in it
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not _has_room(memory):
        yield  # one of several processes, or the disk
        return
    with tempfile.TemporaryDirectory(
        dir=memory, prefix="bearinmind-run-", ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": str(memory), "TMPDIR": folder}
        tempfile.tempdir = None  # where they were before the variable was set
        yield


def _has_room(memory: Path) -> bool:
    if not memory.is_dir() or not os.access(memory, os.W_OK):
        return False
    system = os.statvfs(memory)
    room = system.f_bavail * system.f_frsize >= 4 * 2**30  # the tests need a tenth of it
    return room and not system.f_flag & os.ST_NOEXEC  # some tests write programs


def pytest_configure(config: pytest.Config) -> None:
    """The processes of a run share a folder."""
    if config.getoption("quick"):
        sys.addaudithook(_stay_in_this_process)
        settings.load_profile("quick")
    opened = ExitStack()
    opened.enter_context(shared_folder())  # on the disk of the programs that it links
    opened.enter_context(_files_in_memory())
    config.add_cleanup(opened.close)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say in one line which users and which Python the tests take; the header is not shown."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        reporter.write_line(description())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Programs of others are only run by whoever names their folder, as `make test-agents` does."""
    named = any("tests/agents" in argument for argument in config.args)
    return True if collection_path.name == "agents" and not named else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is made while tests are collected is garbage, and it stays to the end."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


@pytest.hookimpl(trylast=True)  # after the tests are shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no process is left alone with it at the end.

    Every process gets an equal part of the list. The long tests of a file stay together in one of
    them, since they may share what takes long, and so do those that share a browser.
    """
    long: dict[object, list[pytest.Item]] = {}
    for item in items:
        if _seconds(item):
            long.setdefault("tab" if _in_browser(item) else item.path, []).append(item)
    others = (item for item in items if not _seconds(item))
    parts: list[list[pytest.Item]] = [[] for _ in range(_processes())]
    for some in sorted(long.values(), key=lambda some: -sum(map(_seconds, some))):
        min(parts, key=lambda part: sum(map(_seconds, part))).extend(some)
    left = len(items)
    for number, part in enumerate(parts):
        part.extend(islice(others, max(0, left // (len(parts) - number) - len(part))))
        left -= len(part)
    items[:] = [*chain(*parts), *others]


def _seconds(item: pytest.Item) -> float:
    """How long a test takes that is marked as long, or needs what takes long to start."""
    marker = item.get_closest_marker("long")
    return float(marker.kwargs["seconds"]) if marker else float(_in_browser(item))


def _in_browser(item: pytest.Item) -> bool:
    return "tab" in getattr(item, "fixturenames", ())


def _processes() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


@pytest.fixture(autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes what belongs to whoever runs it."""
    # Not by `mktemp`, which reads the names of all folders before it makes one.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_homes))
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for variable, folder in {
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_CACHE_HOME": ".cache",
        "XDG_STATE_HOME": ".local/state",
    }.items():
        monkeypatch.setenv(variable, str(home / folder))
    for name in [name for name in os.environ if name.startswith("BEARINMIND_")]:
        if not name.startswith("BEARINMIND_CRASH_"):  # how long the acceptance tests go on
            monkeypatch.delenv(name)
    for variable in chain(AGENT_VARIABLES, *PROVIDER_VARIABLES.values()):
        monkeypatch.delenv(variable, raising=False)
    # No test leaves a process behind; those about background work turn it on themselves.
    monkeypatch.setenv("BEARINMIND_WORKER", "off")


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[Databases]:
    """The Postgres server of all tests: `fresh()` is the URL of a new database, for `drop`."""
    if request.config.getoption("quick"):
        pytest.skip("needs Postgres")
    if CITUS:  # `make test-citus`
        from support.citus_cluster import hurried  # noqa: PLC0415  most tests need no driver

        with hurried() as spread:
            yield spread
        return
    from support.postgres_server import shared_databases  # noqa: PLC0415  as above

    with shared_databases() as databases:
        yield databases


@pytest.fixture
def postgres_url(postgres: Databases) -> Iterator[str]:
    """A fresh, empty database."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)


@pytest.fixture(scope="session")
def _migrated(postgres: Databases) -> Iterator[str]:
    """The name of a database with the present schema, to be copied."""
    url = postgres.migrated()
    yield urlsplit(url).path.strip("/")
    postgres.drop(url)


@pytest.fixture
def migrated_database(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Makes databases with the present schema: their URLs."""
    made: list[str] = []

    def make_database() -> str:  # only who calls it needs the server
        template = request.getfixturevalue("_migrated")
        made.append(request.getfixturevalue("postgres").fresh(template))
        return made[-1]

    yield make_database
    for url in made:
        request.getfixturevalue("postgres").drop(url)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "memories.db"


@pytest.fixture
def open_memory(path: Path, clock: FixedClock) -> Iterator[Callable[..., Mind]]:
    """Opens the store at `path` with a fixed clock and counted ids; settings are keywords."""
    opened: list[Mind] = []
    new_id = counting_ids()

    def open_(**fields: object) -> Mind:
        chosen = Settings.model_validate({"store": path, **fields})
        if not path.exists():  # as the store would, in a tenth of the time
            path.write_bytes(empty_file())
        opened.append(Mind(SqliteStore(path), chosen, clock=clock, new_id=new_id))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Mind]) -> Mind:
    """An empty memory in a file."""
    return open_memory()


@pytest.fixture
def noon() -> datetime:
    """When everything is made that does not say otherwise."""
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def make(noon: datetime) -> Callable[..., Memory]:
    """Makes a memory; whatever is not given has a plain value."""
    new_id = counting_ids()

    def make_memory(content: str = "", **fields: object) -> Memory:
        id_ = MemoryId(str(fields.pop("id", None) or new_id()))
        created_at = fields.pop("created_at", noon)
        plain: dict[str, object] = {
            "id": id_,
            "owner": UserId("ada"),
            "content": content or f"memory {id_}",
            "category": "facts",
            "tags": (),
            "keywords": (),
            "importance": 0.5,
            "sensitive": False,
            "created_at": created_at,
            "updated_at": created_at,
            "deleted_at": None,
            "valid_from": None,
            "valid_to": None,
            "provenance": Provenance(),
            "version": 1,
        }
        return Memory(**(plain | fields))  # type: ignore[arg-type]

    return make_memory
