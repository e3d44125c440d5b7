// Addresses: `#/view/rest?field=value`.

import { signal } from "./lib.js";

const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that somebody typed
  }
};

/** The address of a view; what is empty is left out of it. */
export const place = (path, fields = {}) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, value);
  }
  return `#/${path}${parameters.size ? `?${parameters}` : ""}`;
};

export const read = (hash) => {
  const [path, fields = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/");
  return { view: view || "recall", rest: decoded(rest.join("/")), fields: new URLSearchParams(fields) };
};

export const route = signal(read(location.hash));

// The depth of an entry of the history is how many views of this page lie behind it.
let depth = history.state?.depth ?? 0;
let here = location.hash;
const left = new Map(); // by address: the item that was opened there
let returning = null;
history.replaceState({ depth }, "");

addEventListener("hashchange", () => {
  if (location.hash && !location.hash.startsWith("#/")) return; // a place within the view
  left.set(here, document.activeElement?.closest("[data-item]")?.dataset.item);
  here = location.hash;
  returning = history.state ? left.get(here) ?? null : null;
  depth = history.state?.depth ?? depth + 1;
  history.replaceState({ depth }, "");
  route.value = read(location.hash);
});

/** The item that was opened from the present view when it was left; null on a first visit. */
export const returnsTo = () => returning;

export const back = () => {
  if (depth > 0) history.back();
  else go("#/");
};

export const go = (address) => {
  location.hash = address;
};

/** Goes to an address in place of the present one: typing fills no history. */
export const replace = (address) => {
  history.replaceState(history.state, "", address);
  here = address;
  route.value = read(address);
};

export const ofMemory = (id) => place(`memory/${encodeURIComponent(id)}`);
export const ofTag = (tag) => place("memories", { tags: tag });
export const ofCategory = (category) => place("memories", { category });
export const ofConcept = (name) => place("graph", { about: name });
export const ofQuestion = (query) => place("recall", { q: query });
