from __future__ import annotations

from collections.abc import Callable

import pytest

from bearinmind.types import Memory
from bearinmind_bench.own import sources

Make = Callable[..., Memory]


@pytest.mark.parametrize(
    ("question", "content", "given_away"),
    [
        ("Who looks after the greenhouse?", "Marta waters the plants on Mondays.", set()),
        ("Who is watering things?", "Marta waters the plants on Mondays.", {"water"}),
        ("What does Marta do each week?", "Marta waters the plants on Mondays.", set()),
        ("Which fault did E11000 mean?", "E11000 is a duplicate key.", set()),
        ("What went wrong in parseConfig?", "parseConfig fails on tabs.", set()),
        ("When do we parse it?", "parseConfig fails on tabs.", {"pars"}),
        ("Is nginx.conf broken?", "The file nginx.conf has a typo.", set()),
        ("Where do backups go?", "Backups run at night.", {"backup"}),
        ("Why is it client/server?", "A client/server split was chosen.", {"client", "server"}),
    ],
)
def test_only_names_and_identifiers_may_be_shared(
    make: Make, question: str, content: str, given_away: set[str]
) -> None:
    assert sources.gives_away(question, make(content)) >= given_away
    assert bool(sources.gives_away(question, make(content))) is bool(given_away)


def test_a_question_of_nothing_but_names_gives_itself_away(make: Make) -> None:
    memory = make("We met Anna, Bert, Cora and Dora in Oslo.")

    assert not sources.gives_away("Who was there with Anna and Bert?", memory)
    assert sources.gives_away("Were Anna, Bert, Cora and Dora there?", memory)


def test_words_are_compared_by_their_stem_and_grammar_does_not_count(make: Make) -> None:
    memory = make("She painted the fence.", tags=("garden",), category="projects")

    assert sources.shared("painting of the gardens, a project", memory) == {
        "paint",
        "garden",
        "project",
    }
    assert sources.shared("was that she the one?", memory) == set()


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("The backups run at three every night on the server.", True),  # nearly the same
        ("Copies of the data are made while everybody sleeps.", False),
        ("Tapes, disks, cellars, boxes, labels; backups run every night.", True),  # a run of words
        ("the of and", True),  # asks nothing
    ],
)
def test_texts_that_say_the_same_in_the_same_words_are_copies(
    make: Make, text: str, *, copied: bool
) -> None:
    memory = make("Our backups run every night at two on the server.")

    assert sources.copies(text, memory) is copied
