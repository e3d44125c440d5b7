"""What the pair reader learns from: questions, pairs and choices over one table of texts."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from outdates_model.network import DEVICE, Reader
from outdates_model.subjects import Subjects

CLS, SEP = 101, 102  # tokens before the first text, and behind each
MOST_QUESTION, MOST_TEXT = 48, 128  # tokens that are read
CANDIDATES = 8  # texts beside a question, at most one of which answers it
WIDTHS = 16  # tokens by which batches differ in width: few shapes are fast
#: The texts that are nearest to a question in all worlds: the first may answer it by chance.
NEAREST, FURTHEST = 10, 150
ELSEWHERE = 2  # texts of other worlds beside a question
NEIGHBOURS = 10  # of each memory, that are taken for two things
THREAD = 8  # memories of a thread: of a larger one most have nothing to do with each other ...
NEAR = 3  # ... so a memory is told from the nearest of those that it does not outdate
BASE = "e5-small"  #: what the training starts from, and what finds wrong answers
#: Memories are longer than what was written to learn from: a text is also read among others.
VARIANTS = 3  # of each text, in which it stands among others
SHORTEST_LONG, LONGEST_LONG = 110, 420  # characters of such a text
OF_OWN_WORLD = 0.5  # of the texts beside it, unless they may answer the same questions
OTHER_SUBJECT = 0.6  # how often one of the texts beside a question says it of somebody else ...
OF_OTHERS = 0.2  # ... and of the pairs of memories that differ in the subject, how many are learnt
#: Public sources whose questions are about the world at large: no memory answers one.
GENERAL_KNOWLEDGE = (
    "medquad",
    "qed-nq",
    "selqa",
    "sni-boolq",
    "sni-qasc-facts",
    "squad-sentences",
    "squadshifts-new_wiki",
)
UNRELATED = 10_000  # of them, that are put to memories ...
EVERYDAY_TIMES = 6  # ... beside everyday questions that no memory answers, so many times each ...
UNRELATED_NEAR = 8  # texts near to a question, of which one stands beside what answers it
BY_CHANCE = 3  # ... but not to the nearest memories of all worlds: one may answer by chance


class Thread(NamedTuple):
    """A few memories of one store in the order of their times, and questions."""

    world: str
    memories: list[str]
    pairs: list[tuple[int, int, bool]]  #: the newer, the older, whether it outdates it
    asks: list[tuple[str, list[int], list[int], float]]  #: who answers now, who did; what it counts


def as_thread(line: dict[str, Any]) -> Thread:
    """A line of `threads.jsonl`, or a labelled pair of the other training files."""
    asks: list[tuple[str, list[int], list[int], float]] = []
    if "store" in line:  # a store of which nothing outdates anything, and many questions
        asks = [(text, now, [], 1.0) for text, now, *_ in line["asks"]]
        return Thread(line["store"], [text for _, text in line["memories"]], [], asks)
    if "memories" in line:
        places = combinations(range(len(line["memories"])), 2)
        outdates, unclear = ({(a, b) for a, b in line[x]} for x in ("outdates", "unclear"))
        pairs = [(b, a, (b, a) in outdates) for a, b in places if (b, a) not in unclear]
        asks = [(text, now, stale, 1.0) for text, now, stale in line["asks"]]
        return Thread(line["world"], [text for _, text in line["memories"]], pairs, asks)
    for text, older, newer in line.get("asks") or [(line["question"], 1, 1)]:
        answering = [place for place, answers in enumerate((older, newer)) if answers]
        is_stale = line["outdates"] and len(answering) > 1
        counts = 1.0 if "asks" in line or line["outdates"] else 0.5
        asks.append((text, answering[is_stale:], answering[:is_stale], counts))
    pair = (1, 0, line["outdates"])
    return Thread(line["world"], [line["older"], line["newer"]], [pair], asks)


class Texts:
    """Texts as tokens, padded, on the graphics processor; some of them are questions."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], questions: range) -> None:
        ids = np.zeros((len(texts), MOST_TEXT), np.int64)
        lengths = np.zeros(len(texts), np.int64)
        for place, encoded in enumerate(tokenizer.encode_batch([*texts], add_special_tokens=False)):
            most = MOST_QUESTION if place in questions else MOST_TEXT
            lengths[place] = min(most, len(encoded.ids))
            ids[place, : lengths[place]] = encoded.ids[:most]
        self.ids, self.lengths = (
            torch.tensor(ids, device=DEVICE),
            torch.tensor(lengths, device=DEVICE),
        )


