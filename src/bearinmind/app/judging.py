"""A chat model that is asked about memories of which no rule is sure, within a day's tokens."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.calls import CallFailed, Patience
from bearinmind.chat.budget import DailyTokens
from bearinmind.chat.client import NotAChat
from bearinmind.chat.dialects import DIALECTS
from bearinmind.chat.metered import Address, MeteredChat
from bearinmind.config import Settings, cache_folder
from bearinmind.curate.deciding import Decision
from bearinmind.curate.judging import decision_of, question
from bearinmind.errors import InvalidSetting, WorkFailure
from bearinmind.types import Memory

_PATIENCE = Patience(answer=60.0, total=90.0, tries=2, longest_pause=5.0)


class ChatJudge:
    """Asks the model that the `llm_` settings name; every question costs tokens."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is sent before the first question.

        Raises:
            InvalidSetting: no model is configured.
        """
        if settings.llm_url is None or settings.llm_model is None:
            raise InvalidSetting(
                "no model is there to be asked",
                hint="Set `llm_url` and `llm_model`, or leave --ask out.",
            )
        self._chat = MeteredChat(
            Address(settings.llm_url, settings.llm_key, settings.llm_model),
            DIALECTS[settings.llm_dialect],
            lambda account: DailyTokens(
                cache_folder() / "llm-tokens.db",
                f"curation by {account}",
                settings.llm_daily_tokens,
                failure=WorkFailure,
            ),
            patience=_PATIENCE,
        )

    def __call__(self, text: str, category: str, neighbours: Sequence[Memory]) -> Decision:
        """What the model says of a text.

        Raises:
            WorkFailure: it does not answer, or no tokens are left today.
        """
        try:
            said = self._chat.ask(question(text, category, neighbours))
        except (CallFailed, NotAChat) as exc:
            raise WorkFailure(
                f"{self._chat.account} {exc.problem}", hint="Check the `llm_` settings."
            ) from None
        return decision_of(said.text, neighbours, self._chat.client.model)

    def close(self) -> None:
        """Release the connections."""
        self._chat.client.close()
