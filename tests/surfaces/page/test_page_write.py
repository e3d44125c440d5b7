"""Writing on the page: every change to a memory, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind.types import Access, Memory, State
from support.browser import Browser
from support.http_server import Serving, serving
from support.page_views import (
    LEGS,
    SEALED,
    at,
    click,
    enter,
    go,
    items,
    pick,
    sees,
    text,
    texts,
    write,
)

FIELD = "dialog textarea"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    vault = tmp_path / "vault.keys"
    with serving(tmp_path / "memories.db", vault_key_file=vault, **LEGS) as running:
        running.key("bob")
        yield running


def page(tab: Browser, server: Serving, address: str) -> None:
    enter(tab, server)
    go(tab, server, address)


def toast(tab: Browser, words: str) -> None:
    sees(tab, words, ".toasts")


def undo(tab: Browser) -> None:
    click(tab, "Undo", ".toast:last-child")
    toast(tab, "Undone.")
    tab.run("document.querySelectorAll('.toast [aria-label]').forEach((each) => each.click())")


def stored(server: Serving, id_: str) -> Memory:
    return server.bearinmind.for_user("ada").get(id_)


def test_a_memory_is_written_edited_brought_back_and_replaced(
    tab: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    page(tab, server, "/")
    tab.press("n")
    write(tab, FIELD, "The build takes nine minutes.")
    write(tab, "dialog [name=tags]", "ci, speed")
    click(tab, "Remember", "dialog")
    sees(tab, "The build takes nine minutes.", "h1")
    [memory] = ada.list()
    assert memory.tags == ("ci", "speed")
    assert memory.provenance.trust == "user"

    tab.wait("return !document.querySelector('[aria-busy]')")
    tab.press("e")
    write(tab, FIELD, "The build takes four minutes.")
    click(tab, "Save", "dialog")
    sees(tab, "The build takes four minutes.", "h1")
    sees(tab, "Versions")
    assert texts(tab, ".versions del") == ["nine"]
    assert texts(tab, ".versions ins") == ["four"]
    click(tab, "Go back to this version")
    sees(tab, "The build takes nine minutes.", "h1")
    undo(tab)
    sees(tab, "The build takes four minutes.", "h1")
    assert stored(server, memory.id).version == 4
    tab.run(
        "document.querySelectorAll('.versions details').forEach((each) => { each.open = true })"
    )
    assert "nine" in texts(tab, ".versions details del")  # what changed since the first version

    tab.press("e")
    write(tab, FIELD, "The build takes two minutes.")
    click(tab, "Save", "dialog")
    sees(tab, "The build takes two minutes.", "h1")
    tab.wait("return !document.querySelector('dialog')")
    tab.press("u")  # the last change, by the keyboard
    toast(tab, "Undone.")
    sees(tab, "The build takes four minutes.", "h1")

    click(tab, "Replace", "main")
    write(tab, FIELD, "The build takes one minute.")
    click(tab, "Replace", "dialog")
    sees(tab, "The build takes one minute.", "h1")
    [newer] = ada.list()
    sees(tab, "takes the place of", "[aria-label=Links]")
    assert ada.states([stored(server, memory.id)])[memory.id] is State.SUPERSEDED
    assert newer.id != memory.id


def test_what_may_be_replaced_is_asked_about_at_once(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    older = ada.store("The staging port is 5432").memory
    page(tab, server, "/")
    tab.press("n")
    write(tab, FIELD, "The staging port is 5433")
    click(tab, "Remember", "dialog")
    sees(tab, "What you wrote may replace what was known.", "dialog")
    assert older.content in text(tab, "dialog")
    click(tab, "No, the new one holds", "dialog")
    tab.wait("return !document.querySelector('dialog')")
    assert older.id in ada.outdated([ada.get(older.id)])


def test_a_memory_is_linked_shared_deleted_restored_and_removed_for_good(
    tab: Browser, server: Serving
) -> None:
    ada, bob = (server.bearinmind.for_user(user) for user in ("ada", "bob"))
    one = ada.store("Deploys run on Fridays.", tags=["deploys"]).memory.id
    other = ada.store("Fridays are calm.").memory.id
    page(tab, server, f"/#/memory/{one}")
    click(tab, "Link", "main .actions")
    pick(tab, "dialog [role=combobox]", "calm", "Fridays are calm.")
    toast(tab, "Linked.")
    assert [(link.kind, link.target) for link in ada.links(one)] == [("see-also", other)]
    sees(tab, "Fridays are calm.", "[aria-label=Links]")
    click(tab, "End this link")
    toast(tab, "The link is ended.")
    undo(tab)
    sees(tab, "Fridays are calm.", "[aria-label=Links]")

    click(tab, "Share", "main .actions")
    write(tab, "dialog [name=reader]", "nobody-here")
    click(tab, "Share", "dialog form")
    tab.wait("return document.querySelector('dialog .trouble')")
    write(tab, "dialog [name=reader]", "bob")
    click(tab, "Share", "dialog form")
    sees(tab, "bob may read it")
    assert [each.id for each in bob.list(owner="others")] == [one]
    click(tab, "End", "[aria-label='Who else sees it']")
    toast(tab, "The share is ended.")
    assert bob.list(owner="others") == []

    click(tab, "Delete", "main .actions")
    sees(tab, "deleted", "main .mark")
    undo(tab)
    tab.wait("return !document.querySelector('main .mark.deleted')")
    click(tab, "Delete", "main .actions")
    click(tab, "Remove for good", "main .actions")
    sees(tab, "This cannot be undone.", "dialog")
    click(tab, "Keep it", "dialog")
    tab.wait("return !document.querySelector('dialog')")
    assert stored(server, one).deleted_at is not None
    click(tab, "Remove for good", "main .actions")
    click(tab, "Remove for good", "dialog")
    toast(tab, "Removed for good.")
    tab.wait("return location.hash === '#/memories'")
    assert [each.id for each in ada.list(states=[*State])] == [other]


def test_the_text_of_a_sealed_memory_is_shown_on_request_and_the_audit_has_it(
    tab: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    sealed = ada.store(SEALED, sensitive=True, tags=["vault"]).memory.id
    page(tab, server, f"/#/memory/{sealed}")
    assert "sealed" in texts(tab, "main .mark")
    assert "vault" in text(tab)
    whole = "return document.documentElement.outerHTML"
    assert "4711" not in tab.run(whole)
    click(tab, "Reveal the text")
    sees(tab, SEALED, ".revealed")
    entries = ada.accounts.audit(10)
    assert sum(sealed in str(entry) for entry in entries) >= 1
    click(tab, "Hide it again")
    tab.wait("return !document.querySelector('.revealed')")
    assert "4711" not in tab.run(whole)


def test_many_are_tagged_and_deleted_at_once_and_undone(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    ids = {ada.store(f"Deploy number {number} went well.").memory.id for number in range(4)}
    page(tab, server, at("memories"))
    tab.press("j", "x", "j", "x")
    sees(tab, "2 memories selected", ".bulk")
    click(tab, "Tag", ".bulk")
    write(tab, "dialog [name=tag]", "deploys")
    tab.press("enter")
    toast(tab, "2 memories tagged #deploys.")
    assert len(ada.list(tags=["deploys"])) == 2
    undo(tab)
    assert ada.list(tags=["deploys"]) == []

    select_all(tab, "4 memories selected")
    click(tab, "Delete", ".bulk")
    toast(tab, "4 memories deleted.")
    sees(tab, "There are no memories")
    undo(tab)
    tab.wait("return document.querySelectorAll('main .card').length === 4")
    assert {each.id for each in ada.list()} == ids

    bob = server.bearinmind.for_user("bob")
    select_all(tab, "4 memories selected")
    click(tab, "Share", ".bulk")
    write(tab, "dialog [name=reader]", "bob")
    tab.press("enter")
    toast(tab, "Shared with bob.")
    assert {each.id for each in bob.list(owner="others")} == ids
    undo(tab)
    assert bob.list(owner="others") == []

    for id_ in ids:
        ada.delete(id_)
    go(tab, server, at("memories", state="deleted"))
    select_all(tab, "4 memories selected")
    click(tab, "Restore", ".bulk")
    toast(tab, "4 memories restored.")
    assert {each.id for each in ada.list()} == ids


def select_all(tab: Browser, words: str) -> None:
    tab.wait("return document.querySelector('label.check input')?.checked === false")
    tab.run("document.querySelector('label.check input').click()")
    sees(tab, words, ".bulk")


def test_everything_with_a_tag_is_shared_and_the_other_user_changes_it(
    tab: Browser, server: Serving
) -> None:
    ada, bob = (server.bearinmind.for_user(user) for user in ("ada", "bob"))
    kept = ada.store("Refunds need finance.", tags=["payments"]).memory.id
    page(tab, server, f"/#/memory/{kept}")
    click(tab, "Share", "main .actions")
    write(tab, "dialog [name=reader]", "bob")
    choose = "document.querySelector(`dialog [name=${arguments[0]}]`).value = arguments[1]"
    tab.run(choose, "right", "write")
    tab.run(choose, "tag", "payments")
    click(tab, "Share", "dialog form")
    sees(tab, "bob may read and change it, as everything tagged #payments")
    later = ada.store("Chargebacks need finance too.", tags=["payments"]).memory.id
    assert {each.id for each in bob.list(owner="others")} == {kept, later}

    enter(tab, server, "bob")
    go(tab, server, f"/#/memory/{kept}")
    tab.press("e")
    write(tab, FIELD, "Refunds need finance and Dana.")
    click(tab, "Save", "dialog")
    sees(tab, "Refunds need finance and Dana.", "h1")
    assert stored(server, kept).content == "Refunds need finance and Dana."

    page(tab, server, f"/#/memory/{kept}")
    click(tab, "End", "[aria-label='Who else sees it']")
    toast(tab, "The share is ended.")
    assert bob.list(owner="others") == []
    enter(tab, server, "bob")
    go(tab, server, f"/#/memory/{kept}")
    assert "No such memory" in text(tab, "h1")


DROP = """
const carried = new DataTransfer();
carried.items.add(new File([arguments[0]], arguments[1]));
document.querySelector(arguments[2] ?? '.dropzone').dispatchEvent(
  new DragEvent('drop', {dataTransfer: carried, bubbles: true, cancelable: true}));
