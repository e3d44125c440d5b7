"""Makes the embedder, the reranker and the pair reader; what nothing names is not imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.errors import EmbedderFailure, InvalidSetting
from bearinmind.protocols import Embedder, ReadPairs, Reads, Reranker
from bearinmind.text.embedded_text import CONTENT
from bearinmind.types import Space

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bearinmind.models.cross_encoder import PairReader
    from bearinmind.models.local import LocalEmbedder, PairedEmbedder

#: The encoder that `local` stands for.
DEFAULT_EMBEDDER = "minilm+e5-small"
LOCAL_ENCODERS = ("minilm", "e5-small", "minilm+e5-small")
#: The weight of the first of the pair. The cosines of MiniLM spread about four times as widely as
#: those of e5-small, so that this little is two fifths of the evidence: docs/adr/0016.
SHARE = 0.15
_GRAPH_REVISION = re.compile(r"(?<=[0-9a-f]{12})\.\d+(?=\.)")
HASH = "hash"
PAIR_READER = "reader"  #: the model of `bearinmind-encoder` that reads two texts together
_PAIR_SECONDS = 60.0  # for those of one memory, in the background
LIBRARIES = ("fastembed", "sentence-transformers")
PROVIDERS = ("openai", "voyage", "cohere")
#: The forms of the `embedder` setting, which `config` checks; capitals stand for what is filled in.
EMBEDDER_FORMS = (
    "local",
    *LOCAL_ENCODERS,
    "none",
    HASH,
    "folder:PATH",
    *(f"{library}:MODEL" for library in LIBRARIES),
    *(f"{provider}:MODEL" for provider in PROVIDERS),
    "http:MODEL",
)
#: The forms of the `reranker` setting, likewise checked.
RERANKER_FORMS = (
    "none",
    "cross-encoder:FOLDER",
    "tei",
    "jina:MODEL",
    "cohere:MODEL",
    "voyage:MODEL",
    "llm",
    "llm:MODEL",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderOptions:
    """The settings of an embedder."""

    url: str | None = None
    key: SecretStr | None = None
    provider_keys: Mapping[str, SecretStr] = field(default_factory=dict)
    dimensions: int | None = None
    expected: int | None = None  #: dimensions that vectors have had so far, without a setting
    timeout: float = 10.0  #: seconds for a query over HTTP
    per_minute: float | None = None  #: most requests over HTTP
    cache: Path | None = None  #: the file for the embeddings of hosted models
    text: str = CONTENT  #: the recipe of the texts that it will be given


def choose_embedder(text: str, options: EmbedderOptions) -> Embedder | None:
    """The embedder that a setting names; None for `none`. Nothing is loaded or sent yet."""
    kind, _, name = (DEFAULT_EMBEDDER if text == "local" else text).partition(":")
    if kind == "none":
        return None
    if kind == HASH:
        from bearinmind.models.local import HashEmbedder  # noqa: PLC0415

        return HashEmbedder()
    if kind in LIBRARIES:
        from bearinmind.models import downloaded  # noqa: PLC0415

        return downloaded.DownloadedEmbedder(downloaded.LIBRARIES[kind], name, options)
    if kind in (*PROVIDERS, "http"):
        return _hosted(kind, name, options)
    if kind == "folder":
        return _local(Path(name).expanduser(), options.text)
    if kind in LOCAL_ENCODERS:
        return _local(kind, options.text)
    raise InvalidSetting(f"{text!r} is no embedder; there are {', '.join(EMBEDDER_FORMS)}")


def remake_embedder(space: Space, text: str, options: EmbedderOptions) -> Embedder:
    """The embedder of a stored space; `text` and `options` are what is configured now.

    The caller checks whether it really has the same space.
    """
    if ":" not in space.model and space.model != HASH:
        return _local_of(space)
    if space.model.partition(":")[0] != text.partition(":")[0]:
        # The address and the key of one provider are not for another.
        options = replace(options, url=None, key=None)
    embedder = choose_embedder(space.model, _of_space(space, options))
    if embedder is None:
        raise InvalidSetting(f"{space.model!r} is no embedder")
    return embedder


def _local_of(space: Space) -> Embedder:
    """The encoder of this machine that has this space."""
    for name in LOCAL_ENCODERS:
        embedder = _local(name, space.text)
        if replace(embedder.space, revision=_weights(embedder.space)) == replace(
            space, revision=_weights(space)
        ):
            embedder.space = space  # another graph of the same weights gives nearly its vectors
            return embedder
    raise EmbedderFailure(
        f"the encoder {space.model!r} is not on this machine as it was when memories were embedded",
        hint="`bearinmind reembed` embeds them again with what is configured now.",
    )


def _weights(space: Space) -> str:
    """The revision of an encoder without that of its graph."""
    return _GRAPH_REVISION.sub("", space.revision)


def _local(model: str | Path, text: str) -> LocalEmbedder | PairedEmbedder:
    """An encoder of this machine, or a pair of them."""
    from bearinmind.models.local import LocalEmbedder, PairedEmbedder  # noqa: PLC0415

    if isinstance(model, Path) or "+" not in model:
        return LocalEmbedder(model, text=text)
    first, second = (LocalEmbedder(name, text=text) for name in model.split("+"))
    return PairedEmbedder(first, second, share=SHARE)


def _of_space(space: Space, options: EmbedderOptions) -> EmbedderOptions:
    from bearinmind.models import catalogue  # noqa: PLC0415

    known = catalogue.find(space.model.partition(":")[2])
    # Some models refuse a request for the dimensions that they have anyway.
    requested = known is not None or options.dimensions == space.dimensions
    return replace(
        options,
        text=space.text,
        dimensions=space.dimensions if requested else None,
        expected=space.dimensions,
    )


def _hosted(provider: str, model: str, options: EmbedderOptions) -> Embedder:
    from bearinmind.models import hosted_embedder  # noqa: PLC0415
    from bearinmind.models.caches import CachedEmbedder, EmbeddingCache  # noqa: PLC0415

    if options.url is None:
        # A provider's key is only for the provider's own server.
        options = replace(options, key=options.key or options.provider_keys.get(provider))
        if provider == "http":
            raise InvalidSetting(
                f"embedder = 'http:{model}' needs embedder_url",
                hint="Set it to the address of your server, such as http://localhost:11434/v1.",
            )
        if options.key is None:
            raise InvalidSetting(
                f"embedder = '{provider}:{model}' needs a key",
                hint=f"Set `embedder_key`, or the variable {provider.upper()}_API_KEY.",
            )
    dialect = hosted_embedder.DIALECTS[provider]
    embedder = hosted_embedder.HostedEmbedder(dialect, model, options)
    return CachedEmbedder(embedder, EmbeddingCache(options.cache)) if options.cache else embedder


def pair_reader(embedder: Embedder | None, seconds: float = _PAIR_SECONDS) -> ReadPairs | None:
    """The model that reads two texts together; None where memories are not read either.

    An embedder that counts words stands for a store without models.
    """
    space = embedder.space if embedder else None
    if space is None or not (":" in space.model or _GRAPH_REVISION.search(space.revision)):
        return None
    try:
        import bearinmind_encoder  # noqa: PLC0415  an install without dependencies lacks it

        folder = bearinmind_encoder.folder(PAIR_READER)
    except (ImportError, LookupError):
        return None
    return partial(_pair_reader(folder), seconds=seconds)


@cache
def _pair_reader(folder: Path) -> PairReader:
    from bearinmind.models.cross_encoder import CrossEncoder, PairReader  # noqa: PLC0415

    columns = {Reads.ANSWERS: 0, Reads.OUTDATES: 1}  # as it was trained
    return PairReader({reads: CrossEncoder(folder, column) for reads, column in columns.items()})


class OwnedReranker(Reranker, Protocol):
    """A reranker with something to release."""

    def close(self) -> None:
        """Release the connections."""


class RerankerAddress(NamedTuple):
    """The server, the key and the name of a model, as far as the settings give them."""

    url: str | None = None
    key: SecretStr | None = None
    model: str | None = None


def choose_reranker(
    text: str,
    *,
    own: RerankerAddress,
    llm: RerankerAddress,
    provider_keys: Mapping[str, SecretStr] | None = None,
) -> OwnedReranker | None:
    """The reranker that a setting names; None for `none`. Nothing is loaded or sent yet.

    `own` is of the `reranker_` settings, `llm` of the `llm_` settings for the forms that use a chat
    model; `provider_keys` are for the providers' own servers.
    """
    kind, _, name = text.partition(":")
    match kind:
        case "none":
            return None
        case "cross-encoder":
            from bearinmind.models.cross_encoder import CrossEncoder  # noqa: PLC0415

            return CrossEncoder(Path(name))
        case "llm":
            return _chat_reranker(text, name or llm.model, own, llm)
    from bearinmind.models.hosted_reranker import DIALECTS, HostedReranker  # noqa: PLC0415

    dialect = DIALECTS[kind]
    if not (own.url or dialect.address):
        raise InvalidSetting(
            f"reranker = {kind!r} needs reranker_url",
            hint="Set it to the address of your server, such as http://localhost:8080.",
        )
    provider_key = None if own.url else (provider_keys or {}).get(kind)
    return HostedReranker(dialect, name, url=own.url, key=own.key or provider_key)


def _chat_reranker(
    text: str, model: str | None, own: RerankerAddress, llm: RerankerAddress
) -> OwnedReranker:
    from bearinmind.models.hosted_reranker import LlmReranker  # noqa: PLC0415

    url = own.url or llm.url
    if url is None or model is None:
        missing = "reranker_url or llm_url" if url is None else "llm_model"
        raise InvalidSetting(
            f"reranker = {text!r} needs {missing}",
            hint="An address such as http://localhost:11434/v1, and llm:MODEL or `llm_model`.",
        )
    if own.url:  # the key of one server is not sent to another
        return LlmReranker(url, model, key=own.key)
    return LlmReranker(url, model, key=own.key or llm.key, setting="llm")
