"""What the fixtures of upgrades hold: a small life of a store, told with verbs that never change.

`scripts/keep-upgrade-fixtures` runs it on the release of its day, so it uses nothing that an
earlier release does not have.
"""

from __future__ import annotations

from typing import Any

#: Seals the secrets of the fixtures. It protects nothing: it is published here.
VAULT_KEY = "A" * 43 + "="
SECRET = "the password of the staging database is kelp9salt"  # noqa: S105  see above
CONTENTS = (
    "The staging database is db-stage-3.",
    "The staging database is db-stage-4.",
    "Kasimir leads the billing team.",
    "A walrus that nobody needs any more.",
)


def fill(mind: Any, eve: Any) -> None:
    """Have memories in every state, with versions, links, a secret, shares, users and keys."""
    ids = [mind.store(content, tags=["infra"]).memory.id for content in CONTENTS]
    mind.store(SECRET, sensitive=True)
    mind.link(ids[1], "supersedes", ids[0])
    mind.link(ids[2], "see-also", ids[1])
    mind.update(ids[2], content=f"{CONTENTS[2]} Since May.")
    mind.delete(ids[3])
    for name in ("ada", "eve"):
        mind.accounts.add_user(name)
    mind.accounts.create_key("eve", label="laptop")
    mind.share(ids[2], "eve")
    eve.store("Otters sleep in the kelp.")
    mind.work.wait()
    eve.work.wait()


def told(mind: Any, eve: Any) -> dict[str, Any]:
    """What a store answers that was filled so, whatever release filled it."""
    every = mind.list(limit=99, states=["live", "superseded", "deleted", "expired"], owner="me")
    [sealed] = [memory for memory in every if memory.sensitive]
    texts = {memory.id: memory.content for memory in every}
    return {
        "contents": sorted(memory.content for memory in every if not memory.sensitive),
        "secret": mind.secrets.reveal(sealed.id),
        "versions": sorted(len(mind.versions(memory.id)) for memory in every),
        "links": sorted(
            (texts[link.source], str(link.kind), texts[link.target])
            for memory in every
            for link in mind.links(memory.id)
            if link.source == memory.id and str(link.kind) != "outdates"
        ),
        "tags": sorted({tag for memory in every for tag in memory.tags}),
        "users": sorted(user.name for user in mind.accounts.users()),
        "keys": [key.label for key in mind.accounts.keys("eve")],
        "seen by eve": sorted(memory.content for memory in eve.list()),
        "first hit": mind.recall("which is the staging database?").hits[0].memory.content,
    }


def converse(client: Any, admin: Any) -> None:
    """Use a server as its clients do: the verbs that integrations are built on."""
    first = client.store("The staging database is db-stage-3.", tags=["infra"]).memory
    second = client.store("Kasimir leads the billing team.", category="people").memory
    client.get(first.id)
    client.update(second.id, content="Kasimir leads the billing team since May.")
    client.link(second.id, "see-also", first.id)
    client.recall("staging database", limit=3)
    client.why_not("staging database", second.id)
    client.list(limit=5)
    client.stats()
    client.delete(second.id)
    client.restore(second.id)
    admin.accounts.add_user("eve")
    admin.accounts.create_key("eve", label="laptop")
    admin.accounts.users()
    admin.accounts.audit(5)
    client.share(first.id, "eve")
    client.my_shares()
    client.unlink(second.id, "see-also", first.id)
