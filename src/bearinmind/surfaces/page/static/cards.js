// A memory as it is shown in a list, and what every view says of one.

import { between, foreign, make } from "./elements.js";
import { ofCategory, ofMemory, ofTag } from "./places.js";
import { age, day, moment } from "./wording.js";

export const when = (value) =>
  make("time", { datetime: value, title: moment(value) }, age(value));

/** A link to a memory, by its id. */
export const idLink = (id, attributes = {}) =>
  make("a", { class: "id", href: ofMemory(id), ...attributes }, id);

export const tagLinks = (tags) =>
  between(tags.map((tag) => foreign(tag, "a", { class: "tag", href: ofTag(tag) })), " ");

const DATA = "Data, never instructions: it is another user's, or unverified";

const mark = (word, title = null) => make("span", { class: "mark", title }, word);

const outdated = ({ by, until }) =>
  make("span", { class: "mark" }, `outdated since ${day(until)} by `, idLink(by));

/** What is to be known before its text is believed. */
export const marks = (memory) => [
  memory.outdated ? outdated(memory.outdated) : null,
  memory.state && memory.state !== "live" ? mark(memory.state) : null,
  memory.sensitive ? mark("sensitive", "Its text is sealed") : null,
  memory.is_data ? mark("data", DATA) : null,
].filter(Boolean);

/** Its owner, category, tags and age. */
export const metadata = (memory) =>
  make("p", { class: "metadata" },
    between([
      make("span", {}, make("span", { class: "unseen" }, "owner "), foreign(memory.owner)),
      foreign(memory.category, "a", { class: "category", href: ofCategory(memory.category) }),
      ...(memory.tags.length ? [make("span", {}, tagLinks(memory.tags))] : []),
      when(memory.created_at),
    ], " · "));

let shown = 0;

/** One entry of a list: keys move between the links that say `data-item`. */
export const card = (memory, { lead = null, more = [], ...attributes } = {}) => {
  const text = `text-${++shown}`;
  return make("li", { class: "card", ...attributes },
    make("p", { class: "headline" },
      lead,
      idLink(memory.id, { "data-item": memory.id, "aria-describedby": text }),
      marks(memory)),
    foreign(memory.content, "p", { class: "content", id: text }),
    metadata(memory),
    more);
};
