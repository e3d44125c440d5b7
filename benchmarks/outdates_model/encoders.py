"""Train the encoders of `bearinmind-encoder` a little further, as a pair, on memories.

    python benchmarks/outdates_model/encoders.py FOLDER [--share 1.0]

Needs PyTorch and a graphics processor. FOLDER is what `gather.py` made; `encoders.npz` is written
there: for each matrix two narrow ones, whose product is to be added to it, and for each vector what
is to be added. What the published encoders know of other texts is kept twice over: on questions of
public texts the pair learns to rank as it did, and only half of what was learnt is written (`KEPT`,
docs/adr/0064).
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

sys.path.insert(0, str(Path(__file__).parents[1]))

from outdates_model.material import CLS, SEP, WIDTHS, Material, Question
from outdates_model.network import DEVICE, PARTS_OF_LAYER, Reader

SEED = 19
SECONDS, RATE = 462.0, 6e-4
PROMPTS = {"minilm": ("", ""), "e5-small": ("query: ", "passage: ")}  # of a question, a memory
RANK = 16  # of what is added to a matrix
KEPT = 0.5  # of what was learnt: half ranks memories as well as all of it, and other texts better
PUBLIC, OWN, STORES = 128, 144, 96  # questions of a step: of public texts, threads and small stores
BESIDE = 3  # texts that do not answer, beside each question
CHANGES = 96  # pairs of a newer and an older memory in a step
AMONG_OTHERS = 0.4  # of the texts of our own that are read among others
SHARE = 0.15  # of the first encoder's cosine in that of the pair: `bearinmind.models.factory`
HEATS = (0.05, 0.01, 0.02)  # of the cosines of each encoder, and of the pair
COUNTS = (0.25, 0.25, 1.0)  # how much each counts
KEPT_COUNTS = 2.0  # that public texts are ranked as before
AT_ONCE = 512  # texts that are embedded at once
MOST_SHOWN = 320  # tokens of a text of a development set
PARTS = 2  # of a batch, by length


class Encoder(nn.Module):
    """A published encoder with what it has learnt, the mean of its last layer as a vector."""

    def __init__(self, network: Reader, prompts: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.network = network
        self.prompts = [torch.tensor(x, device=DEVICE, dtype=torch.int64) for x in prompts]

    def forward(self, ids: Tensor, lengths: Tensor, *, is_memory: bool) -> Tensor:
        """The vectors of some texts."""
        whole, mask = _prompted(ids, lengths, self.prompts[is_memory])
        network = self.network
        hidden = network.drop(
            network.norm(network.words(whole) + network.places.weight[: whole.shape[1]])
        )
        for layer in network.layers:
            hidden = layer(hidden, mask[:, None, None, :])
        return functional.normalize((hidden.float() * mask[..., None]).sum(1), dim=1)


def _prompted(ids: Tensor, lengths: Tensor, prompt: Tensor) -> tuple[Tensor, Tensor]:
    """Texts behind a prompt as an encoder reads them, and where there is no padding."""
    begin = 1 + len(prompt)
    whole_length = begin + lengths + 1
    width = -(-int(whole_length.max()) // WIDTHS) * WIDTHS
    whole = torch.zeros(len(ids), width, dtype=torch.int64, device=DEVICE)
    kept = min(ids.shape[1], width - begin)
    places = torch.arange(kept, device=DEVICE)
    whole[:, begin : begin + kept] = torch.where(places < lengths[:, None], ids[:, :kept], 0)
    whole[:, 0] = CLS
    whole[:, 1:begin] = prompt
    whole[torch.arange(len(ids), device=DEVICE), begin + lengths] = SEP
    return whole, torch.arange(width, device=DEVICE) < whole_length[:, None]


class LowRank(nn.Module):
    """A matrix and the product of two narrow ones, which starts as nothing."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.tall = nn.Parameter(torch.zeros(rows, RANK, device=DEVICE))
        self.flat = nn.Parameter(torch.randn(RANK, columns, device=DEVICE) / math.sqrt(columns))

    def forward(self, weight: Tensor) -> Tensor:
        """The sum."""
        return weight + self.tall @ self.flat


