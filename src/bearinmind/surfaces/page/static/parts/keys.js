// Everything can be done without a mouse.

import { go, place } from "./router.js";

const MOVES = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const WRITES = "input:not([type=checkbox]):not([type=range]), textarea, select, [role=combobox]";

const items = () => [...document.querySelectorAll("main [data-item]")]
  .filter((item) => item.checkVisibility());
const holder = (item) => item.closest(".card") ?? item;

const move = (by) => {
  const all = items();
  if (!all.length) return false;
  const here = all.findIndex((item) => holder(item).contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : here + by;
  if (next < 0) document.getElementById("query")?.focus();
  all[next]?.focus();
  holder(all[next] ?? document.body).scrollIntoView?.({ block: "nearest" });
  return true;
};

let isAsking = false;

/** Puts the cursor into the question, wherever the reader is. */
export const ask = () => {
  const box = document.getElementById("query");
  isAsking = !box; // the field takes the focus when it is there
  if (!box) go(place("recall"));
  box?.focus();
  box?.select();
};

/** Whether the question is to have the focus now; said once. */
export const takesFocus = () => {
  const wanted = isAsking;
  isAsking = false;
  return wanted;
};

const inField = (event) => {
  const box = document.getElementById("query");
  if (event.key === "Escape") {
    if (event.target === box && items().length) return move(1);
    event.target.blur();
    return true;
  }
  return event.key === "ArrowDown" && event.target === box && move(1);
};

/** Listens for keys; `others` has what single keys do, by key. */
export const listen = (others) => {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.matches?.(WRITES)) {
      if (inField(event)) event.preventDefault();
      return;
    }
    const done = event.key in MOVES && !event.target.matches?.("[type=range], .graph-canvas *")
      ? move(MOVES[event.key])
      : others[event.key]?.(event) ?? false;
    if (done !== false) event.preventDefault();
  });
};
