"""The docs say what is true: their code runs, their examples are current, nothing is left out."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import typer.main
from casts import casts

from bearinmind import errors
from bearinmind.config import Settings
from bearinmind.protocols import Sealed
from bearinmind.surfaces.cli import app
from bearinmind.surfaces.failures import MEANINGS
from bearinmind.surfaces.transfer import Header
from bearinmind.types import Link, Memory
from support.forked_process import ReadyProcess
from support.processes import free_ports

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/README.md")]
)
GROUP: Any = typer.main.get_command(app)

#: What most pages need.
IMPORTED = ("numpy", "bearinmind.store.sqlite")

#: What is made here and belongs to no commit.
_MADE = (
    {".git", ".venv", ".encoder", ".cache", ".peers", "__pycache__", ".hypothesis"}
    | {
        *(".integrations", "node_modules", "dist"),
    }
    | {f".{tool}_cache" for tool in ("mypy", "ruff", "pytest", "import_linter")}
)

_GENERATED = re.compile(r"<!-- \[\[\[cog.*?\[\[\[end\]\]\] -->", re.DOTALL)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]*)\)")
_ROOMS = re.compile(r"^\| `.+/?` \| .+ \| (?:`.+`|) *\|$", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page that people wrote, in a language."""
    text = _GENERATED.sub("", page.read_text(encoding="utf-8"))
    return [body for name, body in _BLOCK.findall(text) if name == language]


def commands(page: Path) -> list[str]:
    lines = "".join(blocks(page, "console")).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def with_pages(pages: list[Path]) -> pytest.MarkDecorator:
    measures = 'show("bearinmind bench'  # what takes longest
    return pytest.mark.parametrize(
        "page",
        [
            pytest.param(
                page,
                id=str(page.relative_to(ROOT)),
                marks=[pytest.mark.long(seconds=20)]
                if measures in page.read_text(encoding="utf-8")
                else [],
            )
            for page in pages
        ],
    )


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, that finds `bearinmind` where it finds Python."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


# ---- what is shown works -----------------------------------------------------------------------


@with_pages([page for page in PAGES if blocks(page, "python")])
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    done = run([sys.executable, "-W", "error", "-c", "\n".join(blocks(page, "python"))], tmp_path)

    assert done.returncode == 0, done.stderr
    assert not done.stderr


