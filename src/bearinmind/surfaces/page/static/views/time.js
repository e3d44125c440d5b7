// Time: when memories were made, in which sessions, and how a thing changed.

import * as api from "../api.js";
import { Chart, PALETTE } from "../parts/chart.js";
import { html, useEffect, useMemo, useState } from "../parts/lib.js";
import { useLoad } from "../parts/load.js";
import { Notice, Trouble } from "../parts/notice.js";
import { go, ofMemory, place, replace } from "../parts/router.js";
import { asOf, counts, isTimeOpen, lookAt, status } from "../parts/state.js";
import { Foreign, When } from "../parts/text.js";
import { day, many } from "../parts/words.js";

const DAYS = { day: 1, week: 7, month: 30.44 };
const MOST_BARS = 90;
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "2-digit", timeZone: "UTC" });
const MOST_CATEGORIES = 7; // the others are one series

/** The smallest bucket with which the whole store fits into a chart. */
const bucketFor = (oldest) => {
  const days = (Date.now() - new Date(oldest ?? Date.now()).getTime()) / 86_400_000;
  return Object.keys(DAYS).find((bucket) => days / DAYS[bucket] <= MOST_BARS) ?? "month";
};

/** Whether a moment is not after the one that is looked at. */
const isKnown = (moment) => !asOf.value || new Date(moment) <= new Date(asOf.value);

// ---- density --------------------------------------------------------------------------------

/** The categories with the most memories, and "other". */
const categoriesOf = (spans) => {
  const totals = new Map();
  for (const { categories } of spans) {
    for (const [name, count] of Object.entries(categories)) totals.set(name, (totals.get(name) ?? 0) + count);
  }
  const names = [...totals].sort(([, one], [, other]) => other - one).map(([name]) => name);
  return { names: names.slice(0, MOST_CATEGORIES), totals };
};

/** Stacked series: each category with all that are drawn below it. */
const stacked = (spans, names) => {
  const shares = spans.map(({ memories, categories }) => {
    const named = names.map((name) => categories[name] ?? 0);
    return [...named, memories - named.reduce((sum, count) => sum + count, 0)];
  });
  const sums = names.concat("other").map((_, at) => shares.map((row) => row.slice(0, at + 1).reduce((sum, count) => sum + count, 0)));
  return [spans.map(({ start }) => new Date(start).getTime() / 1000), ...sums.reverse()];
};

const Density = ({ bucket, onBucket }) => {
  const { value, problem } = useLoad((signal) => api.density({ bucket }, signal), [bucket]);
  const spans = useMemo(() => (value?.spans ?? []).filter(({ start }) => isKnown(start)), [value, asOf.value]);
  const { names, totals } = useMemo(() => categoriesOf(spans), [spans]);
  const data = useMemo(() => stacked(spans, names), [spans]);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!value) return null;
  if (!spans.length) return html`<${Notice} title="Nothing was remembered yet" />`;
  const series = [...names, "other"].map((name, at) => ({ name, colour: PALETTE[at] })).reverse();
  const half = DAYS[bucket] * 43_200; // seconds: the first and the last bar are whole
  const options = (uPlot) => ({
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { range: (_, first, last) => [first - half, last + half] }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
    axes: [{ space: 90, values: (_, ticks) => ticks.map((tick) => DATE.format(tick * 1000)) }, { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000, 50000] }],
    series: [{}, ...series.map(({ name, colour }) => ({
      label: name, stroke: colour, fill: colour, width: 0, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.85, 60] }),
    }))],
    hooks: { ready: [(chart) => chart.over.addEventListener("click", () => {
      const span = spans[chart.cursor.idx];
      if (!span) return;
      const end = new Date(new Date(span.start).getTime() + DAYS[bucket] * 86_400_000);
      go(place("memories", { since: span.start, until: end.toISOString(), state: "all" }));
    })] },
  });
  const total = spans.reduce((sum, { memories }) => sum + memories, 0);
  return html`
    <section class="panel" aria-label="When memories were made">
      <div class="spread"><h2>When memories were made</h2>
        <div class="chips" role="group" aria-label="Size of a bar">${Object.keys(DAYS).map((each) => html`
          <button key=${each} type="button" class=${`chip ${each === bucket ? "on" : ""}`} aria-pressed=${each === bucket} onClick=${() => onBucket(each)}>by ${each}</button>`)}</div></div>
      <${Chart} options=${options} data=${data} label=${`${many(total, "memory", "memories")} over time`} />
      <div class="legend">${[...names.map((name, at) => [name, totals.get(name), PALETTE[at]]),
        ...(total > names.reduce((sum, name) => sum + totals.get(name), 0) ? [["other", "", PALETTE[names.length]]] : [])].map(([name, count, colour]) => html`
        <a key=${name} class="chip" href=${place("memories", name === "other" ? {} : { category: name })}><span class="dot" style=${{ background: colour }}></span><${Foreign} text=${name} /> ${count.toLocaleString("en")}</a>`)}</div>
      <details><summary>The same as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Memories over time">
        <table><thead><tr><th scope="col">from</th><th scope="col">memories</th></tr></thead>
          <tbody>${spans.slice(-MOST_BARS).map(({ start, memories }) => html`<tr key=${start}><th scope="row">${day(start)}</th><td>${memories.toLocaleString("en")}</td></tr>`)}</tbody></table></div></details>
    </section>`;
};

