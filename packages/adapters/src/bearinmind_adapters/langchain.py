"""A retriever and a chat history of LangChain over memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from bearinmind_adapters.conversations import Conversation
from bearinmind_adapters.documents import Memories


class BearInMindRetriever(BaseRetriever):
    """Retrieves the memories that matter for a query, best first.

    The metadata of a document has the probability that it answers, the verdict of the recall, and
    `replaced_by` where another memory states what holds now.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    mind: SkipValidation[Memories]
    limit: int = 10
    options: dict[str, Any] = Field(default_factory=dict)  #: more keywords of `Mind.recall`

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  nothing below takes callbacks
    ) -> list[Document]:
        answer = self.mind.recall(query, limit=self.limit, **self.options)
        return [
            Document(
                id=hit.memory.id,
                page_content=hit.memory.content,
                metadata={
                    "category": hit.memory.category,
                    "tags": [*hit.memory.tags],
                    "created_at": hit.memory.created_at.isoformat(),
                    "owner": hit.memory.owner,
                    "trust": hit.memory.provenance.trust.value,
                    "probability": hit.probability,
                    "verdict": answer.verdict.value,
                    "replaced_by": hit.outdated.by if hit.outdated else None,
                },
            )
            for hit in answer.hits
        ]


class BearInMindChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, kept as memories; those that are removed can be restored."""

    def __init__(self, mind: Memories, session_id: str, **options: Any) -> None:  # noqa: ANN401  those of `Documents`
        """Keep the messages of a session in a memory."""
        self._conversation = Conversation(mind, "langchain", session_id, **options)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages in their order."""
        return messages_from_dict(self._conversation.messages())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages."""
        self._conversation.add(message_to_dict(message) for message in messages)

    def clear(self) -> None:
        """Remove every message."""
        self._conversation.clear()
