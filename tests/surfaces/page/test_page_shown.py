"""What the first page shows, in a real browser on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.browser import Browser
from support.http_server import serving
from support.page_views import LEGS, PAGE, VIEWS, Filled, address, at, go, items, show, text, texts


def test_a_recall_shows_what_the_api_answers_in_its_order(tab: Browser, filled: Filled) -> None:
    answer = filled.ask("POST", "/recall", query="when do deploys run")
    show(tab, filled, VIEWS["recall"])
    assert items(tab) == [hit["memory"]["id"] for hit in (*answer["hits"], *answer["weak"])]
    first = answer["hits"][0]
    assert first["memory"]["id"] == filled.ids["new"]
    card = text(tab, "main .card")
    assert first["memory"]["content"] in card
    assert f"ada · {first['memory']['category']}" in card
    assert f"{first['probability']:.0%} · " in card
    for leg, placing in first["placings"].items():
        assert f"{leg} {placing['rank']}" in card
    assert texts(tab, "section > ol > .card:first-child .tag") == first["memory"]["tags"]
    assert texts(tab, "section > ol > .card:first-child time") == ["3 days ago"]
    assert text(tab, "#status") == f"{len(answer['hits'])} memories recalled"


def test_the_picture_has_the_ranks_of_every_hit(tab: Browser, filled: Filled) -> None:
    answer = filled.ask("POST", "/recall", query="when do deploys run", trace=True)
    show(tab, filled, VIEWS["recall"])
    told = tab.run(
        "return [...document.querySelectorAll('svg .hit')].map(e => e.getAttribute('aria-label'))"
    )
    fused = [candidate["id"] for candidate in answer["trace"]["fused"]]
    legs = [leg["leg"] for leg in answer["trace"]["legs"]]
    for hit, label in zip(answer["hits"], told, strict=True):
        id_ = hit["memory"]["id"]
        placings = hit["placings"]
        ranks = [placings[leg]["rank"] if leg in placings else "not found" for leg in legs]
        stood = min(fused.index(each) for each in [id_, *hit["replaces"]] if each in fused) + 1
        names = [*legs, "fused", "answer"]
        said = zip(names, [*ranks, stood, hit["rank"]], strict=True)
        assert label == f"{id_}: " + ", ".join(f"{name} {rank}" for name, rank in said)
    assert texts(tab, "svg .head") == [*legs, "fused", "answer"]
    tab.run("document.querySelectorAll('svg .hit')[1].focus()")
    assert text(tab, ".says") == told[1]


def test_what_stands_for_a_superseded_memory_says_so(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys thursdays"))
    assert f"in place of {filled.ids['old']}" in text(tab)
    assert filled.ids["old"] not in items(tab)


def test_a_leg_that_cannot_find_everything_yet_is_told(tab: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", **LEGS) as server:
        server.bearinmind.store("This one is ready.")
        server.bearinmind.work.run()
        server.bearinmind.store("That one is not embedded yet.")
        answer = server.bearinmind.recall("embedded")
        degraded, count = answer.trace.degraded, len(answer.hits)
        assert degraded
        go(tab, server, at("recall", q="embedded"))
        for missing in degraded:
            assert missing in text(tab, ".notice")
        assert text(tab, "#status").startswith(f"{count} memor")
        assert text(tab, "#status").endswith(" recalled, but something is missing")


def test_a_question_that_nothing_answers_says_so(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys", category="people"))
    assert "Nothing relevant is stored" in text(tab)
    assert text(tab, "#status") == "no memory recalled"


def test_a_memory_of_another_has_its_owner_and_is_marked_as_data(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, at("recall", q="refunds finance"))
    card = text(tab, "main .card")
    assert "Refunds need finance." in card
    assert "bob · facts" in card
    assert texts(tab, "section > ol > .card:first-child .mark") == ["data"]
    assert filled.ids["alone"] not in items(tab)


def test_the_list_can_be_filtered(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories"))
    tab.run("document.querySelector('.filters [name=category]').focus()")
    tab.press(*"decisions", "enter")
    tab.wait("return document.querySelectorAll('.card').length === 1")
    assert items(tab) == [filled.ids["cause"]]
    assert tab.run("return location.hash") == "#/memories?category=decisions"
    for fields, expected in (
        ({"tags": "deploys", "state": "superseded"}, [filled.ids["old"]]),
        ({"tags": "deploys,payments"}, []),
        ({"since": "1h", "category": "decisions"}, [filled.ids["cause"]]),
        ({"until": "2001-01-01"}, []),
        ({"owner": "others"}, [filled.ids["shared"]]),
        ({"owner": "bob"}, [filled.ids["shared"]]),
        ({"owner": "me", "tags": "payments"}, []),
    ):
        show(tab, filled, at("memories", **fields))
        assert items(tab) == expected, fields


def test_pages_of_the_list_have_every_memory_once(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories", tags="deploys", order="oldest"))
    seen = items(tab)
    assert len(seen) == PAGE
    tab.run("[...document.querySelectorAll('.pages a')].at(-1).click()")
    tab.wait("return location.hash.includes('after=') && !document.querySelector('[aria-busy]')")
    seen += items(tab)
    everything = filled.ask("GET", "/memories?tags=deploys&limit=100&newest_first=false")
    assert seen == [each["id"] for each in everything["memories"]]
    assert texts(tab, ".pages a") == ["First page"]


def test_a_memory_has_its_fields_history_links_shares_and_provenance(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, address(filled, "memory"))
    assert text(tab, "main .whole") == "Deploys run on Fridays at noon."
    assert "0.90" in text(tab, ".facts")
    assert texts(tab, ".versions li:first-child del") == ["Fridays.", "0.5"]
    assert texts(tab, ".versions li:first-child ins") == ["Fridays at noon.", "0.9"]
    assert "Deploys run on Fridays." in text(tab, ".versions li:last-child")
    links = texts(tab, ".links li")
    assert len(links) == 2
    assert f"this memory supersedes {filled.ids['old']}Deploys run on Thursdays." in links
    assert "bob may read it" in text(tab, "[aria-label=Shares]")
    assert {*items(tab)} == {filled.ids["cause"], filled.ids["old"]}
    assert "derives-from" in text(tab, "[aria-label=Why]")


def test_of_a_memory_of_another_there_is_no_past(tab: Browser, filled: Filled) -> None:
    show(tab, filled, address(filled, "memory"), user="bob")
    shown = text(tab)
    assert "Deploys run on Fridays at noon." in shown
    assert "Thursdays" not in shown
    assert "seen by ada alone" in shown
    assert texts(tab, "main section h2") == ["Shares"]
    assert texts(tab, "main .headline .mark")[0] == "data"
    assert "bob may read it" in text(tab, "[aria-label=Shares]")


def test_what_a_sensitive_memory_says_is_not_on_the_page(tab: Browser, filled: Filled) -> None:
    ada = filled.server.bearinmind.for_user("ada")
    sealed = ada.store("The canary of the vault is 4711.", sensitive=True).memory.id
    show(tab, filled, f"/#/memory/{sealed}")
    assert f"bearinmind secret get {sealed}" in text(tab)
    assert "sensitive" in texts(tab, "main .mark")
    assert "4711" not in tab.run("return document.documentElement.outerHTML")


@pytest.mark.parametrize(
    ("view", "path"),
    [
        ("memory/zzzzzzzzzzzz", "/memories/zzzzzzzzzzzz"),
        ("memories?since=soon", "/memories?created_from=soon"),
    ],
)
def test_an_error_is_told_with_what_helps(
    tab: Browser, filled: Filled, view: str, path: str
) -> None:
    problem = filled.ask("GET", path)
    show(tab, filled, f"/#/{view}")
    assert problem["detail"] in text(tab, ".trouble")
    assert problem["hint"].replace("`", "") in text(tab, ".trouble")


def test_a_server_that_is_gone_is_told(tab: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", **LEGS) as server:
        go(tab, server, "/")
    tab.press("/", *"anything", "enter")
    tab.wait("return document.querySelector('.trouble')")
    assert "The server does not answer." in text(tab, ".trouble")


def test_why_not_has_the_reason_the_remedy_and_every_leg(tab: Browser, filled: Filled) -> None:
    expected = filled.ask("POST", "/why-not", query="deploys", limit=1, id=filled.ids["cause"])
    show(tab, filled, at("recall", q="deploys", limit=1))
    tab.run("document.getElementById('expected').focus()")
    tab.press(*filled.ids["cause"][:6], "enter")
    tab.wait("return document.querySelector('.verdict')")
    verdict = text(tab, ".verdict")
    assert expected["reason"] in verdict
    assert expected["remedy"] in verdict
    table = text(tab, "table")
    for position in expected["positions"]:
        assert position["leg"] in table
        assert position["note"] in table
    assert text(tab, "main .content") == "Thursdays are for meetings."


def test_a_candidate_that_was_left_out_leads_to_its_why_not(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys", limit=1))
    dropped = "[aria-label='Left out'] tbody tr:last-child"
    said = tab.run(f'return document.querySelector("{dropped}").textContent')
    tab.run(f'document.querySelector("{dropped} td a").click()')
    tab.wait("return document.querySelector('.verdict')")
    reason = text(tab, ".verdict dd")
    assert said == f"{items(tab)[0]}{reason} · why not?"


def test_a_memory_can_be_asked_why_a_question_does_not_find_it(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, address(filled, "memory"))
    tab.run("document.getElementById('asked').focus()")
    tab.press(*"fridays", "enter")
    tab.wait("return document.querySelector('.verdict')")
    assert "it was recalled, at rank 1" in text(tab, ".verdict")


def test_what_is_outdated_says_by_which_memory(tab: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", embedder="none") as server:
        mind = server.bearinmind
        old = mind.store("Jenkins runs our builds.").memory.id
        new = mind.store("Actions runs our builds.").memory.id
        mind.resolve(new, "newer", old)
        other = mind.store("Make runs our builds too.").memory.id
        mind.resolve(other, "both", new)
        go(tab, server, at("memories"))
        [mark] = texts(tab, ".mark")
        assert mark.startswith("outdated since ")
        assert mark.endswith(f" by {new}")
        go(tab, server, f"/#/memory/{old}")
        assert f" by {new}" in text(tab, ".mark")
        go(tab, server, f"/#/memory/{new}")
        assert f"{other} holds beside this memory" in text(tab)
        assert tab.console() == []
