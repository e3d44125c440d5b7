"""One run of a hook: what is said comes in as JSON, and leaves as JSON, in time or not at all."""

from __future__ import annotations

import json
import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from . import log
from .place import Place, default_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Outcome = tuple[dict[str, Any] | None, str]

_STARTED = 0.05  # seconds that Python takes before it comes here, and after
_LONGEST_INPUT = 16_000_000  # bytes
_START_SECONDS = 1.5  # for a session that starts: nobody types meanwhile
_MOST_WAITING = 0.005  # between two looks at the clock


class Watch:
    """Ends the process, without a word, when its time is up; whatever it is doing."""

    def __init__(self, place: Place, event: str) -> None:
        self.began = time.monotonic()
        self.until = self.began + place.deadline - _STARTED
        self._place, self._event = place, event
        self._speaking = allocate_lock()

    def start(self) -> None:
        """Watch, from a thread of its own."""
        start_new_thread(self._wait, ())

    def end(self, output: bytes, note: str, *, good: bool) -> None:
        """Say something, or nothing, and end well: what went wrong is not the agent's concern."""
        self._speaking.acquire()  # from here on it says everything
        try:
            if output:
                os.write(1, output)
        except OSError:  # nobody listens any more
            note = "nobody listened"
        log.write(self._place.folder, self._event, self.began, note, good=good)
        os._exit(0)

    def _wait(self) -> None:
        while time.monotonic() < self.until:
            time.sleep(_MOST_WAITING)
        self.end(b"", "out of time", good=False)


def main(arguments: list[str]) -> None:
    """Answer an event. It never fails, and never says why not."""
    event = arguments[0] if arguments else ""
    place = Place(arguments[1] if len(arguments) > 1 else default_file())
    watch = Watch(place, event)
    try:
        if event == "SessionStart":
            watch.until = watch.began + max(_START_SECONDS, place.deadline)
        watch.start()
        output, note = _answer(place, event, watch)
        said = _encoded(output) if output else b""
    except Exception as exc:  # noqa: BLE001  an agent must not suffer from anything here
        watch.end(b"", _why(exc), good=False)
    else:
        watch.end(said, note, good=True)


def _answer(place: Place, event: str, watch: Watch) -> Outcome:
    said = json.loads(sys.stdin.buffer.read(_LONGEST_INPUT))
    if not isinstance(said, dict):
        return None, "no event"
    # What an event does not need is not loaded.
    if event == "UserPromptSubmit":
        from . import prompt  # noqa: PLC0415

        return prompt.answer(place, said, watch.until)
    if event == "SessionStart":
        from . import starting  # noqa: PLC0415

        output, note = starting.answer(place, said, watch.until)
        if note == starting.STARTED:
            _behind(place, event, lambda: starting.warm_up(place), starting.WARM_UP_SECONDS)
        return output, note
    if event == "PreToolUse":
        from . import permission  # noqa: PLC0415

        return permission.answer(said)
    if event in {"Stop", "PreCompact"}:
        return _after_turn(place, event, said)
    return None, "no such event"


def _after_turn(place: Place, event: str, said: dict[str, Any]) -> Outcome:
    from . import turns  # noqa: PLC0415  as above

    work = turns.compacting if event == "PreCompact" else turns.learn
    if not turns.is_due(said):
        return None, "nothing to do"
    return _behind(place, event, lambda: work(place, said), turns.SECONDS)


def _behind(place: Place, event: str, work: Callable[[], str], seconds: float) -> Outcome:
    """Do something in a process that stays behind: the agent goes on at once."""
    if hasattr(os, "fork") and os.fork():
        return None, "goes on behind"
    if hasattr(os, "fork"):
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # whoever reads our output would wait for its end
            os.dup2(nowhere, number)
    watch = Watch(place, f"{event} behind")
    watch.until = watch.began + seconds
    watch.start()
    try:
        note = work()
    except Exception as exc:  # noqa: BLE001  as above
        watch.end(b"", _why(exc), good=False)
    else:
        watch.end(b"", note, good=True)
    return None, ""


def _encoded(output: dict[str, Any]) -> bytes:
    from .giving import encoded  # noqa: PLC0415  most answers are empty

    return encoded(output)


def _why(exc: Exception) -> str:
    """What went wrong, without what was said or answered."""
    from .asking import Unanswered  # noqa: PLC0415  most runs need none of it

    if isinstance(exc, Unanswered):
        return f"the server: {exc}"
    return type(exc).__name__