@with_pages([page for page in PAGES if commands(page)])
def test_the_commands_of_a_page_succeed(page: Path, tmp_path: Path) -> None:
    [port] = free_ports(1)

    done = run(
        ["/bin/sh", "-e", "-c", "\n".join(commands(page))],
        tmp_path,
        BEARINMIND_SERVER_PORT=str(port),
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def cog() -> Iterator[ReadyProcess]:
    """What generates pages, each in a process of its own."""
    with closing(ReadyProcess("cogapp", "generate", *IMPORTED, path=[ROOT / "docs"])) as ready:
        yield ready


@with_pages([page for page in PAGES if "[[[cog" in page.read_text(encoding="utf-8")])
def test_the_generated_parts_of_a_page_are_current(page: Path, cog: ReadyProcess) -> None:
    environment = {**os.environ, "NO_COLOR": "1"}

    done = cog.run("cogapp", ["-P", page], environment=environment, folder=ROOT)

    assert done.returncode == 0, done.stderr.decode()
    made, written = done.stdout.decode(), page.read_text(encoding="utf-8")
    if not is_nearly(made, written):
        diff = unified_diff(written.splitlines(), made.splitlines(), lineterm="")
        pytest.fail("run `make docs`\n" + "\n".join(diff))


def test_the_terminal_pictures_show_what_their_pages_print() -> None:
    pages = [page for page in PAGES if "](pictures/tour-" in page.read_text(encoding="utf-8")]
    drawn = [one for page in pages for one in casts(page)]

    assert [picture.name for picture, made in drawn if picture.read_text("utf-8") != made] == []
    assert len(drawn) == len([*ROOT.glob("docs/**/tour-*.svg")]) > 0


#: What people see on a terminal, and the numbers in it that a model computes: another processor
#: rounds otherwise, and a vector of 8-bit products is then off in its third digit.
CONSOLE = re.compile(r"(?ms)^```console\n.*?^```$")
COMPUTED = re.compile(r"\d*\.\d+|\d+(?= ?%)|\d{3}(?= of | left)|(?<= of )\d{3}")
MOST_OFF = {"fraction": 0.04, "percent or count": 4.0}


def is_nearly(made: str, written: str) -> bool:
    """Whether two pages differ in nothing but by how much processors do."""
    if made == written:
        return True
    if CONSOLE.sub("", made) != CONSOLE.sub("", written):
        return False
    both = [" ".join(CONSOLE.findall(page)).split() for page in (made, written)]
    texts = [COMPUTED.sub("", " ".join(words)) for words in both]
    numbers = [COMPUTED.findall(" ".join(words)) for words in both]
    return texts[0] == texts[1] and all(
        abs(float(one) - float(other)) <= MOST_OFF["fraction" if "." in one else "percent or count"]
        for one, other in zip(*numbers, strict=True)
    )


def test_pages_may_differ_in_what_a_processor_computes_and_in_nothing_else() -> None:
    page = "A page.\n```console\n$ recall x\n1  Jam.\n   abc · score 0.811 · 85 %\n```\nOf 85 %.\n"

    assert not is_nearly(page.replace("· 85 %", "· 9 %"), page)
    assert is_nearly(page.replace("0.811", "0.825"), page)
    assert is_nearly(page.replace("· 85 %", "· 83 %"), page)
    assert not is_nearly(page.replace("0.811", "0.911"), page)
    assert not is_nearly(page.replace("Jam", "Tea"), page)
    assert not is_nearly(page.replace("Of 85", "Of 84"), page)


# ---- nothing is left out -----------------------------------------------------------------------


def every_command(command: Any = GROUP, path: str = "bearinmind") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from every_command(command.get_command(None, name), f"{path} {name}")


def test_the_commands_are_all_looked_at() -> None:  # they are loaded when they are asked for
    paths = [path for path, _ in every_command()]

    assert {"bearinmind store", "bearinmind graph path", "bearinmind bench own build"} <= {*paths}


@pytest.mark.parametrize(("path", "command"), [*every_command()], ids=str)
def test_every_command_and_option_is_in_the_reference(path: str, command: Any) -> None:
    heading = f"## `{path}`\n"
    _, title, section = read("docs/reference/cli.md").partition(heading)

    assert title
    options = [option for param in command.params for option in param.opts if option[0] == "-"]
    text = section.partition("\n## ")[0]
    assert [option for option in options if f"{option} " not in text] == []


def test_every_exit_status_of_an_error_is_in_the_reference() -> None:
    text = read("docs/reference/cli.md")

    assert [x.exit_code for x in MEANINGS if f"| {x.exit_code} |" not in text] == []


@pytest.mark.parametrize(
    ("record", "heading"),
    [
        (Header, "Header"),
        (Memory, "Memory"),
        (Sealed, "Secret"),
        (Link, "Link"),
    ],
)
def test_every_field_of_an_export_is_in_the_reference(record: Any, heading: str) -> None:
    section = read("docs/reference/cli.md").partition(f"### {heading}\n")[2].partition("\n### ")[0]

    names = ["record", *(field.name for field in dataclasses.fields(record))]
    left_out = {"owner"} if record is Memory else set()  # the user who imports it becomes its owner
    assert [name for name in names if f"| `{name}` |" not in section] == sorted(left_out)


def test_every_setting_is_in_the_reference() -> None:
    text = read("docs/reference/settings.md")

    assert [name for name in Settings.model_fields if f"| `{name}` |" not in text] == []


def kinds(error: type[errors.MindError]) -> Iterator[type[errors.MindError]]:
    yield error
    for kind in error.__subclasses__():
        yield from kinds(kind)


def test_every_error_is_in_the_reference() -> None:
    text = read("docs/reference/errors.md")
    codes = [kind.code for kind in kinds(errors.MindError) if kind.__module__ != __name__]

    assert [code for code in codes if f"| `{code}` |" not in text] == []


def rooms_of_the_guide() -> list[tuple[list[str], list[str]]]:
    """The rows of rooms in CONTRIBUTING: the rooms of each, and the modules that it names."""
    rows = [line.split("|") for line in _ROOMS.findall(read("CONTRIBUTING.md"))]
    return [(re.findall(r"`(.+?)/?`", row[1]), re.findall(r"`(.+?)`", row[3])) for row in rows]


def test_every_room_has_its_line_in_the_house_guide() -> None:
    house = ROOT / "src/bearinmind"
    rooms = [path for path in house.glob("*.py") if path.name[0] != "_"]
    rooms += [path.parent for path in house.glob("*/__init__.py")]
    rows = rooms_of_the_guide()

    listed = {room.partition("/")[0] for names, _ in rows for room in names}
    assert listed == {room.stem for room in rooms}
    assert len(rows) <= 30  # a longer list is no overview


def test_every_module_and_file_that_the_house_guide_names_exists() -> None:
    modules = [f"{room[0]}/{name}" for room, named in rooms_of_the_guide() for name in named]
    text = _ROOMS.sub("", read("CONTRIBUTING.md"))
    files = re.findall(r"`(\w[\w.-]*/[\w./-]*|\w+\.py)`", text.replace("migrations/NNNN", ""))

    assert [
        name
        for name in [*modules, *files]
        if not any(
            (ROOT / place / f"{name}{end}").exists()
            for place in ("", "src/bearinmind")
            for end in ("", ".py")
        )
    ] == []


def test_every_how_to_is_in_their_index() -> None:
    pages = {page.name for page in ROOT.glob("docs/howto/*.md")} - {"README.md"}

    assert {*_LINK.findall(read("docs/howto/README.md"))} == pages


def test_every_decision_says_its_status() -> None:
    statuses = [page.read_text("utf-8").splitlines()[2] for page in ROOT.glob("docs/adr/0*.md")]

    known = re.compile(r"Status: (accepted|amended by \[\d{4}\]|superseded by \[\d{4}\])")
    assert [status for status in statuses if not known.match(status)] == []


# ---- it hangs together -------------------------------------------------------------------------


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@with_pages(PAGES)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    targets = [link for link in _LINK.findall(text) if not link.startswith("http")]

    for target in targets:
        name, _, anchor = target.partition("#")
        place = page.parent / name if name else page
        assert place.exists(), target
        assert not anchor or anchor in slugs(place), target


def avoided() -> set[str]:
    """The words that the glossary says to avoid; a word that is a command has its own meaning."""
    rows = [line.split("|")[3] for line in read("docs/glossary.md").splitlines() if "|" in line]
    words = re.sub(r"\(.*?\)|\"", "", ",".join(rows)).split(",")
    return {word.strip() for word in words if word.strip(" -")} - {
        "avoid",
        *GROUP.list_commands(None),
    }


def test_the_help_uses_the_words_of_the_glossary() -> None:
    reference = read("docs/reference/cli.md").lower()  # holds every help text, as another test says
    helps = "".join(body for language, body in _BLOCK.findall(reference) if language == "text")
    helps = helps.replace("json document", "json")  # what the standard calls it
    helps = re.sub(r"also:\s[^.]+\.", "", helps)  # the other names of a command: what people type

    assert {"chunk", "channel", "debug info"} <= avoided()
    assert [word for word in avoided() if re.search(rf"\b{re.escape(word)}\b", helps)] == []


# ---- the name -------------------------------------------------------------------------------


def test_the_working_name_stands_in_one_line_of_the_changelog_alone() -> None:
    name = "recol" + "lect"
    places = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in sorted(ROOT.rglob("*"))
        if not _MADE & {*path.relative_to(ROOT).parts} and path.is_file()
        for line in [str(path.relative_to(ROOT)), *path.read_text("utf-8", "replace").splitlines()]
        if name in line.lower()
    ]

    assert [place.partition(":")[0] for place in places] == ["CHANGELOG.md"]