// ---- sessions -------------------------------------------------------------------------------

const Sessions = () => {
  const { value } = useLoad((signal) => api.sessions(30, signal));
  const sessions = (value?.sessions ?? []).filter(({ first }) => isKnown(first));
  if (!sessions.length) return null;
  return html`
    <section class="stack" aria-label="Sessions of agents"><h2>Sessions of agents</h2>
      <ul class="sessions">${sessions.map((each) => html`
        <li key=${each.session} class="panel"><p><a dir="auto" href=${place("memories", { session: each.session, state: "all" })}>${each.session}</a></p>
          <p class="metadata"><span>${many(each.memories, "memory", "memories")}</span>${each.project && html`<${Foreign} text=${each.project} />`}${each.agent && html`<${Foreign} text=${each.agent} />`}<${When} at=${each.last} /></p></li>`)}</ul>
    </section>`;
};

// ---- the history of a thing -----------------------------------------------------------------

/** Only what was known at the moment that is looked at. */
const knownThen = (chain) => chain.filter(({ memory }) => isKnown(memory.created_at));

const span = ({ since, until }) => {
  if (until) return since ? `${day(since)} to ${day(until)}` : `until ${day(until)}`;
  return since ? `since ${day(since)}` : "now";
};

export const Chain = ({ states }) => html`
  <ol class="spans">${states.map((state) => {
    const until = asOf.value && state.until && new Date(state.until) > new Date(asOf.value) ? null : state.until;
    return html`
      <li key=${state.memory.id} class=${until ? "" : "holds"}>
        <p class="span">${span({ ...state, until })}</p>
        <p><a class="content" dir="auto" data-item=${state.memory.id} href=${ofMemory(state.memory.id)}>${state.memory.content}</a></p></li>`;
  })}</ol>`;

const History = ({ thing }) => {
  const { value, problem } = useLoad((signal) => api.history(thing, 3, signal), [thing]);
  const chains = (value?.chains ?? []).map(knownThen).filter((chain) => chain.length);
  useEffect(() => {
    if (value) status.value = many(chains.length, "history", "histories");
  }, [value]);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!value) return null;
  if (!chains.length) return html`<${Notice} title="Nothing is known about it"><p>No memory says anything about <${Foreign} text=${thing} />.</p><//>`;
  return chains.map((chain, at) => html`<${Chain} key=${at} states=${chain} />`);
};

const AskHistory = ({ fields }) => {
  const thing = fields.get("thing") ?? "";
  const submit = (event) => {
    event.preventDefault();
    replace(place("time", { thing: new FormData(event.target).get("thing").trim() }));
  };
  return html`
    <section class="panel" aria-label="The history of a thing"><h2>How did a thing change?</h2>
      <form class="row" role="search" aria-label="History" onSubmit=${submit} autocomplete="off">
        <label class="field"><span>The thing</span><input name="thing" dir="auto" required key=${thing} defaultValue=${thing} placeholder="the orders cache" /></label>
        <button type="submit" class="primary">Show</button></form>
      ${thing && html`<${History} thing=${thing} />`}
    </section>`;
};

export const View = ({ fields }) => {
  const [bucket, setBucket] = useState(null);
  const chosen = bucket ?? bucketFor(counts.value?.oldest);
  useEffect(() => {
    isTimeOpen.value = true; // the slider belongs to this view
  }, []);
  return html`
    <div class="stack" aria-busy=${counts.value ? null : "true"}>
      <div class="spread"><h1 tabindex="-1">Time</h1>
        ${asOf.value
          ? html`<p>The page shows ${day(asOf.value)}. <button type="button" class="link" onClick=${() => lookAt(null)}>Back to now</button></p>`
          : html`<p class="faint">The slider above turns the whole page, recall and graph included, to what was known then.</p>`}</div>
      ${counts.value && html`<${Density} bucket=${chosen} onBucket=${setBucket} />`}
      <${AskHistory} fields=${fields} />
      <${Sessions} />
    </div>`;
};
