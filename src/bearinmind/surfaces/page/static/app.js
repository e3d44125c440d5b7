// The page: from the address to a view, one at a time.

import { make } from "./elements.js";
import * as inbox from "./inbox.js";
import { keyForm } from "./key_form.js";
import { listen } from "./keyboard.js";
import * as memories from "./memories.js";
import * as memory from "./memory.js";
import { trouble } from "./notices.js";
import { place, read, said } from "./places.js";
import * as recall from "./recall.js";
import * as server from "./server.js";
import * as whyNot from "./why_not.js";

const VIEWS = { "": recall, recall, memories, memory, inbox, "why-not": whyNot };
const UNAUTHORIZED = 401;

const main = document.getElementById("main");
const status = document.getElementById("status");
const form = document.getElementById("ask");
const narrow = document.getElementById("narrow");
const forget = document.getElementById("forget");

const left = new Map(); // by address: the item that was opened there
let here = null;
let returned = false; // to a view that was left before
let depth = -1; // views of this page that lie behind this one
let running = new AbortController();

const put = (title, nodes) => {
  const heading = make("h1", { tabindex: "-1" }, title);
  main.replaceChildren(heading, ...nodes.flat().filter(Boolean));
  document.title = `${heading.textContent} · Bear in Mind`;
  return heading;
};

/** Where reading goes on: at the item that was opened, or at the top; a form keeps the focus. */
const focus = (heading) => {
  const item = returned && [...main.querySelectorAll("[data-item]")]
    .find((each) => each.dataset.item === left.get(here));
  if (item) item.focus();
  else if (!form.contains(document.activeElement)) heading.focus({ preventScroll: true });
  if (!item) scrollTo(0, 0);
};

const fillForm = ({ view, fields }) => {
  if (view !== "recall" && view !== "") return;
  for (const field of form.elements) if (field.name) field.value = fields.get(field.name) ?? "";
  narrow.open ||= [...fields.keys()].some((name) => name !== "q");
};

const mark = ({ view }) => {
  for (const link of document.querySelectorAll("header nav a")) {
    const target = read(link.getAttribute("href")).view;
    const current = target === view || (target === "" && view === "recall");
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
};

/** Shows why there is no view, and gives back what is said of it. */
const failed = (problem) => {
  forget.hidden = !server.key.get();
  if (problem.status === UNAUTHORIZED) {
    put("A key is needed", [keyForm(problem, show)]);
    main.querySelector("#key").focus();
    return server.key.get() ? problem.message : "A key is needed.";
  }
  put("That did not work", [...(problem.beside ?? []), trouble(problem)]).focus();
  return [problem.message, problem.hint].filter(Boolean).join(" ");
};

/** The words that fields suggest; without them the fields work all the same. */
const suggest = async () => {
  const [counts, shares] = await Promise.all([server.counts(), server.shares()]);
  const words = {
    categories: Object.keys(counts.categories),
    tags: Object.keys(counts.tags),
    owners: ["me", "others", ...new Set(shares.got.map((share) => share.owner))],
  };
  for (const [name, values] of Object.entries(words)) {
    document.getElementById(name).replaceChildren(
      ...values.map((value) => make("option", { value })));
  }
};

const show = async () => {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const where = read(here);
  const view = VIEWS[where.view];
  main.setAttribute("aria-busy", "true");
  mark(where);
  fillForm(where);
  try {
    if (!view) throw new server.Problem(404, { detail: `This page has no ${here}.` });
    const shown = await view.show({ ...where, signal });
    if (signal.aborted) return;
    focus(put(shown.title, shown.nodes));
    status.textContent = shown.said;
    status.classList.toggle("unseen", Boolean(shown.heard)); // the view itself says it to the eye
    forget.hidden = !server.key.get();
  } catch (problem) {
    if (problem.name === "AbortError") return;
    if (!(problem instanceof server.Problem)) console.error(problem); // a fault of this page
    status.textContent = failed(problem);
    status.classList.add("unseen");
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
};

const turn = () => {
  const next = location.hash || place("");
  if (!next.startsWith("#/")) return; // a place within the view
  const item = document.activeElement?.closest?.("[data-item]")?.dataset.item;
  if (here !== null) left.set(here, item);
  here = next;
  returned = history.state !== null;
  if (returned) depth = history.state.depth;
  else {
    depth += 1;
    history.replaceState({ depth }, "");
  }
  show();
};

const back = () => {
  if (depth) history.back();
  else location.hash = place("");
};

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const next = place("recall", said(form));
  if (next === here) show();
  else location.hash = next;
});
document.addEventListener("focusin", ({ target }) => {
  if (!target.list || target.list.options.length) return;
  suggest().catch(() => {});
});
forget.addEventListener("click", () => {
  server.key.forget();
  for (const list of document.querySelectorAll("datalist")) list.replaceChildren();
  show();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", turn);
listen(back);
turn();
