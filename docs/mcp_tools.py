# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The tables of docs/reference/mcp.md, made from what the server tells its clients."""

from __future__ import annotations

from bearinmind.config import Settings
from bearinmind.surfaces.failures import MEANINGS
from bearinmind.surfaces.mcp.server import INSTRUCTIONS
from bearinmind.surfaces.mcp.tools import BY_TOOL, MOST_TOKENS, all_described, tokens, wire_text
from bearinmind.surfaces.verbs.verb import Verb
from bearinmind.types import Access

DEFAULT = all_described(Settings().categories)
DESCRIBED = all_described(Settings().categories, with_extra=True)


def cost() -> None:
    """Print what the list of tools costs."""
    count, whole = tokens(wire_text(DEFAULT)), tokens(wire_text(DESCRIBED))
    print(
        f"{len(DEFAULT.tools)} tools are offered by default, about **{count:,} tokens**; a test "
        f'fails above {MOST_TOKENS:,}. With the setting `mcp_tools = "all"` there are '
        f"{len(DESCRIBED.tools)}, about {whole:,} tokens."
    )


def told() -> None:
    """Print what a model is told before it sees the tools."""
    print(f"> {INSTRUCTIONS}")


def tools() -> None:
    """Print a section for every tool."""
    for tool in DESCRIBED.tools:
        verb = BY_TOOL[tool.name]
        fields = tool.input_schema["properties"]
        needed = tool.input_schema.get("required", ())
        hidden = [name for name in verb.request.model_fields if name not in fields]
        answer = (tool.output_schema or {})["properties"]
        print(f"### `{tool.name}`\n\n{tool.description}\n")
        takes = [f"**`{name}`**" if name in needed else f"`{name}`" for name in fields]
        print(f"- takes: {', '.join(takes) or 'nothing'}")
        if hidden:
            print(f"- takes too, though a model is not shown it: {_names(hidden)}")
        print(f"- answers: {_names(answer)}")
        print(f"- {_hints(verb)}")
        if verb.tool_text and verb.tool_text.extra:
            print('- offered only with `mcp_tools = "all"`')
        print()


def codes() -> None:
    """Print by which code of the protocol each kind of error is told."""
    print("| error | code |")
    print("|---|---:|")
    for meaning in MEANINGS:
        print(f"| `{meaning.error.code}` | {meaning.rpc_code} |")


def _names(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names)  # type: ignore[attr-defined]


def _hints(verb: Verb) -> str:
    tool = verb.tool_text
    if tool is None or verb.access is Access.READ:
        return "reads only"
    hints = ["destructive" if tool.destructive else "not destructive"]
    hints += ["twice is the same as once"] if tool.idempotent else []
    return f"needs a key with {verb.access} access; {', '.join(hints)}"
