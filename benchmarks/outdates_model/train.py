"""Train the model that reads two texts together: a question and a memory, or two memories.

    python benchmarks/outdates_model/train.py FOLDER

Needs PyTorch and a graphics processor: eleven minutes of an H200. FOLDER is what `gather.py` made;
`reader.npz`, which is written there, belongs to `packages/encoder/weights`.

The model starts from e5-small and learns three things at once: whether a text answers a question,
whether a newer memory outdates an older one, and, if it is given a question before the two, whether
the newer one is the better answer to it. First mostly the former, of public questions, then all of
them. It learns to tell that after some layers already (`EXITS`), which shows what fewer would be
worth. The words of e5-small stay as they are, so only the layers have to be kept.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parents[1]))

from outdates_model.material import BASE, LAYERS, NONE, Choice, Material, joined
from outdates_model.network import ANSWERS, DEVICE, EXITS, OUTDATES, Reader

SEED = 17
AT_ONCE = 2_048  # rows that are read at once
PARTS = 3  # of a batch, by length, so that little is padding
NEIGHBOUR_COUNTS = 0.7  # as much as a labelled pair
CHANGES = 0.45  # of the labelled pairs in a step
ELSEWHERE = 0.3  # of the texts that do not answer a question, taken from elsewhere in its world
KINDS = (0.4, 0.2, 0.4)  # of the choices: stale and current, nothing and current, current first


class Phase(NamedTuple):
    """A part of the training."""

    seconds: float
    rate: float
    general: int  #: questions of the public texts in a step ...
    own: int  #: ... of the training pairs and threads ...
    stores: int  #: ... and of small stores
    labelled: int  #: pairs in a step ...
    neighbours: int  #: ... pairs of neighbours ...
    choices: int  #: ... and questions with two memories


PHASES = (Phase(140, 1e-4, 96, 16, 8, 24, 40, 24), Phase(480, 6e-5, 10, 48, 28, 88, 80, 120))
EXIT_COUNTS = (0.4, 0.4, 1.0)  # how much what each exit tells counts


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
        losses = []
        for told in numbers.unbind(1):
            answers = told[:first, ANSWERS].view_as(labels)
            each = functional.binary_cross_entropy_with_logits(
                answers, labels, reduction="none", pos_weight=torch.tensor(3.0, device=DEVICE)
            ).mean(1)
            right = torch.logsumexp(answers, 1) - (answers * labels).sum(1)
            loss = ((each + 0.5 * right * labels.sum(1)) * counts).mean()
            each = functional.binary_cross_entropy_with_logits(
                told[first:second, OUTDATES], outdates, reduction="none"
            )
            loss += (each * pair_counts).sum() / pair_counts.sum()
            losses.append(
                loss
                + functional.binary_cross_entropy_with_logits(told[second:, OUTDATES], is_newer)
            )
        return sum(
            (loss * count for loss, count in zip(losses, EXIT_COUNTS, strict=True)),
            torch.zeros((), device=DEVICE),
        )

    def _questions(self, phase: Phase) -> tuple[list[Row], Tensor, Tensor]:
        material = self.material
        chosen = random.sample(range(material.general), phase.general)
        chosen += random.sample(range(material.general, material.first_store), phase.own)
        chosen += random.sample(range(material.first_store, len(material.questions)), phase.stores)
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
        """How well each exit tells, on development topics: changes, choices, what answers."""
        self.reader.eval()
        rows, labels = zip(*self.material.development, strict=True)
        kinds = torch.tensor([*map(self.material.kind, rows)])
        right = torch.tensor(labels)
        with torch.no_grad():
            parts = [rows[begin : begin + AT_ONCE] for begin in range(0, len(rows), AT_ONCE)]
            numbers = torch.cat([self._numbers(part) for part in parts])
        self.reader.train()
        told = []
        for exit_numbers in numbers.cpu().unbind(1):
            for kind, column in enumerate((OUTDATES, OUTDATES, ANSWERS)):
                own = exit_numbers[:, column]
                above = own[(kinds == kind) & right][:, None] > own[(kinds == kind) & ~right]
                told.append(f"{float(above.float().mean()):.3f}")
        return f"AUC of changes, choices and answers by exit {EXITS}: {' '.join(told)}"


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
    training.reader.save(folder / "reader.npz")


if __name__ == "__main__":
    main()
