"""Before a tool is used: those that only read and add are allowed, about others nothing is said."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def answer(said: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
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
