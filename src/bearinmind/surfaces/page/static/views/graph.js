// The graph of what memories mention: looked around in, filtered, walked, and its names put right.

import * as api from "../api.js";
import { Icon } from "../parts/icons.js";
import { html, useEffect, useMemo, useRef, useState } from "../parts/lib.js";
import { attempt, useLoad } from "../parts/load.js";
import { COLOURS, network } from "../parts/network.js";
import { Notice, Trouble } from "../parts/notice.js";
import { ConceptPicker, MemoryPicker } from "../parts/picker.js";
import { go, ofConcept, ofMemory, place, replace } from "../parts/router.js";
import { asOf, mayChange, revision, status, theme } from "../parts/state.js";
import { Foreign } from "../parts/text.js";
import { day, many, short, time } from "../parts/words.js";
import { Chain } from "./time.js";

const FIRST = innerWidth < 700 ? 24 : 80; // concepts at the start: names are to be read on a phone too
const MORE = 40; // concepts that a step adds
const EACH = 3; // connections without a name that are drawn for each concept
const LISTED = 60; // things in the list beside the picture
const KINDS = Object.keys(COLOURS);

// ---- elements of the picture ----------------------------------------------------------------

const ofConceptNode = ({ name, label, kind, memories }) => ({
  id: `c:${name}`, name, label, short: short(label, 28), kind, memories,
});
const ofMemoryNode = (memory) => ({
  id: `m:${memory.id}`, memory: memory.id, label: memory.content, short: short(memory.content, 26), kind: "memory", memories: 0,
});
const ofRelation = ({ number, source, target, type }) => ({
  id: `r:${number}`, source: `c:${source}`, target: `c:${target}`, type: short(type, 24),
});
const ofTogether = ({ one, other, memories }) => ({
  id: `t:${one}|${other}`, source: `c:${one}`, target: `c:${other}`, weight: memories.length,
});
const mention = (id, name) => ({ id: `n:${id}|${name}`, source: `m:${id}`, target: `c:${name}` });

const EMPTY = { nodes: new Map(), edges: new Map() };

/** A picture with more in it; edges without both ends are left out. */
const joined = (picture, nodes, edges) => {
  const all = new Map([...picture.nodes, ...nodes.map((node) => [node.id, node])]);
  const lines = new Map([...picture.edges, ...edges.map((edge) => [edge.id, edge])]);
  return { nodes: all, edges: new Map([...lines].filter(([, { source, target }]) => all.has(source) && all.has(target))) };
};

const around = async (name, fields, limit, hops, signal) => {
  const { concepts, relations, together } = await api.subgraph(name, { ...fields, limit, hops }, signal);
  // Where everything is mentioned with everything, only the strongest of it can be seen.
  const strongest = together.sort((one, other) => other.memories.length - one.memories.length)
    .slice(0, EACH * concepts.length);
  return [concepts.map(ofConceptNode), [...strongest.map(ofTogether), ...relations.map(ofRelation)]];
};

/** What the address asks for: a concept, a memory, or the thing that most memories mention. */
const begin = async ({ about, memory }, fields, signal) => {
  if (memory) {
    const [card, whole] = await Promise.all([api.conceptsOf(memory, signal), api.memory(memory, signal)]);
    const concepts = Object.values(card.concepts).flat();
    return joined(EMPTY, [ofMemoryNode(whole), ...concepts.map(ofConceptNode)],
      [...concepts.map(({ name }) => mention(memory, name)), ...card.relations.map(ofRelation)]);
  }
  const name = about ?? (await api.hubs({ ...fields, limit: 1 }, signal)).concepts[0]?.name;
  if (!name) return EMPTY;
  return joined(EMPTY, ...(await around(name, fields, FIRST, about ? 1 : 2, signal)));
};

// ---- the panel beside it --------------------------------------------------------------------

const spanOf = ({ valid_from: from, valid_to: until, retracted_at: retracted }) => {
  if (retracted) return `no longer believed since ${day(retracted)}`;
  if (until) return from ? `${day(from)} to ${day(until)}` : `until ${day(until)}`;
  return from ? `since ${day(from)}` : "";
};

