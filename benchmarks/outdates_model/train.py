"""Train the model that reads two memories and tells whether the newer outdates the older.

    python benchmarks/outdates_model/train.py FOLDER

Needs PyTorch and a graphics processor: eight minutes of an H200. FOLDER is what `gather.py` made;
`outdates.npz`, which is written there, belongs to `packages/encoder/weights`.

The model starts from e5-small and learns two things at once: whether a text answers a question,
which teaches it to read, and whether a newer memory outdates an older one. First mostly the former,
then mostly the latter. The words of e5-small stay as they are, so only the layers have to be kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from collections.abc import Sequence
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
MOST_QUESTION, MOST_PASSAGE, MOST_MEMORY = 48, 96, 90  # tokens that are read
CANDIDATES = 8  # texts beside a question, at most one of which answers it
ANSWERS, OUTDATES = 0, 1  # the two numbers that a model gives
PARTS = 3  # of a batch, by length, so that little is padding
NEIGHBOURS = 10  # of each memory, that are taken for two things
NEIGHBOUR_COUNTS = 0.7  # as much as a labelled pair


class Phase(NamedTuple):
    """A part of the training."""

    seconds: float
    rate: float
    general: int  #: questions of the public texts in a step ...
    own: int  #: ... and of the training pairs
    labelled: int  #: pairs in a step ...
    neighbours: int  #: ... and pairs of neighbours


BASE, LAYERS = "e5-small", 12
PHASES = (Phase(170, 1e-4, 96, 16, 24, 40), Phase(250, 6e-5, 32, 64, 64, 96))


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
        """Write what was trained, with the number for a change alone: matrices in bytes."""
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


class Texts:
    """Texts as tokens, padded, on the graphics processor."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], most: int) -> None:
        ids = np.zeros((len(texts), most), np.int64)
        lengths = np.zeros(len(texts), np.int64)
        for place, encoded in enumerate(tokenizer.encode_batch([*texts], add_special_tokens=False)):
            lengths[place] = min(most, len(encoded.ids))
            ids[place, : lengths[place]] = encoded.ids[:most]
        self.ids, self.lengths = (
            torch.tensor(ids, device=DEVICE),
            torch.tensor(lengths, device=DEVICE),
        )


