"""What the model that reads two texts said of the pairs that the ranking gate meets, in a file.

It takes minutes to read all of them, and they are the same until the model or the set is changed.
Some are read again each time, so that the file cannot be wrong for long; what is not in it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import bearinmind_encoder
import numpy as np

from bearinmind.models.cross_encoder import PairReader
from bearinmind.models.factory import PAIR_READER, _pair_reader

FILE = Path(__file__).parents[1] / "acceptance" / "kept_readings.npz"
_AGAIN = 50  # of so many readings one is not taken from the file
_PAIR = np.dtype("V16")  # what a reader knows a pair by


@dataclass
class KeptReadings:
    """The readings of a file, and the reader of this process."""

    reader: PairReader
    kept: dict[bytes, float]  #: by pair; empty where they are of another model

    @property
    def again(self) -> set[bytes]:
        """The pairs that the reader is not told about."""
        return {*sorted(self.kept)[::_AGAIN]}

    def give(self) -> None:
        """Tell the reader about the others."""
        self.reader._known |= {key: self.kept[key] for key in self.kept.keys() - self.again}

    def differences(self) -> list[float]:
        """How far off the file is, for each pair that was read again."""
        known = self.reader._known
        return [abs(known[key] - self.kept[key]) for key in self.again if key in known]

    def keep(self) -> None:
        """Write down all that the reader knows."""
        self.kept = dict(sorted(self.reader._known.items()))
        pairs, scores = np.array([*self.kept], _PAIR), np.array([*self.kept.values()], np.float32)
        np.savez(FILE, model=_model(), pairs=pairs, scores=scores)


def kept_readings() -> KeptReadings:
    """What the file holds about the present model."""
    reader = _pair_reader(bearinmind_encoder.folder(PAIR_READER))
    reader.forget()  # what other tests had it read
    with np.load(FILE) as file:
        pairs = [pair.tobytes() for pair in file["pairs"]]
        kept = dict(zip(pairs, file["scores"].tolist(), strict=True))
        return KeptReadings(reader, kept if str(file["model"]) == _model() else {})


def _model() -> str:
    """A digest of the files of the model."""
    digest = blake2b(digest_size=16)
    for path in sorted(bearinmind_encoder.folder(PAIR_READER).iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()
