"""What a process needs to fork and to end well while its threads run models.

A forked child has none of the threads of its parent, and would wait for ever for a lock that one
of them held. A thread that comes back from native code into a process that has ended takes it down
with `terminate called`.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

Result = TypeVar("Result")
Part = TypeVar("Part", bound="_Closed")

_LONGEST_WAIT = 60.0  # seconds for the batches in hand, when the process ends or forks


class _Closed(Protocol):
    def close(self) -> None:
        """Release what it holds."""


class _Renewed(Protocol):
    def renew(self) -> None:
        """Begin anew, in a child."""


_renewed: weakref.WeakSet[_Renewed] = weakref.WeakSet()


class Lock:
    """A lock that is free in a forked child, whoever held it in the parent."""

    def __init__(self, *, reentrant: bool = False) -> None:
        self._make = threading.RLock if reentrant else threading.Lock
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Be free."""
        self._lock = self._make()

    def acquire(self, seconds: float = -1) -> bool:
        """Take it, within so many seconds; whether it was free."""
        return self._lock.acquire(timeout=seconds)

    def release(self) -> None:
        """Give it back."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class MadeOnce(Generic[Part]):
    """A part of a process that `make` makes when it is first used; it may make None."""

    def __init__(self, make: Callable[[], Part | None]) -> None:
        self._make = make
        self._lock = Lock()
        self._part: Part | None = None
        self._is_made = False

    def configured(self) -> Part | None:
        """The part; None when there is to be none."""
        with self._lock:
            if not self._is_made:
                self._part = self._make()
                self._is_made = True
            return self._part

    def close(self) -> None:
        """Release the part; the next use makes another."""
        with self._lock:
            part, self._part, self._is_made = self._part, None, False
        if part is not None:
            part.close()


class Threads(Executor):
    """A pool of threads that a forked child makes anew."""

    def __init__(self, most: int | None, name: str) -> None:
        self._make: Callable[[], ThreadPoolExecutor] = lambda: ThreadPoolExecutor(
            most, thread_name_prefix=name
        )
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Begin with no thread."""
        self._pool = self._make()

    def submit(
        self,
        fn: Callable[..., Result],
        /,
        *args: Any,  # noqa: ANN401  as `Executor` has it
        **kwargs: Any,  # noqa: ANN401
    ) -> Future[Result]:
        """Have a thread call a function, in the context of who asks."""
        return self._pool.submit(contextvars.copy_context().run, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


class NativeCalls:
    """Counts the threads that are in the native code of a model."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Nobody is in native code."""
        self._changed = threading.Condition()
        self._running = 0
        self._barred = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be in native code for a while; waits while the process forks, for ever once it ends."""
        with self._changed:
            while self._barred:
                self._changed.wait()
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def bar(self) -> None:
        """Let nobody in, and wait until nobody is there."""
        with self._changed:
            self._barred += 1
            self._changed.wait_for(lambda: not self._running, _LONGEST_WAIT)

    def unbar(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._barred -= 1
            self._changed.notify_all()


#: Those of this process.
native_calls = NativeCalls()


def _renew() -> None:
    native_calls.renew()
    for each in [*_renewed]:
        each.renew()


atexit.register(native_calls.bar)
if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(
        before=native_calls.bar, after_in_parent=native_calls.unbar, after_in_child=_renew
    )