def joined(
    first: tuple[Tensor, Tensor] | None, second: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """One or two texts as a model reads them, and where there is no padding."""
    ids, lengths = second
    rows = torch.arange(len(lengths), device=DEVICE)
    begin = torch.ones_like(lengths) if first is None else first[1] + 2
    end = begin + lengths
    places = torch.arange(int(end.max()) + 1, device=DEVICE).expand(len(lengths), -1)
    whole = torch.zeros_like(places)
    whole[:, 0] = CLS
    if first is not None:
        own = torch.gather(first[0], 1, (places - 1).clamp(0, first[0].shape[1] - 1))
        whole = torch.where((places >= 1) & (places <= first[1][:, None]), own, whole)
        whole[rows, first[1] + 1] = SEP
    own = torch.gather(ids, 1, (places - begin[:, None]).clamp(0, ids.shape[1] - 1))
    whole = torch.where((places >= begin[:, None]) & (places < end[:, None]), own, whole)
    whole[rows, end] = SEP
    return whole, places <= end[:, None]


def embedded(reader: Reader, texts: Texts) -> Tensor:
    """The vector of each text: the mean of the last layer."""
    vectors = torch.zeros(len(texts.lengths), 384, device=DEVICE)
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        for part in torch.argsort(texts.lengths).split(1_024):
            ids, mask = joined(None, (texts.ids[part], texts.lengths[part]))
            hidden = reader.hidden(ids, mask).float() * mask[..., None]
            vectors[part] = functional.normalize(hidden.sum(1), dim=1)
    return vectors


class Question(NamedTuple):
    """A question by the numbers of the texts that answer it, and of others that do not."""

    answers: Sequence[int]
    others: Sequence[int]
    counts: float
    near: list[int]  #: texts that seem to answer and do not


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
        self.questions: list[Question] = []
        asked = [x["text"] for x in data["questions"]]
        sources = [x["source"] for x in data["questions"]]
        self.pairs: list[tuple[int, int, bool]] = []
        worlds: dict[str, set[int]] = {}
        own: list[tuple[str, list[int], list[int], float]] = []
        for pair in data["pairs"]:
            older, newer = self._of(pair["older"]), self._of(pair["newer"])
            worlds.setdefault(pair["world"], set()).update((older, newer))
            self.pairs.append((older, newer, pair["outdates"]))
            for text, *labels in pair.get("asks") or [(pair["question"], 1, 1)]:
                sides = [*zip((older, newer), labels, strict=True)]
                answers = [side for side, label in sides if label]
                counts = 1.0 if "asks" in pair or pair["outdates"] else 0.5
                own.append((pair["world"], answers, [x for x, label in sides if not label], counts))
                asked.append(text)
        background: dict[str, set[int]] = {}
        for user, content in data["background"]:
            background.setdefault(user, set()).add(self._of(content))
        self.texts = Texts(tokenizer, self.contents, MOST_PASSAGE)
        self.asked = Texts(tokenizer, asked, MOST_QUESTION)
        self.labelled = data["labelled"]
        self.development = [
            Texts(tokenizer, [x[side] for x in self.labelled], MOST_MEMORY) for side in (0, 1)
        ]
        miner = Reader.published(folder / "minilm.npz", 6).eval()
        self._vectors = embedded(miner, self.texts)
        self._asked_vectors = embedded(miner, self.asked)
        self._add_general(data["questions"], sources)
        self.general = len(self.questions)
        self._add_own(own, {world: sorted(ids) for world, ids in worlds.items()})
        self.neighbours = self._neighbours([*worlds.values(), *background.values()])

    def _of(self, content: str) -> int:
        if content not in self._number:
            self._number[content] = len(self.contents)
            self.contents.append(content)
        return self._number[content]

    def _nearest(self, questions: list[int], texts: list[int], most: int) -> list[list[int]]:
        among = torch.tensor(texts, device=DEVICE)
        rows: list[list[int]] = []
        for part in torch.tensor(questions, device=DEVICE).split(2_048):
            cosines = self._asked_vectors[part] @ self._vectors[among].T
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
        """Memories of one world that are near each other and that no pair connects."""
        together = {frozenset(pair[:2]) for pair in self.pairs}
        found = []
        for world in worlds:
            ids = torch.tensor(sorted(world), device=DEVICE)
            vectors = self._vectors[ids]
            nearest = (vectors @ vectors.T).topk(min(NEIGHBOURS + 1, len(ids))).indices
            for one, row in zip(ids.tolist(), ids[nearest].tolist(), strict=True):
                found += [(one, x) for x in row[1:] if frozenset((one, x)) not in together]
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
            loss = self._of_questions(phase) + self._of_pairs(phase)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimizer.step()
            step += 1
            if step % 400 == 0:
                print(f"{done:.0%} step {step} loss {loss.item():.3f}", flush=True)
        print(f"{step} steps; development pairs: AUC {self.area():.3f}", flush=True)

    def _of_questions(self, phase: Phase) -> Tensor:
        material = self.material
        chosen = random.sample(range(material.general), phase.general)
        chosen += random.sample(range(material.general, len(material.questions)), phase.own)
        groups = [material.candidates(material.questions[place]) for place in chosen]
        texts = torch.tensor([texts for texts, _ in groups], device=DEVICE)
        labels = torch.tensor([labels for _, labels in groups], device=DEVICE)
        asked = torch.tensor(chosen, device=DEVICE)[:, None].expand_as(texts).reshape(-1)
        pairs = (self._asked(asked), self._texts(texts.reshape(-1), MOST_PASSAGE))
        numbers = self._numbers(*pairs)[:, ANSWERS].view_as(texts)
        each = functional.binary_cross_entropy_with_logits(
            numbers, labels, reduction="none", pos_weight=torch.tensor(3.0, device=DEVICE)
        ).mean(1)
        right = torch.logsumexp(numbers, 1) - (numbers * labels).sum(1)
        counts = torch.tensor([material.questions[x].counts for x in chosen], device=DEVICE)
        return ((each + 0.5 * right * labels.sum(1)) * counts).mean()

    def _of_pairs(self, phase: Phase) -> Tensor:
        labelled = random.sample(self.material.pairs, phase.labelled)
        neighbours = random.sample(self.material.neighbours, phase.neighbours)
        every = [*labelled, *((older, newer, False) for older, newer in neighbours)]
        older, newer, labels = (torch.tensor(x, device=DEVICE) for x in zip(*every, strict=True))
        pairs = (self._texts(older, MOST_MEMORY), self._texts(newer, MOST_MEMORY))
        numbers = self._numbers(*pairs)[:, OUTDATES]
        counts = torch.ones(len(every), device=DEVICE)
        counts[len(labelled) :] = NEIGHBOUR_COUNTS
        each = functional.binary_cross_entropy_with_logits(
            numbers, labels.float(), reduction="none"
        )
        return (each * counts).sum() / counts.sum()

    def _asked(self, places: Tensor) -> tuple[Tensor, Tensor]:
        return self.material.asked.ids[places], self.material.asked.lengths[places]

    def _texts(self, places: Tensor, most: int) -> tuple[Tensor, Tensor]:
        texts = self.material.texts
        return texts.ids[places], texts.lengths[places].clamp(max=most)

    def _numbers(self, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
        order = torch.argsort(first[1] + second[1])
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            parts = [
                self.reader(*joined((first[0][k], first[1][k]), (second[0][k], second[1][k])))
                for k in order.chunk(PARTS)
            ]
        return torch.cat(parts)[back]

    def area(self) -> float:
        """How well changes of the development topics are told from near-misses (AUC)."""
        self.reader.eval()
        older, newer = self.material.development
        with torch.no_grad():
            numbers = self._numbers((older.ids, older.lengths), (newer.ids, newer.lengths))
        self.reader.train()
        numbers = numbers[:, OUTDATES].cpu()
        right = torch.tensor([label for *_, label in self.material.labelled])
        return float((numbers[right][:, None] > numbers[~right]).float().mean())


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
