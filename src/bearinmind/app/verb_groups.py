"""The groups of verbs that a memory has beside its own: `mind.graph`, `mind.curation` and others.

Each is loaded when it is first used, so that `bearinmind recall` starts at once, and made at every
access, so that it has the scope of the object that it belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bearinmind.app.accounts import Accounts
    from bearinmind.app.curation import Curation
    from bearinmind.app.graph import Graph
    from bearinmind.app.secrets import Secrets
    from bearinmind.app.server import Server
    from bearinmind.app.sync import Sync, Transfer
    from bearinmind.app.wiring import Parts
    from bearinmind.app.work import Work


class VerbGroups:
    """What has groups of verbs over its parts."""

    @property
    def _parts(self) -> Parts:
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        """The concepts that the memories mention, and their relations."""
        from bearinmind.app.graph import Graph  # noqa: PLC0415

        return self._parts.group(Graph)

    @property
    def sync(self) -> Sync:
        """The same memories on other machines."""
        from bearinmind.app.sync import Sync  # noqa: PLC0415

        return self._parts.group(Sync)

    @property
    def transfer(self) -> Transfer:
        """The import and export of memories."""
        from bearinmind.app.sync import Transfer  # noqa: PLC0415

        return self._parts.group(Transfer)

    @property
    def curation(self) -> Curation:
        """Proposals to change memories, and the decisions about them."""
        from bearinmind.app.curation import Curation  # noqa: PLC0415

        return self._parts.group(Curation)

    @property
    def accounts(self) -> Accounts:
        """Users, their keys, and the audit."""
        from bearinmind.app.accounts import Accounts  # noqa: PLC0415

        return self._parts.group(Accounts)

    @property
    def secrets(self) -> Secrets:
        """Sensitive memories, and the key that seals them."""
        from bearinmind.app.secrets import Secrets  # noqa: PLC0415

        return self._parts.group(Secrets)

    @property
    def work(self) -> Work:
        """Background work: embedding memories, and extracting concepts from them."""
        from bearinmind.app.work import Work  # noqa: PLC0415

        return self._parts.group(Work)

    @property
    def server(self) -> Server:
        """What a server counts, and what those who look after it want to know."""
        from bearinmind.app.server import Server  # noqa: PLC0415

        return self._parts.group(Server)
