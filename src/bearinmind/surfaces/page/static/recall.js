// A question and its answer.

import { question } from "./asking.js";
import { card, idLink } from "./cards.js";
import { foreign, make, table } from "./elements.js";
import { entry } from "./hits.js";
import { missing, notice } from "./notices.js";
import { picture } from "./picture.js";
import { place, said } from "./places.js";
import * as server from "./server.js";
import { many, number } from "./wording.js";

const NEWEST = 5;

const time = (milliseconds) => `${number(milliseconds, 1)} ms`;

const leg = ({ leg: name, found, milliseconds, error, partial, detail }) => {
  const told = [error && `failed: ${error}`, partial, detail.off && `off: ${detail.off}`];
  return [name, found.toLocaleString("en"), time(milliseconds), told.filter(Boolean).join("; ")];
};

const took = ({ milliseconds }) =>
  Object.entries(milliseconds)
    .map(([stage, spent]) => `${stage.replaceAll("_", " ")} ${time(spent)}`)
    .join(" · ");

const inside = ({ trace }) =>
  make("details", {},
    make("summary", {}, "How it was answered"),
    table("Legs", ["leg", "found", "took", ""], trace.legs.map(leg)),
    make("p", { class: "recipe" }, took(trace)),
    [trace.fusion, trace.adjustments, trace.selection].map((recipe) =>
      make("p", { class: "recipe" }, make("code", {}, recipe))),
    trace.rerank?.error ? make("p", {}, `The reranker failed: ${trace.rerank.error}`) : null);

const toWhyNot = (fields, said) => place("why-not", { ...Object.fromEntries(fields), ...said });

const leftOut = ({ trace }, fields) => {
  if (!trace.dropped.length) return null;
  const rows = trace.dropped.map(({ id, reason }) => [
    idLink(id),
    [foreign(reason.text), " · ", make("a", { href: toWhyNot(fields, { id }) }, "why not?")],
  ]);
  return make("details", {},
    make("summary", {}, `${many(rows.length, "candidate")} left out`),
    table("Left out", ["memory", "because"], rows));
};

const expected = (fields) => {
  const submit = (event) => {
    event.preventDefault();
    location.hash = toWhyNot(fields, said(form));
  };
  const form = make("form", { class: "line why-not", submit },
    make("label", { for: "expected" }, "A memory you expected is not here?"),
    make("input", { id: "expected", name: "id", required: true, placeholder: "its id" }),
    make("button", {}, "Why not?"));
  return form;
};

/** What is highlighted in the list is highlighted in the picture. */
const together = (entries, { chosen }) => {
  entries.forEach((each, position) => {
    each.addEventListener("focusin", () => chosen(position));
    each.addEventListener("pointerenter", () => chosen(position));
    each.addEventListener("focusout", () => chosen(-1));
    each.addEventListener("pointerleave", () => chosen(-1));
  });
};

const NONE = "What there is has hardly anything to do with the question.";

const guesses = ({ weak }, legs) =>
  weak.length
    ? make("details", { class: "weak" },
      make("summary", {}, many(weak.length, "weak guess", "weak guesses")),
      make("ol", { class: "cards" }, weak.map((hit) => entry(hit, legs))))
    : null;

const answered = (answer, fields) => {
  const legs = answer.trace.legs.map((each) => each.leg);
  const entries = answer.hits.map((hit) => entry(hit, legs));
  const drawn = picture(answer);
  together(entries, drawn);
  const none = notice("Nothing relevant is stored", [NONE]);
  return make("div", { class: "answer" },
    make("section", { "aria-label": "Memories that were recalled" },
      missing(answer.degraded),
      entries.length ? make("ol", { class: "cards" }, entries) : none,
      guesses(answer, legs),
      expected(fields),
      inside(answer),
      leftOut(answer, fields)),
    entries.length ? drawn.figure : null);
};

const EXAMPLE = 'bearinmind store "Deploys run on Fridays."';

const newest = ({ memories }) =>
  memories.length
    ? [
      make("h2", {}, "The newest"),
      make("ol", { class: "cards" }, memories.map((memory) => card(memory))),
      make("p", {}, make("a", { href: place("memories") }, "All memories")),
    ]
    : [notice("There are no memories yet", [["Store one: ", make("code", {}, EXAMPLE)]])];

const opening = async (signal) => {
  const [counts, page] = await Promise.all([
    server.counts(signal), server.list({ limit: NEWEST }, signal),
  ]);
  return {
    title: "Recall",
    nodes: newest(page),
    said: `${many(counts.live, "memory", "memories")} can be recalled.`,
  };
};

export const show = async ({ fields, signal }) => {
  if (!fields.get("q")?.trim()) return opening(signal);
  const answer = await server.recall(question(fields), signal);
  const text = fields.get("q").trim();
  const held = answer.hits.length ? many(answer.hits.length, "memory", "memories") : "no memory";
  const lacking = answer.degraded.length ? ", but something is missing" : "";
  return {
    title: make("span", { class: "unseen" }, "Recall: ", foreign(text)), // the box shows it
    nodes: [answered(answer, fields)],
    said: `${held} recalled${lacking}`,
  };
};
