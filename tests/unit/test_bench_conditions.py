"""Published figures: rows that are run again, and what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind_bench.conditions import Checked, Condition, check, chosen, read
from bearinmind_bench.inference import Verdict
from support.bench_sets import measure, small_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the set `harbour`."""
    place = tmp_path_factory.mktemp("data")
    small_set(place / "harbour", 80)
    return place


@pytest.fixture(scope="module")
def figures(folder: Path) -> dict[str, float]:
    return dict(measure(folder / "harbour", "test").overall)


def quiet(_condition: Condition, _steps: int) -> Callable[[int], None]:
    return lambda _more: None


def row(**fields: object) -> Condition:
    return Condition.model_validate({"name": "product", "data": "harbour"} | fields)


def checked(folder: Path, *rows: Condition) -> list[Checked]:
    return check(rows, [folder], started=quiet)


def test_figures_as_published_differ_in_nothing(folder: Path, figures: dict[str, float]) -> None:
    (found,) = checked(folder, row(expected=figures))
    assert found.differences == ()
    assert found.result is not None
    assert found.result.overall == figures
    assert found.compared is None


def test_a_figure_may_differ_as_much_as_is_tolerated(
    folder: Path, figures: dict[str, float]
) -> None:
    near = {"mrr": figures["mrr"] + 0.0004}
    assert checked(folder, row(expected=near))[0].differences == ()
    assert checked(folder, row(expected=near, tolerance=0.0001))[0].differences != ()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"expected": {"ndcg@10": 0.1234}}, "published 0.1234"),
        ({"expected": {"queries": 41}}, "queries is 40.0000, published 41.0000"),
        ({"expected": {"ndcg@7": 0.5}}, "ndcg@7 was not measured"),
        ({"fingerprint": "f" * 64}, "the data is another: its fingerprint is "),
        ({"verdict": "better"}, "the verdict is 'not compared', published 'better'"),
        ({"data": "elsewhere"}, "the data 'elsewhere' is not at hand"),
    ],
)
def test_what_differs_is_named(folder: Path, fields: dict[str, object], told: str) -> None:
    (found,) = checked(folder, row(**fields))
    assert told in "; ".join(found.differences)


def test_a_row_is_compared_with_the_one_that_it_names(folder: Path) -> None:
    """`against` names the run that may be better than this row."""
    baseline = row(name="silent", settings={"budget_bytes": 1}, against="product")
    product, other = checked(folder, row(), baseline)
    assert product.compared is None
    assert other.compared is not None
    assert other.compared.difference.mean > 0
    assert other.compared.verdict is Verdict.BETTER

    said = checked(folder, row(), baseline.model_copy(update={"verdict": "better"}))[1]
    assert said.differences == ()
    unsaid = checked(folder, row(), baseline.model_copy(update={"verdict": "cannot tell"}))[1]
    assert unsaid.differences == ("the verdict is 'better', published 'cannot tell'",)


def test_rows_that_cannot_be_compared_are_no_reason_to_stop(tmp_path: Path) -> None:
    small_set(tmp_path / "harbour", 20)
    rows = row(split="all"), row(name="b", split="all", against="product", verdict="better")
    _, few = check(rows, [tmp_path], started=quiet)
    assert few.differences == ("the verdict is 'not compared', published 'better'",)


def test_data_is_looked_for_in_every_folder(folder: Path, tmp_path: Path) -> None:
    (found,) = check([row()], [tmp_path, folder], started=quiet)
    assert found.result is not None


def test_each_row_tells_how_far_it_is(folder: Path) -> None:
    begun: list[tuple[str, int]] = []
    done: list[int] = []

    def started(condition: Condition, steps: int) -> Callable[[int], None]:
        begun.append((condition.name, steps))
        return done.append

    check([row()], [folder], started=started)
    assert begun == [("product", 160 + 40)]
    assert sum(done) == 200


def test_rows_that_write_the_same_share_a_store_and_give_the_same(
    folder: Path, figures: dict[str, float]
) -> None:
    """They are run side by side, and each gives what it gives alone."""
    begun: list[tuple[str, int]] = []

    def started(condition: Condition, steps: int) -> Callable[[int], None]:
        begun.append((condition.name, steps))
        return lambda _more: None

    words = {"embedder": "none", "extractor": "none"}
    apart = row(name="words", settings=words)
    baseline = row(name="baseline", retriever="fts5-porter")
    twin = row(name="twin", settings={"pool": 9})
    *_, same = found = check([row(), apart, baseline, twin], [folder], started=started)
    assert begun == [("product", 200), ("twin", 40), ("words", 200), ("baseline", 200)]
    assert [each.condition.name for each in found] == ["product", "words", "baseline", "twin"]
    assert found[0].result is not None
    assert found[0].result.overall == figures
    (alone,) = checked(folder, twin)
    assert alone.result is not None
    assert same.result is not None
    assert [r.ranked for r in same.result.rows] == [r.ranked for r in alone.result.rows]


# ---- the files ---------------------------------------------------------------------------------


def write(folder: Path, text: str, name: str = "rows.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_rows_are_read_from_files_and_folders(tmp_path: Path) -> None:
    write(tmp_path, '[[condition]]\nname = "a"\ndata = "x"\n', "1.toml")
    write(tmp_path, '[[condition]]\nname = "b"\ndata = "x"\nsplit = "dev"\n', "2.toml")
    assert [condition.name for condition in read([tmp_path])] == ["a", "b"]
    assert [condition.split for condition in read([tmp_path])] == ["test", "dev"]
    assert [condition.name for condition in read([tmp_path / "2.toml"])] == ["b"]


def test_two_rows_of_one_name_are_refused(tmp_path: Path) -> None:
    """Their results would be taken for each other's."""
    text = '[[condition]]\nname = "a"\ndata = "x"\n'
    write(tmp_path, text, "1.toml")
    write(tmp_path, text, "2.toml")
    with pytest.raises(errors.InvalidData, match="2 conditions are named 'a'"):
        read([tmp_path])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[[", "cannot be read"),
        ('[[condition]]\nname = "a"\n', "condition 1: data: it is missing"),
        ('[[condition]]\nname = "a"\ndata = "x"\nfoo = 1\n', "condition 1: foo"),
        ('[[condition]]\nname = "a"\ndata = "x"\ntolerance = "wide"\n', "condition 1: tolerance"),
        ('[condition]\nname = "a"\ndata = "x"\n', "has no rows"),
        ("condition = 5\n", "has no rows"),
        ("condition = [5]\n", "condition 1"),
    ],
)
def test_a_row_of_another_shape_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(errors.InvalidData) as raised:
        read([write(tmp_path, text)])
    assert "rows.toml" in raised.value.message
    assert told in raised.value.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.FileMissing, match="nothing"):
        read([tmp_path / "nothing.toml"])


def test_a_chosen_row_brings_what_it_is_compared_with() -> None:
    rows = [row(), row(name="b", against="product"), row(name="c", against="product")]
    assert [condition.name for condition in chosen(rows, ["b"])] == ["product", "b"]
    assert [condition.name for condition in chosen(rows, ["product"])] == ["product"]
    assert chosen(rows, None) == rows
    assert chosen(rows, ["z"]) == []
