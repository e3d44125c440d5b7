"""How soon each view of the page can be used, and whether everybody can read it, on a full store.

    python benchmarks/page.py --memories 100000 --concepts 20000

A server on a thread of this process serves made-up memories to a real Chromium. Of each view it is
measured how long it takes from its address to a view that can be used, of that how long the server
took to answer what the view waits for, and the difference: what the browser itself needs. axe then
looks for what somebody could not read or reach, at every width and in both themes. Nothing is
asserted but that axe finds nothing; the times are printed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from bearinmind.app import Mind
from bearinmind.surfaces import transfer
from made_up import Writer
from support.browser import Browser, browser
from support.http_server import Serving, serving
from support.page_views import READY, at, click, violations

WIDTHS = (360, 390, 768, 1_024, 1_280, 1_920)
CATEGORIES = ("facts", "decisions", "preferences", "people", "projects")
MENTIONS = 3  # concepts of a memory
STEPS = 100  # of somebody who asks for ever more things in the graph
COUNT = "Number(document.querySelector('.spread p').innerText.split(' ')[0].replaceAll(',', ''))"
#: The times of a view: when it could be used, and for how long requests were under way.
TIMES = """
const spans = performance.getEntriesByType('resource')
  .filter(({name}) => name.includes('/api/'))
  .map(({startTime, responseEnd}) => [startTime, responseEnd])
  .filter(([start]) => start < arguments[0]).sort(([one], [other]) => one - other);
let [waited, until] = [0, 0];
for (const [start, end] of spans) {
  waited += Math.max(0, Math.min(end, arguments[0]) - Math.max(start, until));
  until = Math.max(until, end);
}
return waited;
"""


def main() -> int:
    """Measure every view; 1 when axe finds something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--concepts", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-axe", action="store_true", help="only the times")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder / "memories.db", embedder="none") as server, browser(folder) as tab:
            began = perf_counter()
            question = fill(server.bearinmind, options.memories, options.concepts)
            print(
                f"{options.memories:,} memories and {options.concepts:,} concepts, "
                f"made in {perf_counter() - began:.0f} s"
            )
            views = views_of(server.bearinmind, question)
            measure(tab, server, views, options.rounds)
            grow(tab, server)
            found = [] if options.no_axe else [*look(tab, server, views)]
    for each in found:
        print(f"axe: {each}")
    return int(bool(found))


def fill(mind: Mind, memories: int, concepts: int) -> str:
    """Made-up memories over three years, each with some concepts; a question about one."""
    writer, chance = Writer(seed=memories), random.Random(memories)
    now = datetime.now(UTC)
    contents = [writer.memory() for _ in range(memories)]

    def records() -> Iterator[tuple[int, bytes]]:
        for number, content in enumerate(contents):
            created = now - timedelta(days=1_000 * chance.random())
            record = {
                "content": content,
                "category": chance.choice(CATEGORIES),
                "created_at": created.isoformat(),
                "session": f"session {number // 50}",
            }
            yield number, json.dumps(record).encode()

    transfer.Import(mind, most_problems=1, advance=lambda _: None)(records())
    ids, after = [], None
    while page := mind.list(limit=1_000, after=after):
        ids += [memory.id for memory in page]
        after = page[-1].id
    names = [f"Thing {number}" for number in range(concepts)]
    odds = [1 / (rank + 10) for rank in range(concepts)]

    def lines() -> Iterator[tuple[int, str]]:
        for number, id_ in enumerate(ids):
            named = [names[number % concepts], *chance.choices(names, odds, k=MENTIONS - 1)]
            triples = [[named[0], "goes with", named[1]]] if named[0] != named[1] else []
            yield number, json.dumps({"memory": id_, "entities": named, "triples": triples})

    mind.graph.import_lines(lines())
    older, newer = mind.list(limit=2)
    mind.link(newer.id, "supersedes", older.id)
    return writer.question(contents[0])


def views_of(mind: Mind, question: str) -> dict[str, str]:
    """The address of every view."""
    return {
        "start": "/",
        "recall": at("recall", q=question),
        "memories": at("memories"),
        "memory": f"/#/memory/{mind.list(limit=1)[0].id}",
        "inbox": at("inbox"),
        "graph": at("graph"),
        "graph, one thing": at("graph", about="Thing 0"),
        "time": at("time", thing="thing 0"),
        "server": at("server"),
    }


def measure(tab: Browser, server: Serving, views: dict[str, str], rounds: int) -> None:
    """Print the median times of each view, as a new page with its files in the cache."""
    print(f"\n{'view':20} {'usable':>9} {'waited':>9} {'browser':>9}   median of {rounds}")
    for name, address in views.items():
        times = [visit(tab, server.url + address) for _ in range(rounds + 1)][1:]
        whole, waited = (statistics.median(column) for column in zip(*times, strict=True))
        own = statistics.median(total - server_time for total, server_time in times)
        print(f"{name:20} {whole:6.0f} ms {waited:6.0f} ms {own:6.0f} ms")


def visit(tab: Browser, address: str) -> tuple[float, float]:
    """Milliseconds until a view can be used, and those in which it waited for the server."""
    tab.visit(address)
    usable = float(tab.wait(f"{READY} && performance.now()"))
    return usable, float(tab.run(TIMES, usable))


def grow(tab: Browser, server: Serving) -> None:
    """Print how the graph moves with ever more things in it."""
    tab.visit(server.url + at("graph", about="Thing 0"))
    tab.wait(READY)
    chance = random.Random(1)
    for _ in range(STEPS):
        things = tab.run("return document.querySelectorAll('.things button').length")
        thing = "document.querySelectorAll('.things button')[arguments[0]].click()"
        tab.run(thing, chance.randrange(things))
        before, patience = tab.run(f"return [{COUNT}, performance.now() + 1_000]")
        click(tab, "Show more around it", "aside")
        more = f"return {COUNT} > arguments[0] || performance.now() > arguments[1]"
        tab.wait(more, before, patience)
    frames = """
    window.frames = null; const times = []; let last = performance.now();
    const look = (now) => { times.push(now - last); last = now;
      if (times.length < 60) requestAnimationFrame(look); else window.frames = times.slice(1); };
    requestAnimationFrame(look);"""
    tab.run(frames)
    spent = sorted(tab.wait("return window.frames"))
    count = tab.run(f"return {COUNT}")
    print(
        f"\nthe graph with {count:,} things while it finds its places: a frame takes "
        f"{statistics.median(spent):.0f} ms, the slowest {spent[-1]:.0f} ms"
    )


def look(tab: Browser, server: Serving, views: dict[str, str]) -> Iterator[str]:
    """What axe finds in each view at each width in both themes."""
    for name, address in views.items():
        tab.visit(server.url + address)
        tab.wait(READY)
        for width in WIDTHS:
            tab.resize(width)
            for theme in ("light", "dark"):
                tab.prefer(theme)
                for rule, *elements in violations(tab):
                    yield f"{name} at {width} pixels, {theme}: {rule} {elements}"
                if tab.run("return document.documentElement.scrollWidth") > width:
                    yield f"{name} is wider than {width} pixels"
    print(f"\naxe looked at {len(views)} views, {len(WIDTHS)} widths and 2 themes")


if __name__ == "__main__":
    sys.exit(main())