def joined(*texts: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Texts one after another as a model reads them, and where there is no padding."""
    whole_length = 1 + sum(lengths + 1 for _, lengths in texts)
    rows = torch.arange(len(whole_length), device=DEVICE)
    width = -(-int(whole_length.max()) // WIDTHS) * WIDTHS
    places = torch.arange(width, device=DEVICE).expand(len(rows), -1)
    whole = torch.zeros_like(places)
    begin = torch.ones_like(whole_length)
    for ids, lengths in texts:
        end = begin + lengths
        own = torch.gather(ids, 1, (places - begin[:, None]).clamp(0, ids.shape[1] - 1))
        whole = torch.where((places >= begin[:, None]) & (places < end[:, None]), own, whole)
        whole[rows, end] = SEP
        begin = end + 1
    whole[:, 0] = CLS  # where the end of a text of length -1, which is none, was put
    return whole, places < whole_length[:, None]


def embedded(reader: Reader, texts: Texts, first: int) -> Tensor:
    """The vector of each of the first texts: the mean of the last layer."""
    vectors = torch.zeros(first, 384, device=DEVICE)
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        for part in torch.argsort(texts.lengths[:first]).split(1_024):
            ids, mask = joined((texts.ids[part], texts.lengths[part]))
            hidden = reader(ids, mask)[1][-1].float() * mask[..., None]
            vectors[part] = functional.normalize(hidden.sum(1), dim=1)
    return vectors


class Question(NamedTuple):
    """A question by the numbers of the texts that answer it, and of others that do not."""

    answers: Sequence[int]
    others: Sequence[int]
    counts: float
    near: list[int]  #: texts that seem to answer and do not
    elsewhere: list[int]  #: texts of other worlds that are a little like it
    of_others: Sequence[int] = ()  #: what answers it, said of somebody else


class Asked(NamedTuple):
    """A question of a thread, before the texts are known that are near to it."""

    world: str
    answers: list[int]
    others: list[int]
    counts: float
    of_others: list[int]


class Choice(NamedTuple):
    """A question with an older and a newer memory, one of which is the better answer."""

    question: int
    older: int
    newer: int
    is_newer: bool


NONE = -1  #: no text
BOTH = 4  #: the kind of choices between two memories that both answer


def _rows_of(shown: list[Any], first: int) -> Iterator[tuple[tuple[int, int, int], bool]]:
    """The rows of texts that follow one another from a number on, with their labels."""
    for label, *texts in shown:
        places = range(first, first + len(texts))
        yield (*([NONE] * (3 - len(texts))), *places), label
        first += len(texts)


class Material:
    """Everything that is learnt from."""

    def __init__(self, folder: Path) -> None:
        with gzip.open(folder / "data.json.gz", "rt", encoding="utf-8") as file:
            data = json.load(file)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.contents: list[str] = data["passages"]
        self._number: dict[str, int] = {}
        self._together: set[frozenset[int]] = set()  # texts of one thread
        self.questions: list[Question] = []
        asked = [x["text"] for x in data["questions"]]
        sources = [x["source"] for x in data["questions"]]
        known = [place for place, source in enumerate(sources) if source in GENERAL_KNOWLEDGE]
        unrelated = [asked[place] for place in random.sample(known, UNRELATED)]
        unrelated += EVERYDAY_TIMES * data["everyday"]
        asked += unrelated
        self.pairs: list[tuple[int, int, bool]] = []
        #: Where the older states what was, where it does not answer, where only it answers, where
        #: the other one says it of somebody else, and where both answer.
        self.choices: tuple[list[Choice], ...] = ([], [], [], [], [])
        self.of_others: list[tuple[int, int]] = []  #: memories of two subjects ...
        self.said_of_others: list[int] = []  #: ... and the latter alone
        threads = [*map(as_thread, data["pairs"] + data["threads"] + data["stores"])]
        own, worlds, large = self._take_all(threads, asked)
        background: dict[str, set[int]] = {}
        for user, content in data["background"]:
            background.setdefault(user, set()).add(self._of(content))
        stores = {store["store"] for store in data["stores"]}
        among_others = [*self._among_others(worlds, stores)]
        self.first_question = len(self.contents)
        shown = [*data["labelled"], *data["chosen"], *data["answering"]]  # a label, then texts
        self._first_answering = first_shown = self.first_question + len(asked)
        self._first_answering += sum(
            len(texts) for _, *texts in (*data["labelled"], *data["chosen"])
        )
        texts = [*self.contents, *asked, *(text for _, *texts in shown for text in texts)]
        #: By the number of a text, those in which it stands among others.
        self.variants: dict[int, list[int]] = {}
        for place, (own_id, _) in enumerate(among_others, start=len(texts)):
            self.variants.setdefault(own_id, []).append(place)
        self.texts = Texts(
            tokenizer,
            [*texts, *(text for _, text in among_others)],
            range(self.first_question, first_shown),
        )
        self.development = [*_rows_of(shown, first_shown)]
        miner = Reader.stored(folder / f"{BASE}.npz").eval()
        self._vectors = embedded(miner, self.texts, len(texts))
        self._add_general(data["questions"], sources)
        self.general = len(self.questions)
        memories = sorted({*chain(*worlds.values())})
        self._add_unrelated(len(unrelated), memories)
        self.first_own = len(self.questions)
        of_stores = sum(len(store["asks"]) for store in data["stores"])
        self.first_store = len(asked) - of_stores
        self._add_own(own, {world: sorted(ids) for world, ids in worlds.items()})
        self._leave_out_far(large)
        self.neighbours = self._neighbours([*worlds.values(), *background.values()])

    def _take_all(
        self, threads: Sequence[Thread], asked: list[str]
    ) -> tuple[list[Asked], dict[str, set[int]], list[list[int]]]:
        """Take the memories of all threads; their questions, worlds, and the large threads.

        The texts of the questions are added to `asked`.
        """
        own: list[Asked] = []
        worlds: dict[str, set[int]] = {}
        large: list[list[int]] = []
        subjects = Subjects([text for thread in threads for text in thread.memories])
        for thread in threads:
            ids = self._take(thread)
            worlds.setdefault(thread.world, set()).update(ids)
            if thread.pairs and len(ids) > THREAD:
                large.append(ids)
            for text, now, stale, counts in thread.asks:
                answers = [ids[x] for x in (*now, *stale)]
                is_small = thread.pairs and len(ids) <= THREAD  # else the nearest are looked for
                others = [x for x in ids if x not in answers and is_small]
                if thread.pairs:
                    self._add_choices(len(asked), ids, now, stale)
                self.choices[BOTH].extend(
                    Choice(len(asked), ids[older], ids[newer], is_newer=False)
                    for older, newer in combinations(sorted(now), 2)
                )
                said = [*self._of_others(subjects, len(asked), text, ids, now, stale)]
                own.append(Asked(thread.world, answers, others, counts, said))
                asked.append(text)
        return own, worlds, large

    def _take(self, thread: Thread) -> list[int]:
        """Take the memories of a thread and its pairs; the numbers of the memories."""
        ids = [self._of(text) for text in thread.memories]
        if thread.pairs:
            self._together |= {frozenset(two) for two in combinations(ids, 2)}
        self.pairs += [(ids[older], ids[newer], label) for newer, older, label in thread.pairs]
        return ids

    def _add_choices(self, question: int, ids: list[int], now: list[int], stale: list[int]) -> None:
        """Each two memories of which one answers a question truly, and one does not."""
        for older, newer in combinations(range(len(ids)), 2):
            if (older in now) == (newer in now):
                continue
            kind = 2 if older in now else int(older not in stale)
            self.choices[kind].append(Choice(question, ids[older], ids[newer], newer in now))

    def _of_others(
        self,
        subjects: Subjects,
        question: int,
        asked: str,
        ids: list[int],
        now: list[int],
        stale: list[int],
    ) -> Iterator[int]:
        """What answers a question, said of somebody else; it is the better answer to nothing."""
        for place in now:
            text = self.contents[ids[place]]
            other = subjects.swapped(asked, text)
            if other is None:
                continue
            said = self._of(other.text)
            self.said_of_others.append(said)
            yield said
            self.choices[3].append(Choice(question, said, ids[place], is_newer=True))
            for older in (place, *stale):
                self.choices[3].append(Choice(question, ids[older], said, is_newer=False))
                if other.subject in self.contents[ids[older]]:
                    self.of_others.append((ids[older], said))

    def kind(self, row: tuple[int, int, int]) -> int:
        """What a development row shows: 0 two memories, 1 with a question, 2 a question and one."""
        return 2 if row[1] >= self._first_answering else int(row[0] != NONE)

    def _among_others(
        self, worlds: dict[str, set[int]], stores: set[str]
    ) -> Iterator[tuple[int, str]]:
        """Each text with a few others around it, and its number.

        They are of other threads of its world or of other worlds. Any memory of a store may answer
        its questions, so beside one of those stand only texts from elsewhere.
        """
        every = sorted({*chain(*worlds.values())})
        for world, ids in worlds.items():
            near = [] if world in stores else sorted(ids)
            for own in sorted(ids):
                for _ in range(VARIANTS):
                    yield own, self._surrounded(own, near, every)
        for own in self.said_of_others:
            yield own, self._surrounded(own, [], every)

    def _surrounded(self, own: int, near: Sequence[int], every: Sequence[int]) -> str:
        parts = [self.contents[own]]
        wanted = random.randint(SHORTEST_LONG, LONGEST_LONG)
        while sum(map(len, parts)) < wanted:
            among = near if near and random.random() < OF_OWN_WORLD else every
            other = random.choice(among)
            if other == own or frozenset((own, other)) in self._together:
                other = random.choice(every)
            parts.insert(random.randint(0, len(parts)), self.contents[other])
        return " ".join(part if part[-1:] in ".!?" else f"{part}." for part in parts)

    def _of(self, content: str) -> int:
        if content not in self._number:
            self._number[content] = len(self.contents)
            self.contents.append(content)
        return self._number[content]

    def _nearest(self, questions: list[int], texts: list[int], most: int) -> list[list[int]]:
        among = torch.tensor(texts, device=DEVICE)
        rows: list[list[int]] = []
        for part in torch.tensor(questions, device=DEVICE).split(2_048):
            cosines = self._vectors[self.first_question + part] @ self._vectors[among].T
            rows += among[cosines.topk(min(most, len(texts))).indices].tolist()
        return rows

    def _add_general(self, questions: list[dict[str, Any]], sources: list[str]) -> None:
        """Those of the public texts; what has a string of the answer in it is no wrong answer."""
        near: dict[int, list[int]] = {}
        for source in dict.fromkeys(sources):
            places = [place for place, each in enumerate(sources) if each == source]
            used = {x for place in places for x in questions[place]["answers"]}
            among = [*range(min(used), max(used) + 1)]
            near |= zip(places, self._nearest(places, among, 30), strict=True)
        for place, each in enumerate(questions):
            strings = [x.lower() for x in each["strings"] if len(x) > 1]
            wrong = [
                x
                for x in near[place]
                if x not in each["answers"]
                and not any(string in self.contents[x].lower() for string in strings)
            ]
            self.questions.append(Question(each["answers"], each["others"], 1.0, wrong[:20], []))

    def _add_unrelated(self, count: int, memories: list[int]) -> None:
        """Questions about the world at large, with memories that are near to them."""
        places = [*range(self.general, self.general + count)]
        for near in self._nearest(places, memories, BY_CHANCE + 20):
            self.questions.append(Question([], [], 1.0, near[BY_CHANCE:], []))

    def _add_own(
        self,
        own: list[Asked],
        worlds: dict[str, list[int]],
    ) -> None:
        near: dict[int, list[int]] = {}
        of_world = {world: {*ids} for world, ids in worlds.items()}
        for world, ids in worlds.items():
            places = [place for place, each in enumerate(own) if each[0] == world]
            rows = self._nearest([self.first_own + place for place in places], ids, 16)
            near |= zip(places, rows, strict=True)
        memories = sorted({*chain(*worlds.values())})
        places = [self.first_own + place for place in range(len(own))]
        for place, far in enumerate(self._nearest(places, memories, FURTHEST)):
            world, answers, others, counts, said = own[place]
            wrong = [x for x in near[place] if x not in answers and x not in others]
            elsewhere = [x for x in far[NEAREST:] if x not in of_world[world]]
            self.questions.append(Question(answers, others, counts, wrong[:12], elsewhere, said))

    def _leave_out_far(self, threads: list[list[int]]) -> None:
        """Tell changes and near-misses apart, without what is easily told in large threads."""
        far = self._far(threads)
        self.changes = [pair for pair in self.pairs if pair[2]]
        self.near_misses = [x for x in self.pairs if not x[2] and frozenset(x[:2]) not in far]
        some = random.sample(self.of_others, round(OF_OTHERS * len(self.of_others)))
        self.near_misses += [(older, newer, False) for older, newer in some]
        self.choices = tuple(
            [x for x in kind if self._is_near(x) or frozenset((x.older, x.newer)) not in far]
            for kind in self.choices
        )

    def _far(self, threads: list[list[int]]) -> set[frozenset[int]]:
        """The pairs of large threads of which neither memory is one of the other's nearest."""
        far = set()
        for ids in threads:
            vectors = self._vectors[torch.tensor(ids, device=DEVICE)]
            rows = (vectors @ vectors.T).topk(NEAR + 1).indices.tolist()
            near = {frozenset((ids[a], ids[b])) for a, row in enumerate(rows) for b in row}
            far |= {frozenset(two) for two in combinations(ids, 2)} - near
        return far

    def _is_near(self, choice: Choice) -> bool:
        """Whether the memory that does not answer is one of the nearest to the question."""
        question = self.questions[choice.question]
        wrong = choice.older if choice.is_newer else choice.newer
        return wrong in question.near[:NEAR] or wrong in question.answers

    def _neighbours(self, worlds: list[set[int]]) -> list[tuple[int, int]]:
        """Memories of one world that are near each other and of no thread together."""
        found = []
        for world in worlds:
            ids = torch.tensor(sorted(world), device=DEVICE)
            vectors = self._vectors[ids]
            nearest = (vectors @ vectors.T).topk(min(NEIGHBOURS + 1, len(ids))).indices
            for one, row in zip(ids.tolist(), ids[nearest].tolist(), strict=True):
                found += [(one, x) for x in row[1:] if frozenset((one, x)) not in self._together]
        return found

    def unrelated_choice(self) -> Choice:
        """What answers a question, and what is near to it and does not: neither is the newer."""
        places = random.choice((range(self.general), range(self.first_store, len(self.questions))))
        while True:
            place = random.choice(places)
            question = self.questions[place]
            wrong = [*question.near[:UNRELATED_NEAR], *question.others]
            if question.answers and wrong:
                break
        right, other = random.choice(question.answers), random.choice(wrong)
        is_newer = random.random() < 0.5
        older, newer = (other, right) if is_newer else (right, other)
        return Choice(place, older, newer, is_newer)

    def candidates(self, question: Question) -> tuple[list[int], list[float]]:
        """Texts beside a question, the one that answers first, and their labels."""
        chosen = [random.choice(question.answers)] if question.answers else []
        labels = [1.0] * len(chosen)
        if question.of_others and random.random() < OTHER_SUBJECT:
            chosen.append(random.choice(question.of_others))
        chosen += random.sample(question.others, min(3, len(question.others)))
        chosen += random.sample(question.elsewhere, min(ELSEWHERE, len(question.elsewhere)))
        more = max(1, CANDIDATES - 1 - len(chosen))
        chosen += random.sample(question.near, min(more, len(question.near)))
        chosen += [random.randrange(len(self.contents)) for _ in range(CANDIDATES - len(chosen))]
        chosen = chosen[:CANDIDATES]
        return chosen, labels + [0.0] * (CANDIDATES - len(labels))
