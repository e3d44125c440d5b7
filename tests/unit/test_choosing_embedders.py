"""From settings, or from a stored space, to an embedder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from bearinmind.config import Configuration, Settings
from bearinmind.errors import EmbedderFailure, InvalidSetting
from bearinmind.models.caches import CachedEmbedder
from bearinmind.models.factory import (
    EMBEDDER_FORMS,
    LOCAL_ENCODERS,
    EmbedderOptions,
    choose_embedder,
    remake_embedder,
)
from bearinmind.protocols import Embedder
from bearinmind.types import Space
from support.embedding_server import EmbeddingServer, serving

KEY = SecretStr("sk-1")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as server:
        yield server


def chosen(text: str, options: EmbedderOptions | None = None) -> Embedder:
    embedder = choose_embedder(text, options or EmbedderOptions())
    assert embedder is not None
    return embedder


@pytest.mark.parametrize("form", EMBEDDER_FORMS)
def test_every_form_is_allowed_as_a_setting(form: str) -> None:
    assert Settings(embedder=form).embedder == form


@pytest.mark.parametrize(
    "text", ["", "nonsense", "openai", "openai:", "local:x", "fastembed: ", "none:x", "http"]
)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(InvalidSetting, match=r"embedder = .* one of local, .*http:MODEL"):
        Configuration.load({"embedder": text}, environment={})


def test_what_a_store_names_and_nobody_knows_is_no_embedder() -> None:
    with pytest.raises(InvalidSetting, match=r"'acme:e1' is no embedder; .*http:MODEL"):
        choose_embedder("acme:e1", EmbedderOptions())


def test_none_is_no_embedder() -> None:
    assert choose_embedder("none", EmbedderOptions()) is None


@pytest.mark.parametrize("name", ["local", *LOCAL_ENCODERS])
def test_an_encoder_of_this_machine_needs_nothing(name: str) -> None:
    embedder = chosen(name)

    assert embedder.space.dimensions % 384 == 0
    assert not embedder.leaves_machine
    assert remake_embedder(embedder.space, "none", EmbedderOptions()).space == embedder.space


def test_a_folder_without_an_encoder_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailure, match="there is no encoder in"):
        choose_embedder(f"folder:{tmp_path}", EmbedderOptions())


@pytest.mark.parametrize(
    ("text", "dimensions"),
    [
        ("openai:text-embedding-3-small", 1536),
        ("voyage:voyage-3.5", 1024),
        ("cohere:embed-english-v3.0", 1024),
    ],
)
def test_a_provider_is_asked_at_its_own_address(text: str, dimensions: int) -> None:
    embedder = chosen(text, EmbedderOptions(key=KEY))

    assert embedder.leaves_machine
    assert embedder.space == Space(model=text, revision="hosted", dimensions=dimensions)
    assert f"{text} at https://api." in repr(embedder)


def test_a_provider_wants_a_key() -> None:
    with pytest.raises(InvalidSetting, match="needs a key") as caught:
        choose_embedder("voyage:voyage-3.5", EmbedderOptions(provider_keys={"openai": KEY}))
    assert "VOYAGE_API_KEY" in caught.value.hint

    assert choose_embedder("voyage:voyage-3.5", EmbedderOptions(provider_keys={"voyage": KEY}))


def test_a_server_of_ones_own_wants_an_address() -> None:
    with pytest.raises(InvalidSetting, match="needs embedder_url"):
        choose_embedder("http:bge-m3", EmbedderOptions())


def test_a_providers_key_is_sent_to_nobody_else(server: EmbeddingServer) -> None:
    options = EmbedderOptions(url=server.url, provider_keys={"openai": KEY})
    embedder = chosen("openai:small", options)
    embedder.embed_query("q")
    embedder.close()
    embedder = chosen("openai:small", replace(options, key=KEY))
    embedder.embed_query("q")
    embedder.close()

    assert [seen.key for seen in server.seen] == [None, "Bearer sk-1"]


def test_hosted_embeddings_are_cached_where_there_is_a_file(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    options = EmbedderOptions(url=server.url, cache=tmp_path / "embeddings.db")
    for _ in range(2):  # two processes, as it were
        embedder = chosen("http:small", options)
        assert isinstance(embedder, CachedEmbedder)
        assert embedder.space.dimensions == 8
        embedder.embed_memories(["a"])
        embedder.close()

    assert server.texts == [["memory"], ["a"]]  # one to learn the dimensions


# ---- from a stored space -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("minilm", EmbedderOptions()),
        ("e5-small", EmbedderOptions()),
        ("openai:text-embedding-3-small", EmbedderOptions(key=KEY)),
        ("openai:text-embedding-3-small", EmbedderOptions(key=KEY, dimensions=256)),
        ("http:nomic-embed-text", EmbedderOptions(url="http://127.0.0.1:9/v1")),
        ("http:unknown", EmbedderOptions(url="http://127.0.0.1:9/v1", dimensions=7)),
    ],
)
def test_a_space_is_made_again(text: str, options: EmbedderOptions) -> None:
    space = replace(chosen(text, options).space, text="content")

    assert remake_embedder(space, text, options).space == space


def test_a_space_of_found_out_dimensions_is_made_again_without_asking() -> None:
    options = EmbedderOptions(url="http://127.0.0.1:9/v1")  # where nobody is
    space = Space(model="http:unknown", revision="hosted", dimensions=7)

    assert remake_embedder(space, "http:unknown", options).space == space


def test_the_space_before_keeps_answering_with_its_providers_key() -> None:
    old = chosen("openai:text-embedding-3-small", EmbedderOptions(key=KEY, dimensions=512)).space
    now = EmbedderOptions(url="http://127.0.0.1:9/v1", key=KEY)

    with pytest.raises(InvalidSetting, match="needs a key"):  # the configured one is another's
        remake_embedder(old, "http:bge-m3", now)
    again = remake_embedder(old, "http:bge-m3", replace(now, provider_keys={"openai": KEY}))
    assert again.space == old
    assert again.leaves_machine


def test_an_encoder_that_is_not_here_any_more_is_told() -> None:
    space = replace(chosen("minilm").space, revision="another")

    with pytest.raises(EmbedderFailure, match="not on this machine as it was") as caught:
        remake_embedder(space, "local", EmbedderOptions())
    assert "bearinmind reembed" in caught.value.hint


@pytest.mark.parametrize("name", ["minilm", "minilm+e5-small"])
def test_a_space_of_an_earlier_graph_of_the_same_weights_is_served(name: str) -> None:
    current = chosen(name).space
    earlier = replace(current, revision=re.sub(r"\.\d+\.int8", ".1.int8", current.revision))
    assert earlier != current

    embedder = remake_embedder(earlier, "local", EmbedderOptions())

    assert embedder.space == earlier
    assert embedder.embed_query("Where are the keys?").shape == (current.dimensions,)


# ---- settings ----------------------------------------------------------------------------------


def test_the_usual_variables_are_read() -> None:
    environment = {"OPENAI_API_KEY": "a", "CO_API_KEY": "b", "VOYAGE_API_KEY": ""}
    configuration = Configuration.load(environment=environment)

    keys = configuration.settings.provider_keys
    assert {name: key.get_secret_value() for name, key in keys.items()} == {
        "openai": "a",
        "cohere": "b",
    }
    [origin] = [each for each in configuration.origins if each.name == "provider_keys"]
    assert origin.origin == "environment"
    assert "'a'" not in repr(configuration)


def test_a_key_of_our_own_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[provider_keys]\nopenai = "ours"\n')
    environment = {"OPENAI_API_KEY": "theirs", "VOYAGE_API_KEY": "v"}

    keys = Configuration.load(environment=environment, file=file).settings.provider_keys

    assert keys["openai"].get_secret_value() == "ours"
    assert keys["voyage"].get_secret_value() == "v"


def test_a_provider_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="provider_keys names acme, not a provider"):
        Configuration.load({"provider_keys": {"acme": "k"}}, environment={})
