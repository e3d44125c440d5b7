"""Another user than root, and a Python that every user can start.

Root may read and write everything, and Postgres refuses to run as root. When root runs the tests,
another user shows what an ordinary user would see. That user cannot enter the home of root, where
Python, the environment or the checkout may be. Then a copy of all three is made where everybody can
enter, once for a run of the tests. An ordinary user who runs the tests is that user already.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import bearinmind
from bearinmind.store.postgres.binaries import Account, account_for

#: Names the folder that the processes of one run share.
_RUN = "TESTS_SHARED_FOLDER"
#: No data folder, whose owner would decide which account runs a server.
_NO_DATA = Path("/nowhere")
#: One module of the checkout and one of the environment.
_LOOK = "import bearinmind, patroni"
#: Parts of the standard library that no test needs: half of its bytes.
_UNUSED = shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib", "config-*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """A Python with everything that the tests' own has, and what starting it needs."""

    program: str
    environment: Mapping[str, str] = field(default_factory=dict)


def ordinary_account() -> Account | None:
    """The account of an ordinary user; None is the user who runs the tests."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid)


def server_account() -> Account | None:
    """The account that runs servers; None is the user who runs the tests."""
    return account_for(_NO_DATA)


def run_as_ordinary_user(code: str, *arguments: object) -> list[str]:
    """The lines that a Python program prints, which an ordinary user runs without complaints."""
    python, account = open_python(), ordinary_account()
    done = subprocess.run(
        [python.program, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # a busy machine is no reason to fail
        cwd="/",
        env={"PATH": os.environ["PATH"], "BEARINMIND_WORKER": "off", **python.environment},
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=() if account else None,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@cache
def open_python() -> Python:
    """A Python that every user can start: the one of the tests, or a copy of it."""
    if _everybody_can_start():
        return Python(program=sys.executable)
    place = _shared_folder() / "python"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=place.parent) as made:
            _copy_environment(Path(made) / "copy", place)
            with suppress(OSError):  # another process was faster
                Path(made, "copy").rename(place)
    libraries = {"LD_LIBRARY_PATH": str(place / "base" / "lib")}  # of a shared libpython
    return Python(program=str(place / "venv" / "bin" / "python"), environment=libraries)


@contextmanager
def shared_folder() -> Iterator[None]:
    """A folder that every process of this run shares and everybody can enter, gone afterwards."""
    if _RUN in os.environ:  # one of several processes; the first one ends it
        yield
        return
    with tempfile.TemporaryDirectory(prefix="bearinmind-run-", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)
        os.environ[_RUN] = made
        yield
        del os.environ[_RUN]


def description() -> str:
    """Which users and which Python the tests take, in one line."""
    ordinary, server = ordinary_account(), server_account()
    if ordinary is None or server is None:
        name = pwd.getpwuid(os.geteuid()).pw_name
        return f"Users: {name} for everything, with {sys.executable}"
    names = [pwd.getpwuid(account.uid).pw_name for account in (ordinary, server)]
    python = sys.executable
    if not _everybody_can_start():
        python = f"a copy of {python}, which {names[0]} cannot start"
    return f"Users: root; {names[0]} as another user, {names[1]} for servers, with {python}"


@cache
def _everybody_can_start() -> bool:
    account = ordinary_account()
    if account is None:
        return True
    try:
        done = subprocess.run(
            [sys.executable, "-c", _LOOK],
            capture_output=True,
            check=False,
            cwd="/",
            env={"PATH": os.environ["PATH"]},
            user=account.uid,
            group=account.gid,
            extra_groups=(),
        )
    except PermissionError:
        return False
    return done.returncode == 0


def _shared_folder() -> Path:
    return Path(os.environ[_RUN])


def _copy_environment(made: Path, place: Path) -> None:
    """Copy interpreter, standard library, environment and checkout; they will be moved to a place.

    The copy is a virtual environment too: Debian's Python looks for packages elsewhere in others.
    """
    library = Path(sysconfig.get_path("stdlib"))
    base, venv = made / "base", made / "venv"
    packages = venv / "lib" / library.name / "site-packages"
    _copy(library, base / "lib" / library.name, ignore=_UNUSED)
    _copy(Path(sysconfig.get_path("purelib")), packages)
    _copy(Path(bearinmind.__file__).parent, packages / "bearinmind")
    for folder in (base / "bin", venv / "bin"):
        folder.mkdir()
    _link(sys.executable, base / "bin" / library.name)
    (venv / "bin" / "python").symlink_to(place / "base" / "bin" / library.name)
    (venv / "pyvenv.cfg").write_text(f"home = {place / 'base' / 'bin'}\n")
    shared = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))
    if shared.exists():
        _link(shared, base / "lib" / shared.name)
    for parent, _, _ in os.walk(made):
        Path(parent).chmod(0o755)


def _copy(source: Path, target: Path, ignore: Callable[..., set[str]] | None = None) -> None:
    shutil.copytree(
        source, target, copy_function=_link, ignore=ignore, ignore_dangling_symlinks=True
    )


def _link(source: str | Path, target: str | Path) -> None:
    """Link a file, which takes no room; copy it where it cannot be linked or be read by others."""
    file = Path(source).resolve()
    if file.stat().st_mode & 0o004:
        with suppress(OSError):
            Path(target).hardlink_to(file)
            return
    shutil.copyfile(file, target)
    Path(target).chmod(0o755 if os.access(file, os.X_OK) else 0o644)
