// Memories by creation time, a page at a time.

import { ALL, STATES, filter } from "./asking.js";
import { card } from "./cards.js";
import { make } from "./elements.js";
import { notice } from "./notices.js";
import { place, said } from "./places.js";
import * as server from "./server.js";
import { many } from "./wording.js";

const PAGE = 20;

const field = (label, name, fields, attributes) =>
  make("label", {}, `${label} `, make("input", { name, value: fields.get(name), ...attributes }));

const choice = (label, name, fields, choices) =>
  make("label", {}, `${label} `,
    make("select", { name }, choices.map(([value, text]) =>
      make("option", { value, selected: (fields.get(name) ?? "") === value }, text))));

const filters = (fields) => {
  const submit = (event) => {
    event.preventDefault();
    location.hash = place("memories", said(form));
  };
  const form = make("form", { class: "fields filters", "aria-label": "Which memories", submit },
    field("Category", "category", fields, { list: "categories" }),
    field("Tags", "tags", fields, { list: "tags", placeholder: "all of these, by comma" }),
    field("Owner", "owner", fields, { list: "owners", placeholder: "all that you can see" }),
    choice("State", "state", fields, [
      ["", "live"], ...STATES.slice(1).map((state) => [state, state]), [ALL, "all of them"],
    ]),
    field("Since", "since", fields, { placeholder: "2w or 2026-11-01" }),
    field("Until", "until", fields, { placeholder: "now" }),
    choice("Order", "order", fields, [["", "newest first"], ["oldest", "oldest first"]]),
    make("button", {}, "Show"));
  return form;
};

const pages = (fields, next) => {
  const page = (name, after) =>
    make("a", { href: place("memories", { ...Object.fromEntries(fields), after }) }, name);
  const links = [
    ...(fields.get("after") ? [page("First page", null)] : []),
    ...(next ? [page("Next page", next)] : []),
  ];
  if (!links.length) return null;
  return make("nav", { class: "pages", "aria-label": "Pages of memories" }, links);
};

const entries = (memories) =>
  memories.length
    ? make("ol", { class: "cards" }, memories.map((memory) => card(memory)))
    : notice("No memory is like this", ["Ask for less, or for another state."]);

export const show = async ({ fields, signal }) => {
  const form = filters(fields);
  const page = await server.list({
    ...filter(fields),
    owner: fields.get("owner")?.trim(),
    limit: PAGE,
    after: fields.get("after"),
    newest_first: fields.get("order") !== "oldest",
  }, signal).catch((problem) => {
    problem.beside = [form]; // so that what was asked can be put right
    throw problem;
  });
  const more = page.next ? ", and more on the next page" : "";
  return {
    title: "Memories",
    nodes: [form, entries(page.memories), pages(fields, page.next)],
    said: `${many(page.memories.length, "memory", "memories")}${more}`,
  };
};
