// One memory: what is known about it, its past, its links, who sees it, what led to it.

import { card, idLink, marks, metadata, tagLinks, when } from "./cards.js";
import { changes } from "./changes.js";
import { between, facts, foreign, make } from "./elements.js";
import { place, said } from "./places.js";
import * as server from "./server.js";
import { number, read } from "./wording.js";

const LINKED = 10; // memories at the other ends of links whose text is shown too

const part = (title, ...nodes) =>
  make("section", { class: "part", "aria-label": title }, make("h2", {}, title), nodes);

const nothing = (text) => make("p", { class: "quiet" }, text);

const time = (value) => (value === null ? null : when(value));
const text = (value) => (value === null ? null : foreign(value));

const known = (memory) =>
  facts([
    ["id", make("span", { class: "id" }, memory.id)],
    ["owner", foreign(memory.owner)],
    ["category", foreign(memory.category)],
    ["tags", memory.tags.length ? make("span", {}, tagLinks(memory.tags)) : null],
    ["keywords", memory.keywords.length ? foreign(memory.keywords.join(", ")) : null],
    ["importance", number(memory.importance)],
    ["state", memory.state],
    ["created", time(memory.created_at)],
    ["updated", memory.version > 1 ? time(memory.updated_at) : null],
    ["deleted", time(memory.deleted_at)],
    ["valid from", time(memory.valid_from)],
    ["valid to", time(memory.valid_to)],
    ["agent", text(memory.provenance.agent)],
    ["session", text(memory.provenance.session)],
    ["project", text(memory.provenance.project)],
    ["source", text(memory.provenance.source)],
    ["trust", memory.provenance.trust],
    ["version", String(memory.version)],
  ]);

const first = (version) =>
  [foreign(version.content, "p", { class: "content" }), metadata(version)];

const version = (after, before) =>
  make("li", {},
    make("p", { class: "headline" },
      make("b", {}, `version ${after.version}`), when(after.updated_at)),
    before ? changes(before, after) : first(after));

const past = (memory) => {
  const versions = [...memory.earlier, memory];
  const nodes = versions.map((each, position) => version(each, versions[position - 1])).reverse();
  return part("History", memory.earlier.length
    ? make("ol", { class: "versions" }, nodes)
    : nothing("It was never changed."));
};

const other = (link, memory) => (link.source === memory.id ? link.target : link.source);

const linked = (link, memory, texts) => {
  const id = other(link, memory);
  const [own, far] = [make("span", {}, "this memory"), idLink(id)];
  const [source, target] = link.source === memory.id ? [own, far] : [far, own];
  return make("li", { class: link.removed_at ? "ended" : null },
    source, ` ${read(link)} `, target, link.removed_at ? [" until ", when(link.removed_at)] : null,
    texts.has(id) ? foreign(texts.get(id), "p", { class: "content" }) : null);
};

/** What the memories at the other ends of links say, as far as they can be read. */
const ends = async (memory, signal) => {
  const ids = [...new Set(memory.links.map((link) => other(link, memory)))].slice(0, LINKED);
  const answers = await Promise.allSettled(ids.map((id) => server.memory(id, signal)));
  return new Map(answers.flatMap(({ value }) => (value ? [[value.id, value.content]] : [])));
};

const links = async (memory, signal) => {
  const texts = await ends(memory, signal);
  return part("Links", memory.links.length
    ? make("ul", { class: "links" }, memory.links.map((link) => linked(link, memory, texts)))
    : nothing("It has none."));
};

const share = ({ reader, right, tag, created_at: since, ended_at: until }) =>
  make("li", { class: until ? "ended" : null },
    foreign(reader), right === "write" ? " may read and change it" : " may read it",
    tag ? [", as everything tagged ", foreign(tag)] : null,
    ", since ", when(since),
    until ? [", until ", when(until)] : null);

const shares = (memory, { given, got }) => {
  const found = [...given, ...got].filter(({ owner, memory: id, tag }) =>
    owner === memory.owner && (id === memory.id || memory.tags.includes(tag)));
  return part("Shares", found.length
    ? make("ul", {}, found.map(share))
    : nothing("Nobody else sees it."));
};

const step = ({ link, memory }) =>
  card(memory, { lead: make("span", { class: "place" }, link.kind) });

const why = async (memory, signal) => {
  const found = await server.why(memory.id, signal);
  const newer = found.superseded_by;
  const newest = between(newer.map(({ id }) => idLink(id)), ", ");
  return part("Why",
    newer.length ? make("p", {}, "Superseded by ", newest, ".") : null,
    found.steps.length
      ? make("ol", { class: "cards" }, found.steps.map(step))
      : nothing("Nothing is written down that led to it."));
};

const ask = (memory) => {
  const submit = (event) => {
    event.preventDefault();
    location.hash = place("why-not", { ...said(form), id: memory.id });
  };
  const form = make("form", { class: "line why-not", submit },
    make("label", { for: "asked" }, "Which question does not find it?"),
    make("input", { id: "asked", name: "q", required: true }),
    make("button", {}, "Why not?"));
  return form;
};

const sealed = (memory) =>
  memory.sensitive
    ? make("p", {}, "Its text is sealed. ", make("code", {}, `bearinmind secret get ${memory.id}`),
      " shows it to its owner.")
    : null;

/** What only its owner sees. */
const own = async (memory, signal) => {
  const waited = await Promise.all([links(memory, signal), why(memory, signal)]);
  return [past(memory), ...waited];
};

const anothers = ({ owner }) =>
  nothing(["Its history, its links and what led to it are seen by ", foreign(owner), " alone."]);

export const show = async ({ rest, signal }) => {
  const [memory, shared] = await Promise.all([server.memory(rest, signal), server.shares(signal)]);
  // Somebody else's memory is seen only because they share something.
  const isOwn = shared.got.every(({ owner }) => owner !== memory.owner);
  return {
    title: ["Memory ", make("span", { class: "id" }, memory.id)],
    nodes: [
      make("p", { class: "headline" }, marks(memory)),
      foreign(memory.content, "p", { class: "content whole" }),
      sealed(memory),
      known(memory),
      isOwn ? await own(memory, signal) : anothers(memory),
      shares(memory, shared),
      ask(memory),
    ],
    heard: true,
    said: `Memory ${memory.id}`,
  };
};
