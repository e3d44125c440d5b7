"""A chat model that reads turns: within a day's tokens, no turn twice, nothing believed unchecked.

It is given the user's and the agent's own words alone: what was pasted is never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bearinmind.calls import CallFailed, Patience
from bearinmind.chat.budget import DailyTokens
from bearinmind.chat.client import NotAChat
from bearinmind.chat.dialects import DIALECTS
from bearinmind.chat.metered import Address, MeteredChat
from bearinmind.errors import WorkFailure
from bearinmind.learn import prompt
from bearinmind.learn.believing import believed
from bearinmind.learn.seen import SeenTurns
from bearinmind.learn.sentences import sentences
from bearinmind.learn.turns import Message, Reading, Role

#: Somebody may wait for the answer of a server that asks it.
PATIENCE = Patience(answer=15.0, total=20.0, tries=2, longest_pause=2.0)


class TurnReader:
    """Reads turns with one model; opening it is cheap."""

    def __init__(
        self,
        address: Address,
        *,
        dialect: str,
        cache: Path,
        daily_tokens: int,
        patience: Patience = PATIENCE,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Nothing is sent, and no file made, before something is read.

        Args:
            address: of the model.
            dialect: that its server speaks: openai, anthropic or ollama.
            cache: the folder for the count of tokens, and of turns that were read.
            daily_tokens: the most that may be used in a day.
            patience: how long to wait for answers.
            now: the clock by which a day ends.
        """
        self._chat = MeteredChat(
            address,
            DIALECTS[dialect],
            lambda account: DailyTokens(
                cache / "llm-tokens.db",
                f"learning by {account}",
                daily_tokens,
                now,
                setting="learn_daily_tokens",
                failure=WorkFailure,
            ),
            setting="learn",
            patience=patience,
        )
        self._seen = SeenTurns(
            cache / "learned-turns.db", f"{prompt.VERSION} {dialect} {self._chat.account}"
        )

    @property
    def name(self) -> str:
        """The model, and where it is."""
        return self._chat.account

    @property
    def leaves_machine(self) -> bool:
        """Whether turns are sent to another machine."""
        return not self._chat.client.is_local

    @property
    def tokens(self) -> DailyTokens:
        """The day's budget: its limit, and what is spent."""
        return self._chat.tokens

    def close(self) -> None:
        """Release the connections and the file."""
        self._chat.client.close()
        self._seen.close()

    def knows(self, turn: Sequence[Message]) -> bool:
        """Whether it has read a turn before."""
        return turn in self._seen

    def read(self, turn: Sequence[Message], *, keep: bool = True) -> Reading:
        """What a turn teaches, as far as its own words bear it out.

        Without `keep` it is not known that the turn was read.

        Raises:
            WorkFailure: no answer, or no tokens are left today.
        """
        if not any(each.role is Role.USER for each in turn):
            return Reading()
        try:
            said = self._chat.ask(prompt.question(turn))
        except NotAChat as exc:
            raise WorkFailure(
                f"{self.name} does not answer as {self._chat.client.dialect.name} does: "
                f"it {exc.problem}",
                hint="Check the `learn_url` and `learn_dialect` settings.",
            ) from None
        except CallFailed as exc:
            raise WorkFailure(
                f"{self.name} {exc.problem}", hint="Check the `learn_` settings."
            ) from None
        if keep:
            self._seen.add(turn)
        return believed(said.text, turn)


def readable(messages: Sequence[Message], is_secret: Callable[[str], bool]) -> list[Message]:
    """What a model may see of a turn: own words, without the sentences that hold a secret."""
    turn: list[Message] = []
    for message in messages:
        if message.role in (Role.USER, Role.ASSISTANT):
            own = [each.text for each in sentences(message.text) if each.own]
            text = "\n".join(each for each in own if not is_secret(each))
            if text:
                turn.append(Message(role=message.role, text=text))
    return turn
