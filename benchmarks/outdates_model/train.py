"""Train the model that reads two memories and tells whether the newer outdates the older.

    python benchmarks/outdates_model/train.py FOLDER

Needs PyTorch and a graphics processor: eight minutes of an H200. FOLDER is what `gather.py` made;
`outdates.npz`, which is written there, belongs to `packages/encoder/weights`.

The model starts from e5-small and learns three things at once: whether a text answers a question,
which teaches it to read, whether a newer memory outdates an older one, and, if it is given a
question before the two, whether the newer one is the better answer to it. First mostly the former,
then mostly the latter two. The words of e5-small stay as they are, so only the layers have to be
kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

SEED = 17
DEVICE = "cuda"
CLS, SEP = 101, 102  # tokens before the first text, and behind each
MOST_QUESTION, MOST_TEXT = 48, 96  # tokens that are read
CANDIDATES = 8  # texts beside a question, at most one of which answers it
ANSWERS, OUTDATES = 0, 1  # the two numbers that a model gives; the second also for a question
WIDTHS = 16  # tokens by which batches differ in width: few shapes are fast
PARTS = 3  # of a batch, by length, so that little is padding
NEIGHBOURS = 10  # of each memory, that are taken for two things
NEIGHBOUR_COUNTS = 0.7  # as much as a labelled pair
CHANGES = 0.45  # of the labelled pairs in a step
ELSEWHERE = 0.3  # of the texts that do not answer a question, taken from elsewhere in its world
KINDS = (0.4, 0.2, 0.4)  # of the choices: stale and current, nothing and current, current first


class Phase(NamedTuple):
    """A part of the training."""

    seconds: float
    rate: float
    general: int  #: questions of the public texts in a step ...
    own: int  #: ... and of the training pairs
    labelled: int  #: pairs in a step ...
    neighbours: int  #: ... pairs of neighbours ...
    choices: int  #: ... and questions with two memories


BASE, LAYERS = "e5-small", 12
PHASES = (Phase(200, 1e-4, 96, 16, 24, 40, 24), Phase(500, 6e-5, 24, 64, 96, 96, 128))


# ---- the model -----------------------------------------------------------------------------------


class Layer(nn.Module):
    """Attention, then a network of one hidden layer."""

    def __init__(self, size: int = 384, heads: int = 12, inner: int = 1536) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.out, self.norm = nn.Linear(size, size), nn.LayerNorm(size, 1e-12)
        self.wide, self.narrow = nn.Linear(size, inner), nn.Linear(inner, size)
        self.last_norm, self.drop = nn.LayerNorm(size, 1e-12), nn.Dropout(0.1)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """The hidden numbers of the next layer."""
        shape = (*hidden.shape[:2], self.heads, -1)
        parts = [
            part(hidden).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
        ]
        taken = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        taken = taken.transpose(1, 2).reshape(hidden.shape)
        hidden = self.norm(hidden + self.drop(self.out(taken)))
        return self.last_norm(hidden + self.drop(self.narrow(functional.gelu(self.wide(hidden)))))


#: The usual name of each part of a layer.
PARTS_OF_LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "last_norm": "output.LayerNorm",
}


class Reader(nn.Module):
    """An encoder that reads two texts at once and gives two numbers."""

    def __init__(self, layers: int, size: int = 384) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30_522, size), nn.Embedding(512, size)
        self.norm, self.drop = nn.LayerNorm(size, 1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.numbers = nn.Linear(size, 2)

    def hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The last layer."""
        hidden = self.drop(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))
        for layer in self.layers:
            hidden = layer(hidden, mask[:, None, None, :])
        return hidden

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Two numbers for each pair."""
        return self.numbers(self.hidden(ids, mask)[:, 0].float())

    def names(self) -> dict[str, str]:
        """By parameter: its usual name. Every token is of the first segment."""
        names = {"words.weight": "embeddings.word_embeddings.weight"}
        for end in ("weight", "bias"):
            names[f"norm.{end}"] = f"embeddings.LayerNorm.{end}"
            names |= {
                f"layers.{place}.{part}.{end}": f"encoder.layer.{place}.{usual}.{end}"
                for place in range(len(self.layers))
                for part, usual in PARTS_OF_LAYER.items()
            }
        return names

    @classmethod
    def published(cls, path: Path, layers: int) -> Reader:
        """With the weights of a published encoder; the two numbers mean nothing yet."""
        with np.load(path) as file:
            stored = {
                name: file[name].astype(np.float32) * file.get(f"{name}.steps", np.float32(1))
                for name in file
                if not name.endswith(".steps")
            }
        reader = cls(layers)
        state = reader.state_dict()
        state |= {own: torch.tensor(stored[usual]) for own, usual in reader.names().items()}
        places = stored["embeddings.position_embeddings.weight"]
        first = stored["embeddings.token_type_embeddings.weight"][0]
        state["places.weight"] = torch.tensor(places + first)
        reader.load_state_dict(state)
        return reader.to(DEVICE)

    def save(self, path: Path) -> None:
        """Write what was trained, with the second number alone: matrices in bytes."""
        state = {
            name: value.detach().cpu().float().numpy() for name, value in self.state_dict().items()
        }
        written: dict[str, Any] = {
            "embeddings.position_embeddings.weight": state["places.weight"].astype(np.float16),
            "embeddings.token_type_embeddings.weight": np.zeros((2, 384), np.float16),
            "classifier.weight": state["numbers.weight"][OUTDATES:].astype(np.float16),
            "classifier.bias": state["numbers.bias"][OUTDATES:].astype(np.float16),
        }
        for own, usual in self.names().items():
            if own == "words.weight":
                continue
            value = state[own]
            if value.ndim == 1:
                written[usual] = value.astype(np.float16)
                continue
            steps = np.maximum(np.abs(value).max(axis=1, keepdims=True) / np.float32(127), 1e-9)
            written[usual] = np.rint(value / steps).astype(np.int8)
            written[f"{usual}.steps"] = steps.astype(np.float32)
        np.savez_compressed(path, **written)


# ---- the texts -----------------------------------------------------------------------------------


class Thread(NamedTuple):
    """A few memories of one store in the order of their times, and questions."""

    world: str
    memories: list[str]
    pairs: list[tuple[int, int, bool]]  #: the newer, the older, whether it outdates it
    asks: list[tuple[str, list[int], list[int], float]]  #: who answers now, who did; what it counts


def as_thread(line: dict[str, Any]) -> Thread:
    """A line of `threads.jsonl`, or a labelled pair of the other training files."""
    if "memories" in line:
        places = combinations(range(len(line["memories"])), 2)
        outdates, unclear = ({(a, b) for a, b in line[x]} for x in ("outdates", "unclear"))
        pairs = [(b, a, (b, a) in outdates) for a, b in places if (b, a) not in unclear]
        asks = [(text, now, stale, 1.0) for text, now, stale in line["asks"]]
        return Thread(line["world"], [text for _, text in line["memories"]], pairs, asks)
    asks = []
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


def embedded(reader: Reader, texts: Texts) -> Tensor:
    """The vector of each text: the mean of the last layer."""
    vectors = torch.zeros(len(texts.lengths), 384, device=DEVICE)
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        for part in torch.argsort(texts.lengths).split(1_024):
            ids, mask = joined((texts.ids[part], texts.lengths[part]))
            hidden = reader.hidden(ids, mask).float() * mask[..., None]
            vectors[part] = functional.normalize(hidden.sum(1), dim=1)
    return vectors


class Question(NamedTuple):
    """A question by the numbers of the texts that answer it, and of others that do not."""

    answers: Sequence[int]
    others: Sequence[int]
    counts: float
    near: list[int]  #: texts that seem to answer and do not


class Choice(NamedTuple):
    """A question with an older and a newer memory, one of which is the better answer."""

    question: int
    older: int
    newer: int
    is_newer: bool


NONE = -1  #: no text


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
        self.pairs: list[tuple[int, int, bool]] = []
        worlds: dict[str, set[int]] = {}
        own: list[tuple[str, list[int], list[int], float]] = []
        #: Where the older states what was, where it does not answer, and where only it answers.
        self.choices: tuple[list[Choice], ...] = ([], [], [])
        for thread in map(as_thread, data["pairs"] + data["threads"]):
            ids = [self._of(text) for text in thread.memories]
            worlds.setdefault(thread.world, set()).update(ids)
            self._together |= {frozenset(two) for two in combinations(ids, 2)}
            self.pairs += [(ids[older], ids[newer], label) for newer, older, label in thread.pairs]
            for text, now, stale, counts in thread.asks:
                answers = [ids[x] for x in (*now, *stale)]
                others = [x for x in ids if x not in answers]
                self._add_choices(len(asked), ids, now, stale)
                own.append((thread.world, answers, others, counts))
                asked.append(text)
        background: dict[str, set[int]] = {}
        for user, content in data["background"]:
            background.setdefault(user, set()).add(self._of(content))
        self.first_question = len(self.contents)
        shown = [*data["labelled"], *data["chosen"]]  # a label, then texts
        first_shown = self.first_question + len(asked)
        texts = [*self.contents, *asked, *(text for _, *texts in shown for text in texts)]
        self.texts = Texts(tokenizer, texts, range(self.first_question, first_shown))
        self.development = [*_rows_of(shown, first_shown)]
        miner = Reader.published(folder / f"{BASE}.npz", LAYERS).eval()
        self._vectors = embedded(miner, self.texts)
        self._add_general(data["questions"], sources)
        self.general = len(self.questions)
        self._add_own(own, {world: sorted(ids) for world, ids in worlds.items()})
        self.changes = [pair for pair in self.pairs if pair[2]]
        self.near_misses = [pair for pair in self.pairs if not pair[2]]
        self.neighbours = self._neighbours([*worlds.values(), *background.values()])

    def _add_choices(self, question: int, ids: list[int], now: list[int], stale: list[int]) -> None:
        """Each two memories of which one answers a question truly, and one does not."""
        for older, newer in combinations(range(len(ids)), 2):
            if (older in now) == (newer in now):
                continue
            kind = 2 if older in now else int(older not in stale)
            self.choices[kind].append(Choice(question, ids[older], ids[newer], newer in now))

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
            self.questions.append(Question(each["answers"], each["others"], 1.0, wrong[:20]))

    def _add_own(
        self,
        own: list[tuple[str, list[int], list[int], float]],
        worlds: dict[str, list[int]],
    ) -> None:
        near: dict[int, list[int]] = {}
        for world, ids in worlds.items():
            places = [place for place, each in enumerate(own) if each[0] == world]
            rows = self._nearest([self.general + place for place in places], ids, 16)
            near |= zip(places, rows, strict=True)
        for place, (_, answers, others, counts) in enumerate(own):
            wrong = [x for x in near[place] if x not in answers and x not in others]
            self.questions.append(Question(answers, others, counts, wrong[:12]))

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

    def candidates(self, question: Question) -> tuple[list[int], list[float]]:
        """Texts beside a question, the one that answers first, and their labels."""
        chosen = [random.choice(question.answers)] if question.answers else []
        labels = [1.0] * len(chosen)
        chosen += random.sample(question.others, min(3, len(question.others)))
        more = max(1, CANDIDATES - 1 - len(chosen))
        chosen += random.sample(question.near, min(more, len(question.near)))
        chosen += [random.randrange(len(self.contents)) for _ in range(CANDIDATES - len(chosen))]
        chosen = chosen[:CANDIDATES]
        return chosen, labels + [0.0] * (CANDIDATES - len(labels))


# ---- training ------------------------------------------------------------------------------------


Row = tuple[int, int, int]  #: a question or NONE, and two texts; or NONE, a question and a text


class Training:
    """A model while it learns."""

    def __init__(self, reader: Reader, material: Material) -> None:
        self.reader, self.material = reader, material
        reader.words.weight.requires_grad = False

    def run(self, phase: Phase) -> None:
        """Learn for as long as a phase takes."""
        learnt = [x for x in self.reader.parameters() if x.requires_grad]
        optimizer = torch.optim.AdamW(
            learnt, lr=phase.rate, weight_decay=0.01, betas=(0.9, 0.98), fused=True
        )
        begin, step = time.monotonic(), 0
        self.reader.train()
        while (done := (time.monotonic() - begin) / phase.seconds) < 1:
            share = min(1.0, step / 150) * max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
            for group in optimizer.param_groups:
                group["lr"] = phase.rate * share
            loss = self._loss(phase)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimizer.step()
            step += 1
            if step % 500 == 0:
                print(f"{done:.0%} step {step} loss {loss.item():.3f} {self.areas()}", flush=True)
        print(f"{step} steps {self.areas()}", flush=True)

    def _loss(self, phase: Phase) -> Tensor:
        """Of one step: all rows are read together, which a graphics processor likes."""
        questions, labels, counts = self._questions(phase)
        pairs, outdates, pair_counts = self._pairs(phase)
        choices, is_newer = self._choices(phase)
        numbers = self._numbers([*questions, *pairs, *choices])
        first, second = len(questions), len(questions) + len(pairs)
        answers = numbers[:first, ANSWERS].view_as(labels)
        each = functional.binary_cross_entropy_with_logits(
            answers, labels, reduction="none", pos_weight=torch.tensor(3.0, device=DEVICE)
        ).mean(1)
        right = torch.logsumexp(answers, 1) - (answers * labels).sum(1)
        loss = ((each + 0.5 * right * labels.sum(1)) * counts).mean()
        each = functional.binary_cross_entropy_with_logits(
            numbers[first:second, OUTDATES], outdates, reduction="none"
        )
        loss += (each * pair_counts).sum() / pair_counts.sum()
        return loss + functional.binary_cross_entropy_with_logits(
            numbers[second:, OUTDATES], is_newer
        )

    def _questions(self, phase: Phase) -> tuple[list[Row], Tensor, Tensor]:
        material = self.material
        chosen = random.sample(range(material.general), phase.general)
        chosen += random.sample(range(material.general, len(material.questions)), phase.own)
        groups = [material.candidates(material.questions[place]) for place in chosen]
        rows = [
            (NONE, material.first_question + place, text)
            for place, (texts, _) in zip(chosen, groups, strict=True)
            for text in texts
        ]
        counts = [material.questions[place].counts for place in chosen]
        return rows, _tensor([labels for _, labels in groups]), _tensor(counts)

    def _pairs(self, phase: Phase) -> tuple[list[Row], Tensor, Tensor]:
        changes = round(CHANGES * phase.labelled)
        labelled = random.sample(self.material.changes, changes)
        labelled += random.sample(self.material.near_misses, phase.labelled - changes)
        neighbours = random.sample(self.material.neighbours, phase.neighbours)
        rows = [(NONE, pair[0], pair[1]) for pair in (*labelled, *neighbours)]
        labels = [1.0] * changes + [0.0] * (len(rows) - changes)
        counts = [1.0] * len(labelled) + [NEIGHBOUR_COUNTS] * len(neighbours)
        return rows, _tensor(labels), _tensor(counts)

    def _choices(self, phase: Phase) -> tuple[list[Row], Tensor]:
        chosen = [
            self._varied(choice)
            for kind, share in zip(self.material.choices, KINDS, strict=True)
            for choice in random.sample(kind, round(share * phase.choices))
        ]
        begin = self.material.first_question
        rows = [(begin + x.question, x.older, x.newer) for x in chosen]
        return rows, _tensor([float(x.is_newer) for x in chosen])

    def _varied(self, choice: Choice) -> Choice:
        """A choice, now and then with another text of its world in place of the wrong one."""
        question = self.material.questions[choice.question]
        wrong = choice.older if choice.is_newer else choice.newer
        if not question.near or wrong in question.answers or random.random() > ELSEWHERE:
            return choice
        other = random.choice(question.near)
        return choice._replace(older=other) if choice.is_newer else choice._replace(newer=other)

    def _numbers(self, rows: Sequence[Row]) -> Tensor:
        places = torch.tensor(rows, device=DEVICE)
        lengths = torch.where(places == NONE, -1, self.material.texts.lengths[places])
        order = torch.argsort(lengths.sum(1))
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=DEVICE)
        ids = self.material.texts.ids
        with torch.autocast(DEVICE, torch.bfloat16):
            parts = [
                self.reader(*joined(*((ids[places[k, x]], lengths[k, x]) for x in range(3))))
                for k in order.chunk(PARTS)
            ]
        return torch.cat(parts)[back]

    def areas(self) -> str:
        """How well changes of the development topics are told from near-misses, and choices."""
        self.reader.eval()
        rows, labels = zip(*self.material.development, strict=True)
        with torch.no_grad():
            numbers = self._numbers(rows)[:, OUTDATES].cpu()
        self.reader.train()
        told = []
        for has_question in (False, True):
            own = torch.tensor([(row[0] != NONE) == has_question for row in rows])
            right = torch.tensor(labels)
            above = numbers[own & right][:, None] > numbers[own & ~right]
            told.append(f"{float(above.float().mean()):.3f}")
        return f"AUC of development pairs {told[0]}, of choices {told[1]}"


def _tensor(values: Sequence[Any]) -> Tensor:
    return torch.tensor(values, device=DEVICE)


def main() -> None:
    """Train it, and write its weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the time, for a trial")
    options = parser.parse_args()
    folder: Path = options.folder
    random.seed(SEED)
    torch.manual_seed(SEED)
    material = Material(folder)
    print(
        f"{len(material.contents)} texts, {len(material.questions)} questions, "
        f"{len(material.pairs)} pairs, {len(material.neighbours)} of neighbours",
        flush=True,
    )
    training = Training(Reader.published(folder / f"{BASE}.npz", LAYERS), material)
    for phase in PHASES:
        training.run(phase._replace(seconds=phase.seconds * options.share))
    training.reader.save(folder / "outdates.npz")


if __name__ == "__main__":
    main()