const Relations = ({ card }) => {
  const labels = new Map([card.concept, ...card.others].map(({ name, label }) => [name, label]));
  const named = (name) => html`<a dir="auto" href=${ofConcept(name)}>${labels.get(name) ?? name}</a>`;
  if (!card.relations.length) return null;
  return html`
    <h3>What is said of it</h3>
    <ul class="spans">${card.relations.map((relation) => html`
      <li key=${relation.number} class=${relation.valid_to || relation.retracted_at ? "" : "holds"}>
        ${named(relation.source)} <${Foreign} text=${relation.type} /> ${named(relation.target)}
        ${spanOf(relation) && html`<p class="span">${spanOf(relation)}</p>`}</li>`)}</ul>`;
};

/** What changed about a thing: the states of it that followed each other. */
const Changed = ({ label }) => {
  const { value } = useLoad((signal) => api.history(label, 2, signal), [label]);
  const chains = (value?.chains ?? []).filter((chain) => chain.length > 1);
  if (!chains.length) return null;
  return html`<h3>What changed</h3>${chains.map((chain, at) => html`<${Chain} key=${at} states=${chain} />`)}`;
};

const Names = ({ concept }) => {
  const [isOpen, setOpen] = useState(false);
  const merge = (other) => attempt(() => api.merge(concept.name, other.name),
    `${concept.label} and ${other.label} are one thing now.`, () => api.unmerge(concept.name))
    .then((done) => done && go(ofConcept(other.name)));
  const separate = (alias) => attempt(() => api.unmerge(alias), `${alias} is a thing of its own again.`,
    () => api.merge(alias, concept.name));
  return html`
    ${concept.aliases.length > 0 && html`
      <h3>Also called</h3>
      <ul class="linked">${concept.aliases.map((alias) => html`<li key=${alias}><div><${Foreign} text=${alias} /></div>
        ${mayChange() && html`<button type="button" onClick=${() => separate(alias)}>Separate</button>`}</li>`)}</ul>`}
    ${mayChange() && (isOpen
      ? html`<${ConceptPicker} label=${`${concept.label} is the same as`} except=${concept.name} onPick=${merge} focus=${true} />`
      : html`<button type="button" class="link" onClick=${() => setOpen(true)}>It is the same as another thing …</button>`)}`;
};

const ConceptPanel = ({ name, fields, onExpand, onMemories, onPath }) => {
  const { value: card, problem } = useLoad((signal) => api.concept(name, { ...fields, limit: 12 }, signal), [name, JSON.stringify(fields)]);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!card) return null;
  const { concept } = card;
  return html`
    <h2><${Foreign} text=${concept.label} /></h2>
    <p class="faint">${concept.kind}, in ${many(concept.memories, "memory", "memories")}</p>
    <div class="actions">
      <button type="button" onClick=${() => onExpand(name)}><${Icon} name="add" />Show more around it</button>
      <button type="button" onClick=${() => onMemories(name, card.memories)}><${Icon} name="memories" />Show its memories</button></div>
    <${Names} key=${name} concept=${concept} />
    <${ConceptPicker} key=${`to-${name}`} label="How is it connected to" except=${name} onPick=${(other) => onPath(name, other.name)} />
    <${Relations} card=${card} />
    <${Changed} label=${concept.label} />
    <h3>Memories</h3>
    <ul class="linked">${card.memories.map(({ id, content }) => html`<li key=${id}><div><a dir="auto" class="content" data-item=${id} href=${ofMemory(id)}>${short(content, 160)}</a></div></li>`)}</ul>`;
};

const MemoryPanel = ({ node }) => html`
  <h2>Memory</h2><${Foreign} as="p" class="content" text=${node.label} /><p><a href=${ofMemory(node.memory)}>Open it</a></p>`;

const Way = ({ path, onClose }) => {
  const labels = new Map([path.start, path.goal, ...path.concepts].map(({ name, label }) => [name, label]));
  const texts = new Map(path.memories.map(({ id, content }) => [id, content]));
  const bold = (name) => html`<b dir="auto">${labels.get(name) ?? name}</b>`;
  return html`
    <section class="panel" aria-label="Path"><div class="spread"><h2>From <${Foreign} text=${path.start.label} /> to <${Foreign} text=${path.goal.label} /></h2>
      <button type="button" class="quiet icon-only" aria-label="Close the path" onClick=${onClose}><${Icon} name="close" /></button></div>
      ${path.steps.length
        ? html`<ol class="spans">${path.steps.map(({ source, target, relations, memories }) => html`
          <li key=${target}>${bold(source)} ${relations.length
            ? html`<${Foreign} text=${relations[0].source === source ? relations[0].type : `(is what it ${relations[0].type})`} />`
            : "is mentioned together with"} ${bold(target)}
            ${memories.length > 0 && html`<p class="span"><a dir="auto" href=${ofMemory(memories[0])}>${short(texts.get(memories[0]) ?? memories[0], 120)}</a></p>`}</li>`)}</ol>`
        : html`<p>There is no way between them in four steps.</p>`}
    </section>`;
};