def adapted(network: Reader) -> Reader:
    """A network that learns little: low ranks beside its matrices, and its vectors."""
    for parameter in network.parameters():
        parameter.requires_grad = False
    for layer in network.layers:
        for part in layer.children():
            if isinstance(part, nn.Linear):
                parametrize.register_parametrization(part, "weight", LowRank(*part.weight.shape))
            for name, parameter in part.named_parameters():
                parameter.requires_grad = "original" not in name
    return network


class Batch(NamedTuple):
    """Questions and texts of a step."""

    questions: list[int]
    texts: list[int]
    right: Tensor  #: for each question, the place of the text that answers it
    unsure: Tensor  #: which texts may answer a question as well
    newer: list[int]
    older: list[int]
    same: Tensor  #: which of the older and of the texts a newer one is itself


class Training:
    """Two encoders while they learn."""

    def __init__(self, folder: Path) -> None:
        self.material = Material(folder)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer
        self.before = [
            Encoder(Reader.stored(folder / f"{name}.npz"), self._tokens(PROMPTS[name])).eval()
            for name in PROMPTS
        ]
        self.encoders = copy.deepcopy(self.before)
        for encoder in self.encoders:
            adapted(encoder.network)
        for encoder in (*self.before, *self.encoders):
            for layer in encoder.network.layers:
                layer.compile(dynamic=True)
        with gzip.open(folder / "sets.json.gz", "rt", encoding="utf-8") as file:
            self.sets: list[dict[str, Any]] = json.load(file)

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [x.ids for x in self.tokenizer.encode_batch([*texts], add_special_tokens=False)]

    def run(self, seconds: float, rate: float) -> None:
        """Learn for so long."""
        learnt = [x for each in self.encoders for x in each.parameters() if x.requires_grad]
        print(f"{sum(x.numel() for x in learnt):,} numbers to learn", flush=True)
        optimizer = torch.optim.AdamW(learnt, lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
        begin, step = time.monotonic(), 0
        while (done := (time.monotonic() - begin) / seconds) < 1:
            for encoder in self.encoders:
                encoder.train()
            share = min(1.0, step / 100) * max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
            for group in optimizer.param_groups:
                group["lr"] = rate * share
            losses = self._losses()
            loss = torch.stack(losses).sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimizer.step()
            step += 1
            if step % 100 == 0:
                told = " ".join(f"{x.item():.3f}" for x in losses)
                print(f"{done:.0%} step {step} losses {told}", flush=True)
        print(f"{step} steps", flush=True)

    def _losses(self) -> list[Tensor]:
        """Of one step: answers by each encoder and the pair, states alike, public texts as kept."""
        batch = self._batch()
        texts = [*batch.texts, *batch.newer, *batch.older]
        cosines, changes = [], []
        for encoder in self.encoders:
            asked = self._embedded(encoder, batch.questions, is_memory=False)
            told = self._embedded(encoder, texts, is_memory=True)
            known, newer, older = told.tensor_split(
                (len(batch.texts), len(batch.texts) + len(batch.newer))
            )
            cosines.append(asked @ known.T)
            changes.append(newer @ torch.cat([older, known]).T)
        losses = []
        for place, heat in enumerate(HEATS):
            logits = _of(cosines, place) / heat
            logits = logits.masked_fill(batch.unsure, -1e4)
            losses.append(COUNTS[place] * functional.cross_entropy(logits, batch.right))
        right = torch.arange(len(batch.newer), device=DEVICE)
        logits = _of(changes, 2) / HEATS[2]
        logits = logits.masked_fill(batch.same, -1e4)
        losses.append(0.5 * functional.cross_entropy(logits, right))
        return [*losses, KEPT_COUNTS * self._moved(batch, cosines)]

    def _moved(self, batch: Batch, cosines: list[Tensor]) -> Tensor:
        """How far the pair ranks texts for public questions from how it did."""
        with torch.no_grad():
            before = []
            for encoder in self.before:
                asked = self._embedded(encoder, batch.questions[:PUBLIC], is_memory=False)
                told = self._embedded(encoder, batch.texts, is_memory=True)
                before.append(asked @ told.T)
        moved = [
            functional.kl_div(
                functional.log_softmax(_of(cosines, place)[:PUBLIC] / HEATS[place], 1),
                functional.log_softmax(_of(before, place) / HEATS[place], 1),
                reduction="batchmean",
                log_target=True,
            )
            for place in range(3)
        ]
        return moved[2] + 0.25 * (moved[0] + moved[1])

    def _batch(self) -> Batch:
        material = self.material
        ranges = (
            (PUBLIC, 0, material.general),
            (OWN, material.general, material.first_store),
            (STORES, material.first_store, len(material.questions)),
        )
        chosen: list[int] = []
        for count, first, last in ranges:
            wanted = len(chosen) + count
            while len(chosen) < wanted:
                place = random.randrange(first, last)
                if material.questions[place].answers:
                    chosen.append(place)
        texts: list[int] = []
        right = []
        for place in chosen:
            answer, *others = self._beside(material.questions[place])
            right.append(len(texts))
            texts += [answer, *others]
        numbers = torch.tensor(texts)
        unsure = torch.zeros(len(chosen), len(texts), dtype=torch.bool)
        for row, place in enumerate(chosen):
            unsure[row] = torch.isin(numbers, torch.tensor([*material.questions[place].answers]))
            unsure[row, right[row]] = False
        pairs = random.sample(material.changes, CHANGES)
        newer = torch.tensor([newer for _, newer, _ in pairs])
        others = torch.tensor([*(older for older, _, _ in pairs), *texts])
        return Batch(
            questions=[material.first_question + place for place in chosen],
            texts=[*map(self._among_others, texts)],
            right=torch.tensor(right, device=DEVICE),
            unsure=unsure.to(DEVICE),
            newer=[self._among_others(newer) for _, newer, _ in pairs],
            older=[self._among_others(older) for older, _, _ in pairs],
            same=(newer[:, None] == others).to(DEVICE),
        )

    def _among_others(self, text: int) -> int:
        """A text, now and then as a part of a longer one."""
        variants = self.material.variants.get(text)
        return random.choice(variants) if variants and random.random() < AMONG_OTHERS else text

    def _beside(self, question: Question) -> list[int]:
        texts, _ = self.material.candidates(question)
        return [texts[0], *random.sample(texts[1:], BESIDE)]

    def _embedded(self, encoder: Encoder, numbers: Sequence[int], *, is_memory: bool) -> Tensor:
        """The vectors of texts by their numbers."""
        places = torch.tensor(numbers, device=DEVICE)
        texts = self.material.texts
        return _by_length(encoder, texts.ids[places], texts.lengths[places], is_memory=is_memory)

    # ---- how it goes -----------------------------------------------------------------------------

    def show(self, what: str) -> None:
        """The nDCG@10 of each development set, by the pair and by each encoder."""
        for encoder in self.encoders:
            encoder.eval()
        table: list[list[float]] = []
        for data in self.sets:
            table.append(self._figures(data))
            told = " ".join(f"{x:.3f}" for x in table[-1])
            print(f"{what} {data['name']:16} {told}", flush=True)
        told = " ".join(f"{x:.3f}" for x in np.mean(table, axis=0))
        print(f"{what} {'mean':16} {told}", flush=True)

    def _figures(self, data: dict[str, Any]) -> list[float]:
        texts = [text for store in data["texts"].values() for text in store.values()]
        names = [(user, id_) for user, store in data["texts"].items() for id_ in store]
        asked = [question[1] for question in data["questions"]]
        cosines = []
        with torch.no_grad():
            for encoder in self.encoders:
                rows = [
                    self._of_texts(encoder, asked, is_memory=False),
                    self._of_texts(encoder, texts, is_memory=True),
                ]
                cosines.append((rows[0] @ rows[1].T).cpu().numpy())
        owners = np.array([user for user, _ in names])
        found: list[list[float]] = [[], [], []]
        for row, (user, _, grades, _) in enumerate(data["questions"]):
            own = np.flatnonzero(owners == user)
            for place in range(3):
                order = own[np.argsort(-_of(cosines, place)[row, own])[:10]]
                found[place].append(_gain([grades.get(names[x][1], 0) for x in order], grades))
        return [float(np.mean(x)) for x in found]

    def _of_texts(self, encoder: Encoder, texts: Sequence[str], *, is_memory: bool) -> Tensor:
        encoded = [x[:MOST_SHOWN] for x in self._tokens(texts)]
        lengths = torch.tensor([len(x) for x in encoded], device=DEVICE)
        ids = torch.zeros(len(texts), MOST_SHOWN, dtype=torch.int64, device=DEVICE)
        for row, numbers in enumerate(encoded):
            ids[row, : len(numbers)] = torch.tensor(numbers)
        vectors = torch.zeros(len(texts), 384, device=DEVICE)
        for part in torch.argsort(lengths).split(AT_ONCE):
            with torch.autocast(DEVICE, torch.bfloat16):
                vectors[part] = encoder(ids[part], lengths[part], is_memory=is_memory)
        return vectors

    def save(self, path: Path) -> None:
        """Write what was learnt, by encoder and usual name."""
        written: dict[str, Any] = {}
        for name, before, after in zip(PROMPTS, self.before, self.encoders, strict=True):
            layers = zip(before.network.layers, after.network.layers, strict=True)
            for place, two in enumerate(layers):
                for own, usual in PARTS_OF_LAYER.items():
                    old, new = (getattr(layer, own) for layer in two)
                    for what, value in _added(old, new):
                        key = f"{name}.encoder.layer.{place}.{usual}.{what}"
                        written[key] = value.detach().cpu().float().numpy().astype(np.float16)
        np.savez_compressed(path, **written)


def _added(old: nn.Module, new: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """What is to be added to a part of a layer."""
    yield "bias", KEPT * (new.bias - old.bias)
    if isinstance(new, nn.Linear):
        low = new.parametrizations["weight"][0]
        yield from (("tall", KEPT * low.tall), ("flat", low.flat))
    else:
        yield "weight", KEPT * (new.weight - old.weight)


def _of(cosines: Sequence[Any], place: int) -> Any:  # noqa: ANN401  tensors or arrays
    """The cosines of one of the encoders, or of the pair."""
    return cosines[place] if place < 2 else SHARE * cosines[0] + (1 - SHARE) * cosines[1]


def _gain(grades: Sequence[int], every: dict[str, int]) -> float:
    ideal = sorted(every.values(), reverse=True)[:10]
    gain, most = (
        sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(each))
        for each in (grades, ideal)
    )
    return gain / most


def _by_length(encoder: Encoder, ids: Tensor, lengths: Tensor, *, is_memory: bool) -> Tensor:
    vectors = torch.zeros(len(ids), 384, device=DEVICE)
    for part in torch.argsort(lengths).chunk(PARTS):
        with torch.autocast(DEVICE, torch.bfloat16):
            told = encoder(ids[part], lengths[part], is_memory=is_memory)
        vectors = vectors.index_copy(0, part, told.float())
    return vectors


def main() -> None:
    """Train them, and write what they have learnt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the time, for a trial")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--name", default="encoders", help="of the file that is written")
    options = parser.parse_args()
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch._dynamo.config.recompile_limit = 64
    training = Training(options.folder)
    training.show("before")
    training.run(SECONDS * options.share, options.rate)
    training.show("after")
    training.save(options.folder / f"{options.name}.npz")


if __name__ == "__main__":
    main()
