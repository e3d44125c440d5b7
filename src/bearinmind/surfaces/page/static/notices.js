// What is to be told beside memories.

import { make } from "./elements.js";

export const notice = (title, paragraphs, kind = "") =>
  make("section", { class: `notice ${kind}` },
    make("h2", {}, title),
    paragraphs.map((text) => make("p", {}, text)));

/** What stands between backticks is something to type. */
const typed = (text) =>
  text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

/** Why something could not be done, and what helps. */
export const trouble = ({ title, message, hint }) =>
  notice(title ?? "It could not be done",
    [message, ...(hint ? [typed(hint)] : [])], "trouble");

/** What is missing from an answer. */
export const missing = (degraded) =>
  degraded.length ? notice("Something is missing from this answer", degraded) : null;
