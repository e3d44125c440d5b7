"""From settings, or from a stored space, to an embedder. What is not chosen is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bearinmind.errors import EmbedderFailure, InvalidSetting
from bearinmind.protocols import Embedder
from bearinmind.text.embedded_text import CONTENT
from bearinmind.types import Space

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bearinmind.models.hosted_embedder import HostedEmbedder
    from bearinmind.models.vectors import Memo

#: The encoder that `local` stands for.
DEFAULT = "minilm+e5-small"
LOCAL = ("minilm", "e5-small", "minilm+e5-small")
#: What the first of the pair counts. The cosines of MiniLM spread about four times as widely as
#: those of e5-small, so that this little is two fifths of the evidence: docs/adr/0016.
SHARE = 0.15
HASH = "hash"
LIBRARIES = ("fastembed", "sentence-transformers")
PROVIDERS = ("openai", "voyage", "cohere")
#: What the `embedder` setting can say; a name in capitals stands for what the user fills in.
FORMS = (
    "local",
    *LOCAL,
    "none",
    HASH,
    "folder:PATH",
    *(f"{library}:MODEL" for library in LIBRARIES),
    *(f"{provider}:MODEL" for provider in PROVIDERS),
    "http:MODEL",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What settings say about an embedder besides which one it is."""

    url: str | None = None
    key: SecretStr | None = None
    provider_keys: Mapping[str, SecretStr] = field(default_factory=dict)
    dimensions: int | None = None
    expected: int | None = None  #: dimensions that vectors have had so far, with nobody asking
    timeout: float = 10.0  #: seconds for a query, where it is asked by HTTP
    per_minute: float | None = None  #: most requests, where it is asked by HTTP
    cache: Path | None = None  #: where the embeddings of hosted models are kept
    text: str = CONTENT  #: the recipe of the texts that it will be given


def checked(text: str) -> str:
    """The text, if it has one of the forms.

    Raises:
        ValueError: it has none of them.
    """
    kind, colon, name = text.partition(":")
    forms = [form for form in FORMS if form.partition(":")[0] == kind]
    nameless = bool(colon) and not name.strip() and kind != "http"  # whose server may have but one
    if not any(bool(colon) is (":" in form) for form in forms) or nameless:
        raise ValueError(f"it is one of {', '.join(FORMS)}")
    return text


def choose(text: str, options: Options) -> Embedder | None:
    """The embedder that a setting names; None for `none`. Nothing is loaded or sent yet.

    Raises:
        InvalidSetting: another setting is missing, or wrong.
        MissingExtra: it needs a library that is not installed.
        EmbedderFailure: there is no such encoder on this machine.
    """
    try:
        kind, _, name = checked(DEFAULT if text == "local" else text).partition(":")
    except ValueError as exc:
        raise InvalidSetting(f"embedder = {text!r} is not allowed: {exc}") from None
    if kind == "none":
        return None
    if kind == HASH:
        from bearinmind.models.local import HashEmbedder  # noqa: PLC0415

        return HashEmbedder()
    if kind in LIBRARIES:
        return _downloaded(kind, name, options)
    if kind in (*PROVIDERS, "http"):
        return _hosted(kind, name, options)
    if kind == "folder":
        return _local(Path(name).expanduser(), options.text)
    return _local(kind, options.text)


def remake(space: Space, text: str, options: Options) -> Embedder:
    """The embedder of a stored space; `text` and `options` are what is configured now.

    Whether it really has the same space is for the caller to see.

    Raises:
        InvalidSetting: what it needs is not configured any more.
        MissingExtra: it needs a library that is not installed.
        EmbedderFailure: there is no such encoder on this machine.
    """
    if ":" not in space.model and space.model != HASH:
        return _local_of(space)
    if space.model.partition(":")[0] != text.partition(":")[0]:
        # The address and the key of one provider are nothing to another.
        options = replace(options, url=None, key=None)
    embedder = choose(space.model, _of_space(space, options))
    if embedder is None:
        raise InvalidSetting(f"{space.model!r} is no embedder")
    return embedder


