"""A chat model that compares memories where no rule is sure, within a daily limit of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.calls import CallFailed
from bearinmind.chat.client import NotAChat
from bearinmind.chat.metered import MeteredChat
from bearinmind.curate.deciding import Decision
from bearinmind.curate.judging import decision_of, question
from bearinmind.errors import WorkFailure
from bearinmind.types import Memory


class ChatJudge:
    """Asks a chat model; every question costs tokens."""

    def __init__(self, chat: MeteredChat) -> None:
        self._chat = chat

    def __call__(self, text: str, category: str, neighbours: Sequence[Memory]) -> Decision:
        """What the model decides about a text.

        Raises:
            WorkFailure: the model does not answer, or no tokens are left today.
        """
        try:
            answer = self._chat.ask(question(text, category, neighbours))
        except (CallFailed, NotAChat) as exc:
            raise WorkFailure(
                f"{self._chat.account} {exc.problem}", hint="Check the `llm_` settings."
            ) from None
        return decision_of(answer.text, neighbours, self._chat.client.model)

    def close(self) -> None:
        """Release the connections."""
        self._chat.client.close()
