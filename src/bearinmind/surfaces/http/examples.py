"""Examples of requests and answers, as the OpenAPI shows them; a test holds them to the models."""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]

_NOON = "2026-11-15T12:00:00Z"
_MEMORY: Data = {
    "id": "k7f29qmxt4hd",
    "owner": "ada",
    "content": "The staging database is db-stage-3.",
    "category": "facts",
    "tags": ["staging"],
    "keywords": ["postgres"],
    "importance": 0.5,
    "sensitive": False,
    "created_at": _NOON,
    "updated_at": _NOON,
    "deleted_at": None,
    "valid_from": None,
    "valid_to": None,
    "agent": None,
    "session": None,
    "project": None,
    "source": None,
    "trust": "agent",
    "version": 1,
    "state": "live",
    "is_data": False,
}
_OTHER: Data = _MEMORY | {
    "id": "q2m8xt0vd5ja",
    "content": "The staging database moved to db-stage-4.",
}
_LINK: Data = {
    "source": _OTHER["id"],
    "target": _MEMORY["id"],
    "kind": "supersedes",
    "created_at": _NOON,
    "removed_at": None,
}
_ENDED_LINK: Data = _LINK | {"removed_at": _NOON}
_PLACING: Data = {"rank": 1, "score": 7.1, "confidence": 0.9, "evidence": 0.8}
_HIT: Data = {
    "rank": 1,
    "score": 0.87,
    "confidence": 0.9,
    "support": 0.52,
    "memory": _MEMORY,
    "placings": {"lexical": _PLACING},
    "factors": {"importance": 0.85},
    "reranked": None,
    "replaces": [],
    "attached": [],
    "pointers": [],
    "path": [],
}
_SHARE: Data = {
    "owner": "ada",
    "reader": "grace",
    "right": "read",
    "memory": _MEMORY["id"],
    "tag": None,
    "created_at": _NOON,
    "ended_at": None,
}
_TAG_SHARE: Data = _SHARE | {"memory": None, "tag": "staging"}
_USER: Data = {"name": "grace", "created_at": _NOON, "disabled_at": None}
_KEY: Data = {
    "id": "5fjm2rt8wz0k",
    "user": "grace",
    "access": "write",
    "label": "laptop",
    "created_at": _NOON,
    "expires_at": None,
    "revoked_at": None,
    "per_minute": None,
    "per_day": None,
}
_VERSION: Data = {
    name: value
    for name, value in _MEMORY.items()
    if name not in ("id", "owner", "state", "is_data")
}
_SUBJECT: Data = {"kind": "memory", "name": [_MEMORY["id"]]}
_HISTORY: Data = {"what": "history", "versions": [_VERSION], "secrets": []}
_LINK_SUBJECT: Data = {
    "kind": "link",
    "name": [_LINK["source"], _LINK["kind"], _LINK["target"]],
}
_PROPOSAL: Data = {
    "id": "k7f2x9w4m0qa",
    "kind": "supersede",
    "origin": "consolidation",
    "memories": [_OTHER["id"], _MEMORY["id"]],
    "reason": "They say the same in other words.",
    "evidence": {"cosine": 0.97},
    "change": {},
    "digest": "5b1f0c2e9d7a4c38",
    "created_at": _NOON,
    "state": "open",
    "decided_at": None,
    "undo": {},
}
_EPOCH = "9f0c41b7a2de4c55"
_NEW_KEY: Data = _KEY | {"key": "rcl_5fjm2rt8wz0k_..."}

#: By verb: the body of a request.
REQUESTS: dict[str, Data] = {
    "store": {"content": _MEMORY["content"], "tags": ["staging"], "keywords": ["postgres"]},
    "recall": {"query": "where is the staging database", "limit": 5},
    "why_not": {"query": "where is the staging database", "id": _OTHER["id"]},
    "update": {"importance": 0.9},
    "link": {"source": _OTHER["id"], "kind": "supersedes", "target": _MEMORY["id"]},
    "unlink": {"source": _OTHER["id"], "kind": "supersedes", "target": _MEMORY["id"]},
    "secret_get": {"version": 1},
    "learn": {
        "messages": [{"role": "user", "text": "From now on use pnpm. Why does the test fail?"}],
        "project": "shop",
        "session": "s-17",
    },
    "share": {"right": "read"},
    "share_tag": {"right": "write"},
    "add_user": {"name": "grace"},
    "create_key": {"user": "grace", "access": "write", "label": "laptop"},
    "renew_key": {"overlap_hours": 24},
    "sync_push": {
        "epoch": _EPOCH,
        "operations": [{"subject": _SUBJECT, "base": 0, "state": _HISTORY}],
    },
    "sync_shared_memories": {"owner": "grace", "memories": [_MEMORY["id"]], "space": None},
}

