// A hit: a memory, and what brought it here.

import { card, idLink } from "./cards.js";
import { between, foreign, make } from "./elements.js";
import { day, number, percent } from "./wording.js";

const probability = (value) =>
  make("span", { class: "probability", title: "how probable it is that this answers" },
    make("meter", { min: 0, max: 1, value, "aria-hidden": "true" }),
    ` ${percent(value)}`);

const placing = (leg, found) => {
  if (!found) return make("span", { title: "this leg did not find it" }, `${leg} –`);
  const { rank, score, confidence: sure, evidence } = found;
  const title = `score ${number(score)}, sure ${percent(sure)}, evidence ${number(evidence)}`;
  return make("span", { title }, `${leg} ${rank}`);
};

const factors = (hit) =>
  Object.entries(hit.factors).filter(([, value]) => value !== 1)
    .map(([name, value]) => make("span", {}, `${name.replaceAll("_", " ")} × ${number(value)}`));

const reranked = ({ reranked: read }) =>
  read ? [make("span", {}, `reranked ${read.before} → ${read.after}`)] : [];

const DOES = {
  subject: "is about it",
  name: "names it",
  tag: "is tagged with it",
  keyword: "has it as a keyword",
};

const step = ({ source, concept, role, target }, id) => {
  const named = (other) => (other === id ? "this memory" : idLink(other));
  const name = make("q", {}, foreign(concept));
  const whence = source === null
    ? ["the question names ", name, ", "]
    : ["via ", name, ": ", named(source), " mentions it, "];
  return make("span", {}, whence, named(target), ` ${DOES[role] ?? role}`);
};

/** A way through the concept graph in words. */
export const way = (path, id) => between(path.map((each) => step(each, id)), "; ");

const line = (name, ...content) =>
  make("p", { class: "beside" }, make("b", {}, name), " ", content);

const mention = (name, id, text) => line(name, idLink(id), " ", foreign(text));

const beside = ({ memory, earlier, path, replaces, attached, pointers }) => [
  ...earlier.map(({ memory: { id, content }, outdated: { until } }) =>
    mention(`until ${day(until)}`, id, content)),
  path.length ? line("by connection", way(path, memory.id)) : null,
  replaces.length ? line("in place of", between(replaces.map((id) => idLink(id)), ", ")) : null,
  ...attached.map(({ id, content }) => mention("resolved by", id, content)),
  ...pointers.map(({ id, kind, outgoing, line: text }) =>
    mention(outgoing ? `${kind} →` : `← ${kind}`, id, text)),
].filter(Boolean);

/** One hit of an answer. */
export const entry = (hit, legs) =>
  card(hit.memory, {
    lead: make("span", { class: "place" }, String(hit.rank)),
    more: [
      make("p", { class: "ranks" }, between([
        probability(hit.probability),
        ...legs.map((leg) => placing(leg, hit.placings[leg])),
        ...factors(hit),
        ...reranked(hit),
      ], " · ")),
      ...beside(hit),
    ],
  });
