from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bearinmind.errors import InvalidSetting
from bearinmind_bench.own.trial import Change, adopt

FILE = """\
# mine
limit = 7  # enough

[decay_days]  # fading
facts = 30  # a month
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"pool": 100},
        {"limit": 9},
        {"decay_days": {"facts": 10.0}},
        {"decay_days": {"facts": 10.0, "people": 90.0}, "fusion": "rrf"},
        {"lexical": {"b": 0.4}, "importance_weight": 0},
    ],
)
def test_settings_are_written_and_everything_else_stays(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(FILE)

    done = adopt(file, settings)

    text = file.read_text()
    assert tomllib.loads(text) == tomllib.loads(FILE) | settings
    for comment in ("# mine", "# enough", "# fading", "# a month"):
        assert comment in text
    assert done.backup == tmp_path / "config.toml.bak"
    assert done.backup.read_text() == FILE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "config.toml.bak"]


def test_what_changed_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(FILE)

    done = adopt(file, {"limit": 9, "pool": 100})

    assert done.changes == (
        Change(name="limit", before=7, after=9),
        Change(name="pool", before=None, after=100),
    )


def test_a_file_is_made_where_there_was_none(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "config.toml"

    done = adopt(file, {"pool": 100})

    assert file.read_text() == "pool = 100\n"
    assert done.backup is None


def test_a_file_that_is_a_link_stays_one_and_keeps_its_mode(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "bearinmind.toml"
    real.parent.mkdir()
    real.write_text(FILE)
    real.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(real)

    adopt(link, {"pool": 100})

    assert link.is_symlink()
    assert tomllib.loads(real.read_text())["pool"] == 100
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("content", [b"limit = \n", b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)

    with pytest.raises(InvalidSetting, match=r"config\.toml.* cannot be changed"):
        adopt(file, {"pool": 100})

    assert file.read_bytes() == content
    assert [*tmp_path.iterdir()] == [file]