def _local_of(space: Space) -> Embedder:
    """The encoder of this machine whose card says the same as the space."""
    for name in LOCAL:
        embedder = _local(name, space.text)
        if embedder.space == space:
            return embedder
    raise EmbedderFailure(
        f"the encoder {space.model!r} is not on this machine as it was when memories were embedded",
        hint="`bearinmind reembed` embeds them again with what is configured now.",
    )


def _local(model: str | Path, text: str) -> Embedder:
    """An encoder of this machine, or a pair of them."""
    from bearinmind.models.local import LocalEmbedder  # noqa: PLC0415

    if isinstance(model, Path) or "+" not in model:
        return LocalEmbedder.open(model, text=text)
    from bearinmind.models.local import PairedEmbedder  # noqa: PLC0415

    first, second = (LocalEmbedder.open(name, text=text) for name in model.split("+"))
    return PairedEmbedder(first, second, share=SHARE)


def _of_space(space: Space, options: Options) -> Options:
    from bearinmind.models import catalogue  # noqa: PLC0415

    known = catalogue.find(space.model.partition(":")[2])
    # Asking a model for the dimensions that it has is refused by some.
    asked = known is not None or options.dimensions == space.dimensions
    return replace(
        options,
        text=space.text,
        dimensions=space.dimensions if asked else None,
        expected=space.dimensions,
    )


def _downloaded(library: str, model: str, options: Options) -> Embedder:
    from bearinmind.models.downloaded import LIBRARIES as AVAILABLE  # noqa: PLC0415
    from bearinmind.models.downloaded import DownloadedEmbedder  # noqa: PLC0415

    return DownloadedEmbedder(
        AVAILABLE[library],
        model,
        dimensions=options.dimensions,
        memo=_memo(f"{library}:{model}", options),
        text=options.text,
    )


def _hosted(provider: str, model: str, options: Options) -> Embedder:
    from bearinmind.models.embedding_cache import CachedEmbedder, EmbeddingCache  # noqa: PLC0415

    embedder = _uncached(provider, model, options)
    return CachedEmbedder(embedder, EmbeddingCache(options.cache)) if options.cache else embedder


def _uncached(provider: str, model: str, options: Options) -> HostedEmbedder:
    from bearinmind.models.hosted_embedder import (  # noqa: PLC0415  loads httpx
        DIALECTS,
        HostedEmbedder,
    )

    spelling = f"{provider}:{model}"
    key = options.key
    if options.url is None:
        # A provider's key is for the provider's own server alone.
        key = key or options.provider_keys.get(provider)
        _check_that_it_can_be_asked(spelling, key)
    return HostedEmbedder(
        DIALECTS[provider],
        model,
        url=options.url,
        key=key,
        dimensions=options.dimensions,
        timeout=options.timeout,
        per_minute=options.per_minute,
        memo=_memo(f"{spelling} {(options.url or '').rpartition('@')[2]}", options),
        text=options.text,
    )


def _check_that_it_can_be_asked(spelling: str, key: SecretStr | None) -> None:
    provider = spelling.partition(":")[0]
    if provider == "http":
        raise InvalidSetting(
            f"embedder = {spelling!r} needs embedder_url",
            hint="Set it to the address of your server, such as http://localhost:11434/v1.",
        )
    if key is None:
        raise InvalidSetting(
            f"embedder = {spelling!r} needs a key",
            hint=f"Set `embedder_key`, or the variable {provider.upper()}_API_KEY.",
        )


def _memo(spelling: str, options: Options) -> Memo:
    """Where the dimensions of a model are kept that had to be found out."""
    from bearinmind.models.embedding_cache import EmbeddingCache  # noqa: PLC0415
    from bearinmind.models.vectors import Memo  # noqa: PLC0415

    file = options.cache
    if file is None:
        return Memo(lambda: options.expected, lambda _: None)

    def find() -> int | None:
        if options.expected is not None:
            return options.expected
        with EmbeddingCache(file) as cache:
            return cache.dimensions(spelling)

    def keep(dimensions: int) -> None:
        with EmbeddingCache(file) as cache:
            cache.keep_dimensions(spelling, dimensions)

    return Memo(find, keep)
