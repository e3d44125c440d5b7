"""Files and standard streams, as text and as numbered lines; failures of the system become ours."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from bearinmind.errors import FileMissing, InvalidInput, InvalidRecord, InvalidText, MindError

STANDARD = "-"  # stands for standard input or output

_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # some editors begin UTF-8 files with it
_LONGEST = 64 * 2**20  # bytes of a line; longer ones are not records but another kind of file


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Failures of the file system become errors of Bear in Mind."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError as exc:
        raise FileMissing(f"there is no file {path!r}", hint=FileMissing.or_standard) from exc
    except OSError as exc:
        hint = "Check the path, its permissions and the space that is left."
        raise InvalidInput(f"{path!r} cannot be used: {exc.strerror}", hint=hint) from exc


def read_text(path: str) -> str:
    """The text of a file, or of standard input."""
    with translated(path):
        content = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
    try:
        return content.removeprefix(_MARK).decode()
    except UnicodeDecodeError as exc:
        name = "standard input" if path == STANDARD else repr(path)
        raise InvalidText(f"{name} is not UTF-8: {exc.reason} at byte {exc.start}") from exc


def is_piped() -> bool:
    """Whether standard input is something other than a keyboard."""
    return not sys.stdin.isatty()


# ---- reading -----------------------------------------------------------------------------------


@contextmanager
def opened(path: str) -> Iterator[io.BufferedIOBase]:
    """A file or standard input, decompressed if need be."""
    with translated(path), _raw(path) as raw:
        # A buffer of our own: not every standard input can be looked into before it is read.
        stream: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", raw))
        try:
            yield unpacked(stream)
        finally:
            stream.detach()


def unpacked(stream: io.BufferedReader) -> io.BufferedIOBase:
    """What a stream holds, decompressed if need be."""
    compressed = stream.peek(len(_GZIP)).startswith(_GZIP)
    return gzip.GzipFile(fileobj=stream) if compressed else stream


def _raw(path: str) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if path == STANDARD else Path(path).open("rb")


def numbered(stream: io.BufferedIOBase) -> Iterator[tuple[int, bytes | MindError]]:
    """The lines that are not blank, counted from 1; what cannot be read comes as the error."""
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(_LONGEST)
            too_long = len(line) == _LONGEST and not line.endswith(b"\n")
            if too_long:
                while (rest := stream.readline(_LONGEST)) and not rest.endswith(b"\n"):
                    pass
        except (EOFError, OSError, zlib.error) as exc:
            yield number, InvalidRecord(f"the file is damaged from here on: {exc}")
            return
        if not line:
            return
        if number == 1:
            line = line.removeprefix(_MARK)
        if too_long:
            yield number, InvalidRecord(f"the line is longer than {_LONGEST:,} bytes")
        elif line.strip():
            yield number, line


# ---- writing -----------------------------------------------------------------------------------


@contextmanager
def created(path: str) -> Iterator[Callable[[bytes], object]]:
    """Writes to a file or to standard output. A file appears only once it is whole."""
    place = Path(path)
    if path == STANDARD:
        yield sys.stdout.buffer.write
    elif place.exists() and not place.is_file():  # a folder cannot be written; a device can
        with translated(path), place.open("wb") as stream:
            yield stream.write
    elif not place.parent.is_dir():
        raise FileMissing.of_folder(place.parent)
    else:
        part = place.with_name(f"{place.name}.{os.getpid()}.part")
        try:
            with translated(path):
                with part.open("wb") as stream, _packed(place, stream) as write:
                    yield write
                part.replace(place)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def _packed(place: Path, stream: IO[bytes]) -> Iterator[Callable[[bytes], object]]:
    """Compresses when the name of the file says so."""
    if place.suffix != ".gz":
        yield stream.write
        return
    with gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0) as packed:
        yield packed.write
