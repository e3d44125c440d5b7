"""From settings to a reranker. What is not chosen is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.errors import InvalidSetting
from bearinmind.protocols import Reranker

if TYPE_CHECKING:
    from pydantic import SecretStr

NONE = "none"
#: What the `reranker` setting can say; a name in capitals stands for what the user fills in.
FORMS = (
    NONE,
    "cross-encoder:FOLDER",
    "tei",
    "jina:MODEL",
    "cohere:MODEL",
    "voyage:MODEL",
    "llm",
    "llm:MODEL",
)


class OwnedReranker(Reranker, Protocol):
    """A reranker with something to release."""

    def close(self) -> None:
        """Release the connections."""


class Address(NamedTuple):
    """Where a model is asked, and as whom."""

    url: str | None = None
    key: SecretStr | None = None
    model: str | None = None


def checked(text: str) -> str:
    """The text, if it has one of the forms.

    Raises:
        ValueError: it has none of them.
    """
    kind, colon, name = text.partition(":")
    forms = [form for form in FORMS if form.partition(":")[0] == kind]
    if not any(bool(colon) is (":" in form) for form in forms) or bool(colon) is not bool(name):
        raise ValueError(f"it is one of {', '.join(FORMS)}")
    return text


def choose(
    text: str, *, own: Address, llm: Address, provider_keys: Mapping[str, SecretStr] | None = None
) -> OwnedReranker | None:
    """The reranker that a setting names, if it names one; opening it is cheap.

    Args:
        text: the `reranker` setting.
        own: of the `reranker_` settings.
        llm: of the `llm_` settings, for the forms that use a chat model.
        provider_keys: for whoever has no key of its own and is asked at the provider's address.

    Raises:
        InvalidSetting: another setting is missing, or wrong.
    """
    kind, _, name = checked(text).partition(":")
    match kind:
        case "none":
            return None
        case "cross-encoder":
            from bearinmind.models.cross_encoder import CrossEncoder  # noqa: PLC0415

            return CrossEncoder(Path(name))
        case "llm":
            return _chat_model(text, name or llm.model, own, llm)
        case _:
            key = None if own.url else (provider_keys or {}).get(kind)
            return _hosted(kind, name, own._replace(key=own.key or key))


def _hosted(kind: str, model: str, own: Address) -> OwnedReranker:
    from bearinmind.models import hosted_reranker  # noqa: PLC0415

    dialects = {
        d.name: d
        for d in (
            hosted_reranker.TEI,
            hosted_reranker.JINA,
            hosted_reranker.COHERE,
            hosted_reranker.VOYAGE,
        )
    }
    if not (own.url or dialects[kind].address):
        raise InvalidSetting(
            f"reranker = {kind!r} needs reranker_url",
            hint="Set it to the address of your server, such as http://localhost:8080.",
        )
    return hosted_reranker.HostedReranker(dialects[kind], model, url=own.url, key=own.key)


def _chat_model(text: str, model: str | None, own: Address, llm: Address) -> OwnedReranker:
    from bearinmind.models.hosted_reranker import LlmReranker  # noqa: PLC0415

    url = own.url or llm.url
    if url is None or model is None:
        missing = "reranker_url or llm_url" if url is None else "llm_model"
        raise InvalidSetting(
            f"reranker = {text!r} needs {missing}",
            hint="An address such as http://localhost:11434/v1, and llm:MODEL or `llm_model`.",
        )
    if own.url:  # the key of one server is not shown to another
        return LlmReranker(url, model, key=own.key)
    return LlmReranker(url, model, key=own.key or llm.key, setting="llm")
