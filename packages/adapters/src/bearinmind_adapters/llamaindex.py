"""A memory block and a retriever of LlamaIndex over memories."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field, SkipValidation

from bearinmind.surfaces import for_agents
from bearinmind_adapters.conversations import Conversation
from bearinmind_adapters.documents import Memories


class BearInMindMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of a conversation: gives what is recalled for the latest message of a user.

    The messages that leave the short-term memory are kept as memories of the session. What others
    wrote is marked as data, as it is for every agent.
    """

    name: str = "bear_in_mind"
    mind: SkipValidation[Memories]
    session_id: str = "default"
    limit: int = 5
    options: dict[str, Any] = Field(default_factory=dict)  #: more keywords of `Mind.recall`

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        **block_kwargs: Any,  # noqa: ANN401, ARG002  as LlamaIndex gives them
    ) -> str:
        said = [each.content for each in messages or () if each.role is MessageRole.USER]
        query = next((text for text in reversed(said) if text), None)
        return await asyncio.to_thread(self._recalled, query) if query else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        texts = [f"{each.role.value}: {each.content}" for each in messages if each.content]
        conversation = Conversation(self.mind, "llamaindex", self.session_id)
        await asyncio.to_thread(conversation.add, texts)

    def _recalled(self, query: str) -> str:
        answer = self.mind.recall(query, limit=self.limit, **self.options)
        return for_agents.rendered(answer.hits, answer.query.filter.scope.user)


class BearInMindRetriever(BaseRetriever):
    """Retrieves the memories that matter for a query; the score is the probability of each."""

    def __init__(
        self,
        mind: Memories,
        *,
        limit: int = 10,
        **options: Any,  # noqa: ANN401  more keywords of `Mind.recall`
    ) -> None:
        """Retrieve from a memory."""
        self._mind = mind
        self._options = {"limit": limit, **options}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = self._mind.recall(query_bundle.query_str, **self._options)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.memory.id,
                    text=hit.memory.content,
                    metadata={
                        "category": hit.memory.category,
                        "created_at": hit.memory.created_at.isoformat(),
                        "trust": hit.memory.provenance.trust.value,
                        "verdict": answer.verdict.value,
                    },
                ),
                score=hit.probability,
            )
            for hit in answer.hits
        ]
