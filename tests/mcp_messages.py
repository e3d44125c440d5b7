"""Messages of MCP: those that open a connection, and such as no client should send."""

from __future__ import annotations

import json

from hypothesis import strategies as st

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "first",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw-lines", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "resources/read",
        "resources/templates/list",
        "prompts/get",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/initialized",
        "server/discover",
        "logging/setLevel",
        "completion/complete",
        "",
    ]
) | st.text(max_size=15)
PARAMS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["memory_store", "memory_recall", "memory_get", "recall"]) | JSON,
        "arguments": st.dictionaries(
            st.sampled_from(["content", "query", "id", "limit", "tags", "around"])
            | st.text(max_size=5),
            JSON,
            max_size=4,
        )
        | JSON,
        "uri": st.sampled_from(["bearinmind://brief", "bearinmind://memory/"]) | JSON,
        "requestId": JSON,
        "_meta": JSON,
        "cursor": JSON,
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers(1_000, 9_999) | JSON,
        "method": METHODS | JSON,
        "params": PARAMS,
        "result": JSON,
        "error": JSON,
    },
)
LINES = (
    MESSAGES.map(json.dumps)
    | JSON.map(json.dumps)
    | st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=60)
    | st.just("[" * 5_000)
    | st.just('{"jsonrpc":"2.0","id":1e999,"method":"ping"}')
)
