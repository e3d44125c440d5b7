// Everything can be done without a mouse.

const MOVES = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const WRITES = "input, textarea, select";

const items = () => [...document.querySelectorAll("main [data-item]")];

const move = (by) => {
  const all = items();
  if (!all.length) return false;
  const here = all.findIndex((item) => item.closest(".card").contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : here + by;
  if (next < 0) document.getElementById("query").focus();
  all[next]?.focus();
  all[next]?.closest(".card").scrollIntoView({ block: "nearest" });
  return true;
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

const anywhere = (event, back) => {
  if (event.key === "/") {
    const box = document.getElementById("query");
    box.focus();
    box.select();
    return true;
  }
  if (event.key === "Escape") {
    back();
    return true;
  }
  return event.key in MOVES && move(MOVES[event.key]);
};

/** Listens for keys; `back` leaves a view. */
export const listen = (back) => {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const handle = event.target.matches?.(WRITES) ? inField : anywhere;
    if (handle(event, back)) event.preventDefault();
  });
};
