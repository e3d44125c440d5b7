"""Train the model that reads two texts together: a question and a memory, or two memories.

    python benchmarks/outdates_model/train.py FOLDER                          # from e5-small
    python benchmarks/outdates_model/train.py FOLDER --further READER.npz     # goes on from it
    python benchmarks/outdates_model/train.py FOLDER --student READER.npz     # thin, taught by it
    python benchmarks/outdates_model/train.py FOLDER --further READER.npz --towards OTHER.npz \
        --share 0.5                                                    # the mean of their weights

Needs PyTorch and, but for the last, a graphics processor, some ten minutes of an H200. FOLDER is
what `gather.py` made; the weights are written there.

The model learns three things at once: whether a text answers a question, whether a newer memory
outdates an older one, and, if it is given a question before the two, whether the newer one is the
better answer to it. First mostly the former, of public questions, then all of them. A student has
as many layers as its teacher, with fewer heads and inner numbers, and learns to say what that one
says. What is kept is the mean of the weights over the last steps. The words of e5-small stay as
they are, so only the layers have to be kept.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel

sys.path.insert(0, str(Path(__file__).parents[1]))

from outdates_model.material import BASE, NONE, Choice, Material, joined
from outdates_model.network import ANSWERS, DEVICE, OUTDATES, Reader

SEED = 17
AT_ONCE = 2_048  # rows that are read at once
PARTS = 3  # of a batch, by length, so that little is padding
NEIGHBOUR_COUNTS = 0.7  # as much as a labelled pair
CHANGES = 0.45  # of the labelled pairs in a step
ELSEWHERE = 0.3  # of the texts that do not answer a question, taken from elsewhere in its world
AMONG_OTHERS = 0.4  # of the texts of our own that are read among others
#: Of the choices: stale and current, nothing and current, current first, said of somebody else, and
#: two that both answer. The others are of texts that have nothing to do with each other.
KINDS = (0.36, 0.1, 0.24, 0.05, 0.04)
LABELS_COUNT = 0.3  # as much as what the teacher says
KEPT, KEPT_EVERY = 0.99, 5  # of the mean of the weights, at every fifth step
SUREST = 8.0  # log odds of a teacher: more makes nothing surer
ODDS_COUNT = 0.1  # how far the log odds are from a teacher's, beside how far the probabilities are


class Phase(NamedTuple):
    """A part of the training."""

    seconds: float
    rate: float
    general: int  #: questions of the public texts in a step ...
    unrelated: int  #: ... of them, put to memories ...
    own: int  #: ... of the training pairs and threads ...
    stores: int  #: ... and of small stores
    labelled: int  #: pairs in a step ...
    neighbours: int  #: ... pairs of neighbours ...
    choices: int  #: ... and questions with two memories


TEACHER: tuple[Phase, ...] = (
    Phase(140, 1e-4, 96, 4, 16, 8, 24, 40, 24),
    Phase(480, 6e-5, 10, 12, 48, 28, 88, 80, 120),
)
FURTHER: tuple[Phase, ...] = (Phase(480, 5e-5, 20, 12, 46, 36, 92, 76, 148),)
STUDENT: tuple[Phase, ...] = (Phase(480, 2e-4, 24, 12, 44, 40, 80, 88, 120),)
HEADS, INNER = 8, 512  # of a student's layer


Row = tuple[int, int, int]  #: a question or NONE, and two texts; or NONE, a question and a text


class Training:
    """A model while it learns, from labels alone or from a teacher as well."""

    def __init__(self, reader: Reader, material: Material, teacher: Reader | None = None) -> None:
        self.reader, self.material = reader, material
        self.teacher = teacher.eval() if teacher else None
        reader.words.weight.requires_grad = False
        self.mean = AveragedModel(reader, avg_fn=_moved)
        for layer in (*reader.layers, *self.mean.module.layers, *(teacher or reader).layers):
            layer.compile(dynamic=True)

    def run(self, phase: Phase) -> None:
        """Learn for as long as a phase takes."""
        learnt = [x for x in self.reader.parameters() if x.requires_grad]
        optimizer = torch.optim.AdamW(learnt, lr=phase.rate, weight_decay=0.01, betas=(0.9, 0.98))
        begin, step = time.monotonic(), 0
        while (done := (time.monotonic() - begin) / phase.seconds) < 1:
            # Who is told by a teacher how sure to be needs no noise.
            self.reader.train(self.teacher is None)
            share = min(1.0, step / 150) * max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
            for group in optimizer.param_groups:
                group["lr"] = phase.rate * share
            loss = self._loss(phase)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimizer.step()
            step += 1
            if step % KEPT_EVERY == 0:
                self.mean.update_parameters(self.reader)
            if step % 500 == 0:
                print(f"{done:.0%} step {step} loss {loss.item():.3f} {self.areas()}", flush=True)
        print(f"{step} steps {self.areas()}", flush=True)
        self.reader.load_state_dict(self.mean.module.state_dict())
        print(f"the mean of the last steps: {self.areas()}", flush=True)

    def _loss(self, phase: Phase) -> Tensor:
        """Of one step: all rows are read together, which a graphics processor likes."""
        questions, labels, counts = self._questions(phase)
        pairs, outdates, pair_counts = self._pairs(phase)
        choices, is_newer = self._choices(phase)
        rows = [self._among_others(row) for row in (*questions, *pairs, *choices)]
        numbers, taught = self._read(rows)
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
        loss += functional.binary_cross_entropy_with_logits(numbers[second:, OUTDATES], is_newer)
        if taught is None:
            return loss
        column = torch.tensor([ANSWERS] * first + [OUTDATES] * (len(rows) - first), device=DEVICE)
        own = numbers.gather(1, column[:, None])[:, 0]
        said = taught.odds.gather(1, column[:, None])[:, 0].clamp(-SUREST, SUREST)
        by_kind = (x.tensor_split((first, second)) for x in (own, said))
        as_taught = torch.stack([*map(_distance, *by_kind)]).sum()
        return as_taught + taught.distance + LABELS_COUNT * loss

    def _among_others(self, row: Row) -> Row:
        """A row, now and then with one of its memories as a part of a longer text."""
        variants = self.material.variants
        question, *texts = (
            random.choice(variants[x]) if x in variants and random.random() < AMONG_OTHERS else x
            for x in row
        )
        return question, texts[0], texts[1]

    def _questions(self, phase: Phase) -> tuple[list[Row], Tensor, Tensor]:
        material = self.material
        chosen = random.sample(range(material.general), phase.general)
        chosen += random.sample(range(material.general, material.first_own), phase.unrelated)
        chosen += random.sample(range(material.first_own, material.first_store), phase.own)
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
        chosen += [self.material.unrelated_choice() for _ in range(phase.choices - len(chosen))]
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

    def _read(self, rows: Sequence[Row]) -> tuple[Tensor, Taught | None]:
        """Two numbers for each row, and what the teacher says."""
        numbers = torch.zeros(len(rows), 2, device=DEVICE)
        odds, distances = torch.zeros_like(numbers), []
        for part, ids, mask in self._parts(rows):
            with torch.autocast(DEVICE, torch.bfloat16):
                told, hidden = self.reader(ids, mask)
                numbers = numbers.index_copy(0, part, told.float())
                if self.teacher is None or not torch.is_grad_enabled():
                    continue
                with torch.no_grad():
                    said, layers = self.teacher(ids, mask)
            odds[part] = said.float()
            distances.append(_apart(hidden[1:], layers[1:], mask) * len(part) / len(rows))
        taught = Taught(odds, torch.stack(distances).sum()) if distances else None
        return numbers, taught

    def thin_student(self) -> Reader:
        """What a student of this reader begins with."""
        rows = self._questions(TEACHER[1])[0]
        with torch.autocast(DEVICE, torch.bfloat16):
            _, ids, mask = next(self._parts(rows))
            return self.reader.eval().thinned(HEADS, INNER, ids, mask)

    def _parts(self, rows: Sequence[Row]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Some of the rows, as tokens, and where these are not padding."""
        places = torch.tensor(rows, device=DEVICE)
        lengths = torch.where(places == NONE, -1, self.material.texts.lengths[places])
        for part in torch.argsort(lengths.sum(1)).chunk(PARTS):
            texts = [(self.material.texts.ids[places[part, x]], lengths[part, x]) for x in range(3)]
            yield part, *joined(*texts)

    def areas(self) -> str:
        """How well it tells, on development topics: changes, choices, what answers."""
        self.reader.eval()
        rows, labels = zip(*self.material.development, strict=True)
        kinds = torch.tensor([*map(self.material.kind, rows)])
        right = torch.tensor(labels)
        with torch.no_grad():
            parts = [rows[begin : begin + AT_ONCE] for begin in range(0, len(rows), AT_ONCE)]
            numbers = torch.cat([self._read(part)[0] for part in parts]).cpu()
        told = []
        for kind, column in enumerate((OUTDATES, OUTDATES, ANSWERS)):
            own = numbers[:, column]
            above = own[(kinds == kind) & right][:, None] > own[(kinds == kind) & ~right]
            told.append(f"{float(above.float().mean()):.3f}")
        return f"AUC of changes, choices and answers: {' '.join(told)}"