#: By verb: its answer.
ANSWERS: dict[str, Data] = {
    "learn": {
        "mode": "rules",
        "read_by": "rules",
        "dry_run": False,
        "stored": [
            {
                "text": "Use pnpm.",
                "lesson": "preference",
                "category": "preferences",
                "id": "q2m8xt0vd5ja",
                "reason": "",
            }
        ],
        "proposed": [],
        "known": [],
        "refused": [],
        "notes": [],
    },
    "brief": {"memories": [_MEMORY]},
    "proposals": {"proposals": [_PROPOSAL]},
    "proposal": _PROPOSAL,
    "apply_proposal": _PROPOSAL | {"state": "applied", "decided_at": _PROPOSAL["created_at"]},
    "dismiss_proposal": _PROPOSAL | {"state": "dismissed", "decided_at": _PROPOSAL["created_at"]},
    "undo_proposal": _PROPOSAL | {"state": "undone", "decided_at": _PROPOSAL["created_at"]},
    "store": {"outcome": "stored", "memory": _MEMORY},
    "recall": {
        "query": "where is the staging database",
        "hits": [_HIT],
        "degraded": [],
        "trace": None,
    },
    "why_not": {
        "id": _OTHER["id"],
        "rank": None,
        "reason": "no leg found it",
        "standings": [
            {
                "leg": "lexical",
                "rank": None,
                "searched": 50,
                "note": "it has none of the words",
                "score": None,
                "confidence": None,
                "evidence": None,
                "path": [],
            }
        ],
        "remedy": "add one of the words of the question to its keywords",
    },
    "list": {"memories": [_MEMORY], "next": None},
    "get": _MEMORY | {"earlier": [], "links": [_LINK]},
    "update": _MEMORY | {"importance": 0.9, "version": 2},
    "delete": _MEMORY | {"deleted_at": _NOON, "version": 2, "state": None},
    "restore": _MEMORY | {"version": 3},
    "link": _LINK,
    "unlink": _ENDED_LINK,
    "why": {
        "memory": _OTHER,
        "versions": [_OTHER],
        "steps": [],
        "superseded_by": [],
    },
    "timeline": {"moment": _NOON, "anchor": _MEMORY, "before": [], "after": [_OTHER]},
    "stats": {
        "live": 1,
        "superseded": 1,
        "expired": 0,
        "deleted": 0,
        "earlier_versions": 0,
        "links": 1,
        "categories": {"facts": 2},
        "tags": {"staging": 2},
        "oldest": _NOON,
        "newest": _NOON,
        "shared": 12,
        "sharers": 2,
    },
    "secret_get": {"id": _MEMORY["id"], "content": "what only its owner may read"},
    "share": _SHARE,
    "unshare": _SHARE | {"ended_at": _NOON},
    "share_tag": _TAG_SHARE,
    "unshare_tag": _TAG_SHARE | {"ended_at": _NOON},
    "shared_with_me": {"shares": [_SHARE | {"owner": "grace", "reader": "ada"}]},
    "my_shares": {"shares": [_SHARE, _TAG_SHARE]},
    "users": {"users": [_USER]},
    "add_user": _USER,
    "disable_user": _USER | {"disabled_at": _NOON},
    "enable_user": _USER,
    "keys": {"keys": [_KEY]},
    "create_key": _NEW_KEY,
    "renew_key": _NEW_KEY,
    "revoke_key": _KEY | {"revoked_at": _NOON},
    "audit_log": {
        "entries": [
            {
                "at": _NOON,
                "owner": "grace",
                "action": "create key",
                "id": None,
                "version": None,
                "agent": "ada",
                "key": "9c0d4zx71a2b",
                "detail": "5fjm2rt8wz0k write",
            }
        ]
    },
    "sync_pull": {
        "user": "ada",
        "epoch": _EPOCH,
        "changes": [
            {"subject": _SUBJECT, "number": 41, "state": _HISTORY},
            {
                "subject": _LINK_SUBJECT,
                "number": 42,
                "state": {"what": "links", "links": [_LINK]},
            },
        ],
        "cursor": 42,
        "more": False,
        "vectors": [],
    },
    "sync_push": {
        "user": "ada",
        "verdicts": [
            {"verdict": "taken", "number": 43, "code": None, "message": None, "hint": None}
        ],
    },
    "sync_shared": {
        "user": "ada",
        "unchanged": False,
        "seen": [
            {
                "owner": "grace",
                "memory": _MEMORY["id"],
                "version": 1,
                "updated_at": _NOON,
                "right": "read",
            }
        ],
        "cursor": "",
    },
    "sync_shared_memories": {
        "user": "ada",
        "owner": "grace",
        "settled": 1,
        "memories": [{"memory": _MEMORY["id"], "version": _VERSION}],
        "vectors": [],
    },
}

TO_IMPORT = '{"content": "The staging database is db-stage-3.", "tags": ["staging"]}\n'
IMPORTED = (
    '{"progress": {"records": 1}}\n'
    '{"summary": {"stored": 1, "sensitive": 0, "known": 0, "links_stored": 0, "links_known": 0, '
    '"bad": 0, "problems": []}}\n'
)
