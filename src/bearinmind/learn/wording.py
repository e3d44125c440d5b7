"""A sentence of a conversation in words that stand by themselves. Pure."""

from __future__ import annotations

import re

_POLITE = re.compile(
    r"^(?:please|pls|you (?:should|must|can)|i want you to|i'd like you to|let's)\s+(?=\S)",
    re.IGNORECASE,
)
_SELF = (
    (re.compile(r"\bI'm\b"), "the user is"),
    (re.compile(r"\bI am\b"), "the user is"),
    (re.compile(r"\bI've\b"), "the user has"),
    (re.compile(r"\bmyself\b", re.IGNORECASE), "the user"),
    (re.compile(r"\bmine\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\bme\b"), "the user"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "the user's"),
)
_I = re.compile(
    r"\bi ((?:(?:really|strongly|generally|usually|much|always|personally|still|never|only) )?)"
    r"(do )?(don't )?(can't stand|[a-z']+)\b",
    re.IGNORECASE,
)
_UNCHANGED = frozenset(
    ("was", "had", "can", "could", "will", "would", "should", "must", "can't", "can't stand")
)
_VERB = {"have": "has", "do": "does", "go": "goes", "am": "is"}
_INFINITIVES = (
    ("using ", "use "),
    ("going ", "go "),
    ("adopting ", "adopt "),
    ("switching ", "switch "),
    ("storing ", "store "),
)
_PLEASE = re.compile(r",?\s+(?:please|pls|thanks|ok|okay|btw)$", re.IGNORECASE)
_MARKS = " .!,;:-"
_STOP = re.compile(r"^(?:stop|quit) (\w+ing) ", re.IGNORECASE)


def statement(kept: str) -> str:
    """A statement or an order as one sentence, with "the user" for whoever said "me"."""
    return _sentence(_about(_POLITE.sub("", kept)))


def about_user(kept: str) -> str:
    """What somebody says about themselves, said by another."""
    kept = re.sub(r"^call me\b", "my name is", kept, flags=re.IGNORECASE)
    return _sentence(_about(kept))


def stop(kept: str) -> str:
    """What is to be stopped, as what is not to be done."""
    return _sentence(_about(_STOP.sub(lambda found: f"Avoid {found[1].lower()} ", kept)))


def infinitive(kept: str) -> str:
    """What is proposed, as what is to be done."""
    for doing, do in _INFINITIVES:
        if kept.lower().startswith(doing):
            kept = do + kept[len(doing) :]
    return kept.rstrip(" .!?")


def _about(text: str) -> str:
    text = _I.sub(_third, text)
    for pattern, instead in _SELF:
        text = pattern.sub(instead, text)
    return text


def _third(found: re.Match[str]) -> str:
    """What I do, as what the user does."""
    how, _, negated, verb = found.groups()
    verb = verb.lower()
    if verb in _UNCHANGED:
        return f"the user {how}{verb}"
    if negated:
        return f"the user {how}does not {verb}"
    return f"the user {how}{_VERB.get(verb) or _with_s(verb)}"


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _sentence(text: str) -> str:
    text = _PLEASE.sub("", " ".join(text.split()).rstrip(_MARKS)).rstrip(_MARKS)
    first = text.split(" ", 1)[0].replace("'", "")
    if first.isalpha() and first.islower():  # iOS and `make` keep their case
        text = text[:1].upper() + text[1:]
    return f"{text}."
