"""One run of a hook: an event comes in as JSON, and the answer leaves as JSON, in time or never."""

from __future__ import annotations

import json
import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from .settings import OUT_OF_TIME, HookSettings, default_file, write_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Payload = dict[str, Any]
    Outcome = tuple[Payload | None, str]  # what is printed, and a note for the log

_STARTUP = 0.05  # seconds that Python takes before `main` begins, and after it ends
_LONGEST_INPUT = 16_000_000  # bytes
_START_SECONDS = 1.5  # for a session that starts: nobody types meanwhile
_TICK = 0.005  # seconds between two looks at the clock

#: The prefixes of our tools: of a server that was added by hand, and of the plugin's.
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


class Watchdog:
    """Ends the process when its time is up, whatever it is doing, and prints nothing then."""

    def __init__(self, settings: HookSettings, event: str, seconds: float) -> None:
        self._began = time.monotonic()
        self.until = self._began + seconds
        self._folder, self._event = settings.folder, event
        self._ending = allocate_lock()
        start_new_thread(self._wait, ())

    def end(self, output: bytes, note: str, *, good: bool) -> None:
        """Print the output and exit with 0: a failure here must not disturb the agent."""
        self._ending.acquire()  # the other thread must not end the process half-way
        try:
            if output:
                os.write(1, output)
        except OSError:  # the agent has closed the pipe
            note = "nobody listened"
        write_log(self._folder, self._event, self._began, note, good=good)
        os._exit(0)

    def _wait(self) -> None:
        while time.monotonic() < self.until:
            time.sleep(_TICK)
        self.end(b"", OUT_OF_TIME, good=False)


def main(arguments: list[str]) -> None:
    """Answer an event. A failure is logged and never printed."""
    event = arguments[0] if arguments else ""
    settings = HookSettings(arguments[1] if len(arguments) > 1 else default_file())
    seconds = settings.deadline - _STARTUP
    if event == "SessionStart":
        seconds = max(_START_SECONDS, settings.deadline)
    watchdog = Watchdog(settings, event, seconds)
    try:
        payload = json.loads(sys.stdin.buffer.read(_LONGEST_INPUT))
        is_event = isinstance(payload, dict)
        until = watchdog.until
        output, note = _answer(settings, event, payload, until) if is_event else (None, "no event")
        answer = b""
        if output:
            from .memory_text import encoded  # noqa: PLC0415  most answers are empty

            answer = encoded(output)
    except Exception as exc:  # noqa: BLE001  an agent must not suffer from anything here
        watchdog.end(b"", _reason(exc), good=False)
    else:
        watchdog.end(answer, note, good=True)


def _answer(settings: HookSettings, event: str, payload: Payload, until: float) -> Outcome:
    # What an event does not need is not loaded.
    if event == "UserPromptSubmit":
        from . import prompt  # noqa: PLC0415

        return prompt.answer(settings, payload, until)
    if event == "SessionStart":
        from . import session_start as start  # noqa: PLC0415

        output, note = start.answer(settings, payload, until)
        if note == start.STARTED:
            _in_background(settings, event, lambda: start.warm_up(settings), start.WARM_UP_SECONDS)
        return output, note
    if event == "PreToolUse":
        return permission(payload)
    if event in {"Stop", "PreCompact"}:
        from . import turns  # noqa: PLC0415

        work = turns.before_compaction if event == "PreCompact" else turns.learn
        if not turns.is_due(payload):
            return None, "nothing to do"
        return _in_background(settings, event, lambda: work(settings, payload), turns.SECONDS)
    return None, "no such event"


def _in_background(
    settings: HookSettings, event: str, work: Callable[[], str], seconds: float
) -> Outcome:
    """Do something in a process of its own, so that the agent goes on at once."""
    if hasattr(os, "fork"):
        if os.fork():
            return None, "goes on in the background"
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # an agent that reads our output waits for its end
            os.dup2(null, number)
    watchdog = Watchdog(settings, f"{event} in the background", seconds)
    try:
        note = work()
    except Exception as exc:  # noqa: BLE001  as in `main`
        watchdog.end(b"", _reason(exc), good=False)
    else:
        watchdog.end(b"", note, good=True)
    return None, ""


def _reason(exc: Exception) -> str:
    """What went wrong, without any text of the user or the server."""
    from .server_call import NoAnswer  # noqa: PLC0415  most runs need none of it

    return f"the server: {exc}" if isinstance(exc, NoAnswer) else type(exc).__name__


def permission(payload: Payload) -> Outcome:
    """Let the agent use a tool that reads memories or adds one; leave any other to the user."""
    name, arguments = str(payload.get("tool_name")), payload.get("tool_input")
    prefix = next(filter(name.startswith, PREFIXES), None)
    tool = name[len(prefix) :] if prefix else ""
    if tool not in ALLOWED or not isinstance(arguments, dict):
        return None, "asks the user"
    replaces = arguments.get("supersedes") or arguments.get("kind") == "supersedes"
    if replaces or arguments.get("sensitive"):
        return None, "asks the user"
    decision = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "This tool of Bear in Mind reads memories or adds one.",
    }
    return {"hookSpecificOutput": decision}, f"allowed {tool}"