const Merges = () => {
  const { value } = useLoad((signal) => api.merges(signal));
  if (!value?.merges.length) return null;
  return html`
    <details><summary>${many(value.merges.length, "name that is", "names that are")} taken for another</summary>
      <ul class="linked">${value.merges.map(({ alias, into }) => html`
        <li key=${alias}><div><${Foreign} text=${alias} /> is <a dir="auto" href=${ofConcept(into)}>${into}</a></div>
          ${mayChange() && html`<button type="button" onClick=${() => attempt(() => api.unmerge(alias), "Separated.", () => api.merge(alias, into))}>Separate</button>`}</li>`)}</ul></details>`;
};

// ---- the view -------------------------------------------------------------------------------

const Legend = ({ picture, hidden, onToggle }) => {
  const present = KINDS.filter((kind) => [...picture.nodes.values()].some((node) => node.kind === kind));
  return html`
    <div class="legend" role="group" aria-label="Kinds of things">${present.map((kind) => html`
      <button key=${kind} type="button" class=${`chip ${hidden.has(kind) ? "" : "on"}`} aria-pressed=${!hidden.has(kind)} onClick=${() => onToggle(kind)}>
        <span class="dot" style=${{ background: COLOURS[kind] }}></span>${kind}</button>`)}</div>`;
};

const Things = ({ picture, hidden, chosen, onChoose }) => {
  const [words, setWords] = useState("");
  const all = [...picture.nodes.values()].filter(({ kind, label }) => !hidden.has(kind) && label.toLowerCase().includes(words.toLowerCase()))
    .sort((one, other) => other.memories - one.memories);
  return html`
    <details open><summary>Things in the picture</summary>
      ${all.length > 8 || words ? html`<label class="field"><span class="unseen">Find in the picture</span><input type="search" placeholder="Find in the picture" value=${words} onInput=${({ target }) => setWords(target.value)} /></label>` : null}
      <ul class="things">${all.slice(0, LISTED).map(({ id, label, memories }) => html`
        <li key=${id}><button type="button" aria-pressed=${id === chosen} onClick=${() => onChoose(id)}><${Foreign} text=${short(label, 60)} /><span class="faint">${memories || ""}</span></button></li>`)}</ul>
      ${all.length > LISTED && html`<p class="faint">and ${many(all.length - LISTED, "more", "more")}</p>`}</details>`;
};

const filterOf = (fields) => ({ created_from: time(fields.get("since")), created_to: time(fields.get("until")) });

