"""The colours of the page can be read and told apart, in both themes and by every eye."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

Colour = NDArray[np.float64]
#: How colours look to people who lack one kind of cone (Machado, Oliveira and Fernandes 2009).
EYES: dict[str, Colour] = {
    "all cones": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
    "no blue": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.3039],
        ]
    ),
}


def linear(colour: str) -> Colour:
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, bright = sorted(float(linear(colour) @ weights) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def perceived(colour: str, eye: Colour) -> Colour:
    """Coordinates in Oklab, where distances are as large as they look."""
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    seen = np.clip(eye @ linear(colour), 0, 1)
    return np.asarray(lab @ np.cbrt(cones @ seen))


@pytest.fixture(params=["light", "dark"])
def palette(request: pytest.FixtureRequest) -> dict[str, str]:
    style = files("bearinmind_bench.report").joinpath("style.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    chosen = light if request.param == "light" else dark
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", chosen))


def test_text_can_be_read_on_whatever_it_stands_on(palette: dict[str, str]) -> None:
    for ground in ("page", "paper", "faint", "good-tint", "bad-tint", "warn-tint"):
        assert contrast(palette["ink"], palette[ground]) >= 7
    for word in ("quiet", "link", "good", "bad"):
        assert contrast(palette[word], palette["paper"]) >= 4.5
    for number in range(1, 7):
        assert contrast(palette[f"run-{number}"], palette[f"on-run-{number}"]) >= 4.5
    assert contrast(palette["warn"], palette["warn-tint"]) >= 4.5


def test_runs_can_be_told_apart_with_every_kind_of_colour_vision(palette: dict[str, str]) -> None:
    colours = [palette[f"run-{number}"] for number in range(1, 7)]
    assert all(contrast(colour, palette["paper"]) >= 3 for colour in colours)
    for eye in EYES.values():
        for one, other in itertools.combinations(colours, 2):
            distance = float(np.linalg.norm(perceived(one, eye) - perceived(other, eye)))
            assert distance > 0.11
