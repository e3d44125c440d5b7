"""One run of a hook: what is said comes in as JSON, and leaves as JSON, in time or not at all."""

from __future__ import annotations

import json
import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from . import settings
from .settings import HookSettings, default_file

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

    def __init__(self, place: HookSettings, event: str) -> None:
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
        settings.write_log(self._place.folder, self._event, self.began, note, good=good)
        os._exit(0)

    def _wait(self) -> None:
        while time.monotonic() < self.until:
            time.sleep(_MOST_WAITING)
        self.end(b"", "out of time", good=False)


def main(arguments: list[str]) -> None:
    """Answer an event. It never fails, and never says why not."""
    event = arguments[0] if arguments else ""
    place = HookSettings(arguments[1] if len(arguments) > 1 else default_file())
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


def _answer(place: HookSettings, event: str, watch: Watch) -> Outcome:
    said = json.loads(sys.stdin.buffer.read(_LONGEST_INPUT))
    if not isinstance(said, dict):
        return None, "no event"
    # What an event does not need is not loaded.
    if event == "UserPromptSubmit":
        from . import prompt  # noqa: PLC0415

        return prompt.answer(place, said, watch.until)
    if event == "SessionStart":
        from . import session_start  # noqa: PLC0415

        output, note = session_start.answer(place, said, watch.until)
        if note == session_start.STARTED:
            _behind(
                place, event, lambda: session_start.warm_up(place), session_start.WARM_UP_SECONDS
            )
        return output, note
    if event == "PreToolUse":
        return permission(said)
    if event in {"Stop", "PreCompact"}:
        return _after_turn(place, event, said)
    return None, "no such event"


def _after_turn(place: HookSettings, event: str, said: dict[str, Any]) -> Outcome:
    from . import turns  # noqa: PLC0415  as above

    work = turns.compacting if event == "PreCompact" else turns.learn
    if not turns.is_due(said):
        return None, "nothing to do"
    return _behind(place, event, lambda: work(place, said), turns.SECONDS)


def _behind(place: HookSettings, event: str, work: Callable[[], str], seconds: float) -> Outcome:
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
    from .memory_text import encoded  # noqa: PLC0415  most answers are empty

    return encoded(output)


def _why(exc: Exception) -> str:
    """What went wrong, without what was said or answered."""
    from .server_call import Unanswered  # noqa: PLC0415  most runs need none of it

    if isinstance(exc, Unanswered):
        return f"the server: {exc}"
    return type(exc).__name__


EVENT = "PreToolUse"
#: The tools of our server, added by hand or by the plugin.
PREFIXES = ("mcp__bearinmind__", "mcp__plugin_bearinmind_bearinmind__")
#: None of them shows a secret, shares anything, or hides what is there.
ALLOWED = frozenset(
    {
        "memory_recall",
        "memory_list",
        "memory_get",
        "memory_count",
        "memory_why",
        "memory_timeline",
        "memory_store",
        "memory_link",
    }
)


def permission(said: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """That a tool may be used without asking the user; nothing about any other."""
    name, given = said.get("tool_name"), said.get("tool_input")
    prefix = next((each for each in PREFIXES if str(name).startswith(each)), None)
    tool = str(name)[len(prefix) :] if prefix else ""
    if tool not in ALLOWED or not isinstance(given, dict) or not _only_adds(given):
        return None, "asks the user"
    decided = {
        "hookEventName": EVENT,
        "permissionDecision": "allow",
        "permissionDecisionReason": "This tool of Bear in Mind reads memories or adds one.",
    }
    return {"hookSpecificOutput": decided}, f"allowed {tool}"


def _only_adds(given: dict[str, Any]) -> bool:
    """Whether a call neither seals a secret nor has one memory stand in for another."""
    return not (
        given.get("sensitive") or given.get("supersedes") or given.get("kind") == "supersedes"
    )