"""


def test_a_file_that_is_dropped_is_shown_before_it_is_imported_and_all_is_exported(
    tab: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    page(tab, server, at("memories"))
    click(tab, "Import")
    tab.wait("return document.querySelector('.dropzone')")
    tab.run(DROP, '{"content": "The gate is <b>blue</b>."}\nnot json\n{"tags": []}\n', "old.jsonl")
    sees(tab, "has 1 memory.", "dialog")
    assert "2 lines cannot be read" in text(tab, "dialog")
    assert "The gate is <b>blue</b>." in text(tab, ".preview")
    assert ada.list() == []
    click(tab, "Import", "dialog .actions")
    sees(tab, "Imported", "dialog .notice")
    assert [each.content for each in ada.list()] == ["The gate is <b>blue</b>."]
    click(tab, "Done", "dialog")

    click(tab, "Import")
    tab.wait("return document.querySelector('.dropzone')")
    tab.run(DROP, "- Tea at four.\n- Coffee at ten.\n\nLunch is at noon.", "notes.md")
    sees(tab, "has 3 memories.", "dialog")
    click(tab, "Import", "dialog .actions")
    sees(tab, "Imported", "dialog .notice")
    assert len(ada.list()) == 4
    click(tab, "Done", "dialog")
    # Anywhere on the page, and one JSON document as well.
    go(tab, server, at("time"))
    tab.run(DROP, '[{"content": "Tea at five."},\n "Cake at six."]', "all.json", "main")
    sees(tab, "has 2 memories.", "dialog")
    click(tab, "Import", "dialog .actions")
    sees(tab, "2 new", "dialog .notice")
    assert len(ada.list()) == 6
    click(tab, "Done", "dialog")
    go(tab, server, at("memories"))
    click(tab, "Export")
    tab.wait("return performance.getEntriesByType('resource').some(e => /export$/.test(e.name))")


def test_a_reader_sees_no_buttons_that_write(tab: Browser, server: Serving) -> None:
    kept = server.bearinmind.for_user("ada").store("Deploys run on Fridays.").memory.id
    enter(tab, server, access=Access.READ)
    go(tab, server, f"/#/memory/{kept}")
    tab.wait("return document.querySelector('.person[aria-label$=ada]')")
    tab.wait("return !document.querySelector('.new, [aria-label=\"Change it\"]')")
    go(tab, server, at("memories"))
    assert tab.run("return document.querySelectorAll('.select').length") == 0
    assert items(tab) == [kept]


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    tab: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    kept = ada.store("Deploys run on Fridays.").memory.id
    page(tab, server, f"/#/memory/{kept}")
    click(tab, "Edit", "main .actions")
    ada.update(kept, content="Deploys run on Mondays.")
    write(tab, FIELD, "Deploys run on Sundays.")
    click(tab, "Save", "dialog")
    tab.wait("return document.querySelector('dialog .trouble')")
    assert stored(server, kept).content == "Deploys run on Mondays."