export const View = ({ fields }) => {
  const holder = useRef(null);
  const drawing = useRef(null);
  const [picture, setPicture] = useState(EMPTY);
  const [chosen, setChosen] = useState(null);
  const [hidden, setHidden] = useState(new Set());
  const [path, setPath] = useState(null);
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(true);
  const [about, memory] = [fields.get("about"), fields.get("memory")];
  const filter = useMemo(() => filterOf(fields), [fields.toString()]);
  const guard = async (action) => {
    setProblem(null);
    try {
      await action();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof api.Problem)) throw error;
      setProblem(error);
      status.value = error.message;
    }
  };
  const show = (next, near = null) => {
    setPicture(next);
    drawing.current.show([...next.nodes.values()], [...next.edges.values()], near);
    status.value = `${many(next.nodes.size, "thing")} in the picture`;
  };
  const expand = (name) => guard(async () => show(joined(picture, ...(await around(name, filter, MORE, 1, null))), `c:${name}`));
  const open = useRef(null);
  open.current = (id) => id.startsWith("c:") ? expand(id.slice(2)) : go(ofMemory(id.slice(2)));
  const addMemories = (name, memories) => show(joined(picture, memories.map(ofMemoryNode), memories.map(({ id }) => mention(id, name))), `c:${name}`);
  const walk = (start, goal) => guard(async () => {
    const found = await api.path(start, goal, filter, null);
    const names = [start, ...found.steps.map((step) => step.target)];
    const edges = found.steps.flatMap(({ source, target, relations, memories }) => relations.length
      ? relations.map(ofRelation)
      : [ofTogether({ one: source < target ? source : target, other: source < target ? target : source, memories })]);
    show(joined(picture, [found.start, found.goal, ...found.concepts].map(ofConceptNode), edges), `c:${start}`);
    setPath({ ...found, marks: new Set([...names.map((name) => `c:${name}`), ...edges.map(({ id }) => id)]) });
  });
  useEffect(() => {
    drawing.current = network(holder.current, { onChoose: setChosen, onOpen: (id) => open.current(id) });
    return () => drawing.current.destroy();
  }, []);
  useEffect(() => {
    const running = new AbortController();
    setBusy(true);
    setPath(null);
    guard(async () => {
      const first = await begin({ about, memory }, filter, running.signal);
      show(first);
      setChosen(about ? `c:${about}` : memory ? `m:${memory}` : null);
    }).finally(() => running.signal.aborted || setBusy(false));
    return () => running.abort();
  }, [about, memory, asOf.value, revision.value, JSON.stringify(filter)]);
  useEffect(() => drawing.current.hide(({ kind }) => hidden.has(kind)), [hidden, picture]);
  useEffect(() => drawing.current.choose(chosen), [chosen, picture]);
  useEffect(() => drawing.current.mark(path?.marks ?? new Set()), [path, picture]);
  useEffect(() => drawing.current.restyle(), [theme.value]);
  const toggle = (kind) => {
    const next = new Set(hidden);
    if (!next.delete(kind)) next.add(kind);
    setHidden(next);
  };
  const narrow = (name) => ({ target }) => replace(place("graph", { ...Object.fromEntries(fields), [name]: target.value }));
  const node = picture.nodes.get(chosen);
  return html`
    <div class="stack" aria-busy=${isBusy ? "true" : null}>
      <div class="spread"><h1 tabindex="-1">Graph</h1><p class="faint">${many(picture.nodes.size, "thing")}, ${many(picture.edges.size, "connection")}</p></div>
      <div class="fields">
        <${ConceptPicker} label="Start from a thing" onPick=${({ name }) => go(ofConcept(name))} />
        <${MemoryPicker} label="Start from a memory" onPick=${({ id }) => go(place("graph", { memory: id }))} />
        <label class="field"><span>Only memories since</span><input value=${fields.get("since") ?? ""} placeholder="2w or 2026-11-01" onChange=${narrow("since")} /></label>
        <label class="field"><span>Only until</span><input value=${fields.get("until") ?? ""} placeholder="now" onChange=${narrow("until")} /></label>
      </div>
      ${problem && html`<${Trouble} problem=${problem} />`}
      ${!isBusy && !problem && !picture.nodes.size && html`<${Notice} title="The graph is empty"><p>It grows by itself as memories are read in the background.</p><//>`}
      <div class="explorer">
        <div class="stack">
          <div class="graph-canvas" role="img" aria-label=${`${many(picture.nodes.size, "thing")} and ${many(picture.edges.size, "connection")}; the list beside the picture has them too`}><div ref=${holder}></div></div>
          <div class="spread"><${Legend} picture=${picture} hidden=${hidden} onToggle=${toggle} />
            <button type="button" onClick=${() => drawing.current.fit()}>Show all of it</button></div>
          ${path && html`<${Way} path=${path} onClose=${() => setPath(null)} />`}
        </div>
        <aside class="stack" aria-label="About the chosen thing" tabindex="0">
          ${node && html`<div class="panel">${node.kind === "memory"
            ? html`<${MemoryPanel} node=${node} />`
            : html`<${ConceptPanel} name=${node.name} fields=${filter} onExpand=${expand} onMemories=${addMemories} onPath=${walk} />`}</div>`}
          ${!node && html`<p class="faint">Click on a thing to see what is known about it. Click twice to see more around it.</p>`}
          <div class="panel"><${Things} picture=${picture} hidden=${hidden} chosen=${chosen} onChoose=${setChosen} /><${Merges} /></div>
        </aside>
      </div>
    </div>`;
};