def _moved(mean: Tensor, now: Tensor, _: Tensor | int) -> Tensor:
    return KEPT * mean + (1 - KEPT) * now


def _between(one: Reader, other: Reader, share: float) -> Reader:
    """The reader whose weights lie so far on the way from one to the other."""
    there = other.state_dict()
    one.load_state_dict({name: x.lerp(there[name], share) for name, x in one.state_dict().items()})
    return one


class Taught(NamedTuple):
    """What a teacher says of some rows."""

    odds: Tensor  #: two numbers for each row
    distance: Tensor  #: of what the layers give


def _distance(own: Tensor, said: Tensor) -> Tensor:
    """How far a student is from what its teacher says, of one kind of rows."""
    probabilities = functional.binary_cross_entropy_with_logits(own, torch.sigmoid(said))
    return probabilities + ODDS_COUNT * functional.smooth_l1_loss(own, said)


def _apart(own: Sequence[Tensor], taught: Sequence[Tensor], mask: Tensor) -> Tensor:
    """How far the layers of a student are from those of its teacher, in angle."""
    cosines = [
        functional.cosine_similarity(one.float(), other.float(), dim=-1)[mask].mean()
        for one, other in zip(own, taught, strict=True)
    ]
    return 1 - torch.stack(cosines).mean()


