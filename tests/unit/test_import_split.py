"""Splitting a text: nothing is lost, and no part is too long unless it says so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bearinmind.importers.markdown import split

LIMIT = 120
LINE = st.sampled_from(
    ["", "# Top", "## Middle", "### Deep", "- item", "1. first", "```", "some words", "w " * 30]
)


@given(lines=st.lists(LINE, max_size=40), by_section=st.booleans())
def test_every_line_is_in_a_part(lines: list[str], by_section: bool) -> None:
    numbered = [f"{line} {n}" if line and line != "```" else line for n, line in enumerate(lines)]

    parts = split("\n".join(numbered), LIMIT, by_section=by_section)

    for line in numbered:
        if line.strip():
            assert any(line in part.text for part in parts)
    for part in parts:
        assert part.text
        assert part.fits == (len(part.text) <= LIMIT)


def test_a_text_that_fits_stays_whole() -> None:
    [part] = split("# A\n\nOne.\n\n# B\n\nTwo.", LIMIT)

    assert part.text == "# A\n\nOne.\n\n# B\n\nTwo."


def test_a_part_repeats_the_headings_above_it() -> None:
    text = f"# Guide\n\n## Use\n\n{'one ' * 25}\n\n{'two ' * 25}\n"

    first, second = split(text, LIMIT)

    assert first.text == f"# Guide\n\n## Use\n\n{('one ' * 25).strip()}"
    assert second.text == f"# Guide\n\n## Use\n\n{('two ' * 25).strip()}"


def test_a_list_splits_at_its_items_and_code_does_not() -> None:
    items = "\n".join(f"- item {n} {'x' * 20}" for n in range(8))
    code = "```\n" + "\n\n".join("y" * 30 for _ in range(8)) + "\n```"

    parts = split(f"{items}\n\n{code}", LIMIT)

    assert all(part.fits for part in parts[:-1])
    assert parts[-1].text == code
    assert not parts[-1].fits
