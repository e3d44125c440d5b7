"""A small labeller: the user grades pairs, blind to where they come from and to other grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bearinmind.bench.own import judge
from bearinmind.bench.own.agreement import Agreement, agreement
from bearinmind.bench.own.folder import Folder
from bearinmind.bench.own.grades import SCALE, Key, Texts, by_judge
from bearinmind.bench.own.records import USER
from bearinmind.bench.own.sources import Draw

QUESTION = "grade [0-3, s skip, u undo, q quit]: "
_GRADES = {str(grade): grade for grade, _ in SCALE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What the user did."""

    graded: int
    skipped: int
    left: int  #: pairs without a grade of the user's


@dataclass(frozen=True, slots=True, kw_only=True)
class Labeller:
    """Shows pairs in a chance order and keeps every grade at once."""

    folder: Folder
    texts: Texts
    ask: Callable[[str], str | None]  #: prompts and gives the answer; None when there are no more
    show: Callable[[str], None]
    seed: int

    def unlabelled(self, pool: Sequence[Key]) -> list[Key]:
        """What the user has not graded yet, in the order in which it is shown."""
        known = by_judge(self.folder.judgements(), self.texts).get(USER, {})
        draw = Draw(seed=self.seed, most=len(pool))
        return [
            key for key in draw.order(pool, lambda key: f"{key[0]} {key[1]}") if key not in known
        ]

    def label(self, pool: Sequence[Key], most: int | None = None) -> Labelled:
        """Go through the pairs until the user has had enough."""
        unlabelled = self.unlabelled(pool)
        waiting = unlabelled[:most]
        self._explain(len(waiting))
        given: list[int | None] = []  # for each pair that was passed: the grade, None if skipped
        while len(given) < len(waiting):
            self._present(waiting[len(given)], len(given) + 1, len(waiting))
            answer = self._answer()
            if answer is None or answer == "q":
                break
            if answer == "u":
                self._undo(waiting, given)
                continue
            given.append(_GRADES.get(answer))
            if answer in _GRADES:
                self._keep(waiting[len(given) - 1], _GRADES[answer])
        graded = sum(grade is not None for grade in given)
        return Labelled(graded=graded, skipped=len(given) - graded, left=len(unlabelled) - graded)

    def _answer(self) -> str | None:
        while True:
            answer = self.ask(QUESTION)
            if answer is None:
                return None
            answer = answer.strip().lower()
            if answer in _GRADES or answer in {"s", "u", "q"}:
                return answer
            self.show(f"{answer!r} is not one of 0, 1, 2, 3, s, u, q")

    def _undo(self, waiting: Sequence[Key], given: list[int | None]) -> None:
        """Go back to the pair before, and take its grade back."""
        if not given:
            self.show("there is nothing to undo")
        elif given.pop() is not None:
            self._keep(waiting[len(given)], None)

    def _keep(self, key: Key, grade: int | None) -> None:
        self.folder.add(judge.judgement(self.texts, key, grade, USER))

    def _explain(self, count: int) -> None:
        if count:
            self.show("How well does the memory answer the question?")
            for grade, meaning in SCALE:
                self.show(f"  {grade}  it {meaning}")

    def _present(self, key: Key, number: int, count: int) -> None:
        self.show(f"\n{number} of {count}")
        self.show(f"question: {self.texts.queries[key[0]]}")
        self.show(f"memory:   {self.texts.memories[key[1]]}")


def agreements(folder: Folder, texts: Texts) -> Iterator[Agreement]:
    """How far every judge agrees with the user."""
    grades = by_judge(folder.judgements(), texts)
    by_user = grades.pop(USER, {})
    for name, given in grades.items():
        found = agreement(name, by_user, given)
        if found.pairs:
            yield found