def _tensor(values: Sequence[Any]) -> Tensor:
    return torch.tensor(values, device=DEVICE)


def main() -> None:
    """Train it, or a student of it, and write its weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--further", type=Path, metavar="READER", help="go on from this one")
    parser.add_argument("--student", type=Path, metavar="READER", help="train one of this teacher")
    parser.add_argument(
        "--towards",
        type=Path,
        metavar="READER",
        help="go so far there, and learn nothing",
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the time, or of that way")
    parser.add_argument("--rate", type=float, help="of learning, instead of the usual one")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--name", default="reader", help="of the file that is written")
    options = parser.parse_args()
    folder: Path = options.folder
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    torch._dynamo.config.recompile_limit = 64  # learning and telling, teacher and student
    base = folder / f"{BASE}.npz"
    if options.towards:
        one, other = (Reader.stored(base, path) for path in (options.further, options.towards))
        _between(one, other, options.share).save(folder / f"{options.name}.npz")
        return
    material = Material(folder)
    print(
        f"{len(material.contents)} texts, {len(material.questions)} questions, "
        f"{len(material.pairs)} pairs, {len(material.neighbours)} of neighbours",
        flush=True,
    )
    if options.student:
        teacher = Reader.stored(base, options.student)
        student = Training(teacher, material).thin_student()
        training, phases = Training(student, material, teacher), STUDENT
    elif options.further:
        training, phases = Training(Reader.stored(base, options.further), material), FURTHER
    else:
        training, phases = Training(Reader.stored(base), material), TEACHER
    for phase in phases:
        rate = options.rate or phase.rate
        training.run(phase._replace(seconds=phase.seconds * options.share, rate=rate))
    training.reader.save(folder / f"{options.name}.npz")


if __name__ == "__main__":
    main()
