"""The models that the settings name."""

from __future__ import annotations

from bearinmind.bench.own.chat import Chat
from bearinmind.bench.own.records import About
from bearinmind.config import Settings
from bearinmind.errors import InvalidSetting


def writer(settings: Settings, most_calls: int) -> Chat:
    """The model that writes questions.

    Raises:
        InvalidSetting: none is configured.
    """
    return _chat(
        settings, _named(settings, "llm_model", "Set both, or leave out --llm."), most_calls
    )


def judge(settings: Settings, about: About) -> Chat:
    """The model that grades, which must not have written the questions.

    Raises:
        InvalidSetting: none is configured, or it would judge its own work.
    """
    hint = "Set both, or grade by hand with `bearinmind bench own label`."
    name = _named(settings, "judge_model", hint)
    if name in about.generators:
        raise InvalidSetting(
            f"judge_model = {name!r} wrote questions of this set, and would judge its own work",
            hint="Choose another model as judge_model.",
        )
    return _chat(settings, name, None)


def _named(settings: Settings, setting: str, hint: str) -> str:
    for needed in ("llm_url", setting):
        if not getattr(settings, needed):
            raise InvalidSetting(
                f"llm_url and {setting} say which model to ask, and {needed} is not set", hint=hint
            )
    return str(getattr(settings, setting))


def _chat(settings: Settings, model: str, most_calls: int | None) -> Chat:
    key = settings.llm_key.get_secret_value() if settings.llm_key else None
    return Chat(str(settings.llm_url), model, key, most_calls=most_calls)
