// A question and its answer.

import * as api from "../api.js";
import { Card } from "../parts/card.js";
import { Icon } from "../parts/icons.js";
import { takesFocus } from "../parts/keys.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../parts/lib.js";
import { useLoad } from "../parts/load.js";
import { Notice, Trouble } from "../parts/notice.js";
import { LEGS, Ranking } from "../parts/ranking.js";
import { Missing, WhyThis } from "../parts/reasons.js";
import { go, ofMemory, ofQuestion, place, replace } from "../parts/router.js";
import { asOf, counts, session, status } from "../parts/state.js";
import { Foreign } from "../parts/text.js";
import { UNLIKELY, day, many, parts, short, time } from "../parts/words.js";

const PAUSE = 450; // milliseconds without a key after which the answer is looked for
const SHORTEST = 3; // letters of a question that is answered while it is typed
const RECENT = "bearinmind.recent";
const MOST_RECENT = 8;
const NEWEST = 6;
const MOST_LEFT_OUT = 10; // memories whose text is shown
const LEAST = 3; // hits that are shown even if none of them is probable

// ---- recent questions -----------------------------------------------------------------------

const recent = () => {
  try {
    return JSON.parse(localStorage.getItem(RECENT)) ?? [];
  } catch {
    return [];
  }
};
const keep = (query) => {
  const all = [query, ...recent().filter((each) => each !== query)].slice(0, MOST_RECENT);
  localStorage.setItem(RECENT, JSON.stringify(all));
};

const Recent = () => {
  const [questions, setQuestions] = useState(recent());
  if (!questions.length) return null;
  const forget = () => {
    localStorage.removeItem(RECENT);
    setQuestions([]);
  };
  return html`
    <section class="stack narrow" aria-label="Recent questions">
      <div class="spread"><h2>Recent questions</h2><button type="button" class="link" onClick=${forget}>Forget them</button></div>
      <div class="chips">${questions.map((query) => html`<a key=${query} class="chip" dir="auto" href=${ofQuestion(query)}>${query}</a>`)}</div>
    </section>`;
};

// ---- filters --------------------------------------------------------------------------------

const FILTERS = ["category", "tags", "project", "since", "until", "limit"];
/** What a filter does, in words. */
const SAYS = {
  category: (value) => `only in ${parts(value).join(" or ")}`,
  tags: (value) => `only with ${parts(value).map((tag) => `#${tag}`).join(" and ")}`,
  project: (value) => `only of the project ${value}`,
  since: (value) => `only since ${value}`,
  until: (value) => `only until ${value}`,
  limit: (value) => `at most ${value}`,
};

const filtersOf = (fields) => Object.fromEntries(
  FILTERS.map((name) => [name, fields.get(name)]).filter(([, value]) => value));

/** A question as the server takes it. */
const questionOf = (fields) => {
  const limit = Number(fields.get("limit"));
  return {
    query: (fields.get("q") ?? "").trim(),
    categories: parts(fields.get("category")),
    tags: parts(fields.get("tags")),
    project: fields.get("project"),
    created_from: time(fields.get("since")),
    created_to: time(fields.get("until")),
    ...(limit ? { limit } : {}),
  };
};

const Filters = ({ filters, onChange }) => html`
  <div class="panel filters">
    <div class="fields">
      <label class="field"><span>Category</span>
        <select value=${filters.category ?? ""} onChange=${({ target }) => onChange({ category: target.value })}>
          <option value="">any</option>
          ${[...new Set([...Object.keys(counts.value?.categories ?? {}), filters.category].filter(Boolean))].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select></label>
      <label class="field"><span>Tags, all of these</span>
        <input value=${filters.tags ?? ""} list="tags" placeholder="a, b" onChange=${({ target }) => onChange({ tags: target.value })} />
        <datalist id="tags">${Object.keys(counts.value?.tags ?? {}).map((tag) => html`<option key=${tag} value=${tag} />`)}</datalist></label>
      <label class="field"><span>Project</span>
        <input value=${filters.project ?? ""} onChange=${({ target }) => onChange({ project: target.value })} /></label>
      <label class="field"><span>Since</span>
        <input value=${filters.since ?? ""} placeholder="2w or 2026-11-01" onChange=${({ target }) => onChange({ since: target.value })} /></label>
      <label class="field"><span>Until</span>
        <input value=${filters.until ?? ""} placeholder="now" onChange=${({ target }) => onChange({ until: target.value })} /></label>
      <label class="field"><span>At most</span>
        <input type="number" min="1" max="100" value=${filters.limit ?? ""} placeholder="10" onChange=${({ target }) => onChange({ limit: target.value })} /></label>
    </div>
  </div>`;

const Active = ({ filters, onChange }) => html`
  <div class="chips" role="group" aria-label="Filters in use">${Object.entries(filters).map(([name, value]) => html`
    <button key=${name} type="button" class="chip on" title="Take this filter away" onClick=${() => onChange({ [name]: "" })}>
      <${Foreign} text=${SAYS[name](value)} /><${Icon} name="close" /><span class="unseen">, take away</span></button>`)}</div>`;

const Ask = ({ fields }) => {
  const query = fields.get("q") ?? "";
  const filters = filtersOf(fields);
  const [text, setText] = useState(query);
  const [isOpen, setOpen] = useState(false);
  const timer = useRef(null);
  const asked = useRef(query); // by this field itself: what was typed meanwhile stays
  useEffect(() => { // another address has another question
    if (query !== asked.current) setText(query);
    asked.current = query;
  }, [query]);
  useLayoutEffect(() => {
    if (takesFocus()) document.getElementById("query").focus();
  }, []);
  const address = (words, others = {}) => place("recall", { q: words, ...filters, ...others });
  const type = ({ target }) => {
    setText(target.value);
    clearTimeout(timer.current);
    const words = target.value.trim();
    if (words.length < SHORTEST && words) return;
    timer.current = setTimeout(() => {
      asked.current = words;
      replace(address(words));
    }, PAUSE);
  };
  const submit = (event) => {
    event.preventDefault();
    clearTimeout(timer.current);
    const words = text.trim();
    if (words) keep(words);
    if (words === query.trim()) replace(address(words));
    else go(address(words));
  };
  const narrow = (others) => replace(address(text.trim(), others));
  return html`
    <form class="ask narrow" role="search" aria-label="Recall" autocomplete="off" onSubmit=${submit}>
      <div class="line">
        <label for="query" class="unseen">What do you want to recall?</label>
        <input id="query" name="q" type="search" dir="auto" placeholder="What do you want to recall?" maxlength="10000"
          spellcheck=${false} value=${text} onInput=${type} />
        <button type="button" class="icon-only" aria-label="Filters" aria-expanded=${isOpen} title="Filters"
          onClick=${() => setOpen(!isOpen)}><${Icon} name="filter" /></button>
        <button type="submit" class="primary" aria-label="Recall"><${Icon} name="recall" /><span>Recall</span></button>
      </div>
      ${Object.keys(filters).length > 0 && html`<${Active} filters=${filters} onChange=${narrow} />`}
      ${isOpen && html`<${Filters} filters=${filters} onChange=${narrow} />`}
    </form>`;
};

// ---- the answer -----------------------------------------------------------------------------

const Earlier = ({ earlier }) => html`
  <div class="earlier">${earlier.map(({ memory, outdated }) => html`
    <p key=${memory.id}><span class="faint">Until ${day(outdated.until)}: </span>
      <a class="content" dir="auto" href=${ofMemory(memory.id)}>${memory.content}</a></p>`)}</div>`;

/** The texts of some memories, by id, as far as they are known yet. */
const useTexts = (ids) => {
  const { value } = useLoad(async (signal) => {
    const answers = await Promise.allSettled(ids.map((id) => api.memory(id, signal)));
    return new Map(answers.flatMap(({ value: memory }) => (memory ? [[memory.id, memory.content]] : [])));
  }, [ids.join()]);
  return value ?? new Map();
};

/** The texts of what a memory replaced. */
const Replaced = ({ ids }) => {
  const shown = ids.slice(0, LEAST);
  const texts = useTexts(shown);
  return html`
    <div class="earlier">${shown.map((id) => html`
      <p key=${id}><span class="faint">Before: </span><a class="content" dir="auto" href=${ofMemory(id)}>${texts.get(id) ?? "an older memory"}</a></p>`)}</div>`;
};

const Beside = ({ hit }) => html`
  ${hit.earlier.length > 0 && html`<${Earlier} earlier=${hit.earlier} />`}
  ${hit.replaces.length > 0 && html`<${Replaced} ids=${hit.replaces} />`}
  ${hit.attached.map(({ id, content }) => html`
    <p key=${id} class="beside"><span class="faint">${id === hit.outdated?.by ? "Outdated" : "Resolved"} by: </span><a class="content" dir="auto" href=${ofMemory(id)}>${content}</a></p>`)}
  ${hit.pointers.map(({ id, line }) => html`
    <p key=${id} class="beside"><span class="faint">See also: </span><a class="content" dir="auto" href=${ofMemory(id)}>${line}</a></p>`)}`;

const Hit = ({ hit, legs, isBest = false, isSure = true }) => html`
  <${Card} memory=${hit.memory} mine=${session.value?.user ?? null}
    size=${isBest ? `best ${isSure ? "" : "is-perhaps"}` : ""}>
    <${Beside} hit=${hit} />
    <${WhyThis} hit=${hit} legs=${legs} />
  <//>`;

/** What the filters keep out of the answer: the same question without them. */
const Without = ({ question, fields, answer }) => {
  const isNarrow = Object.keys(filtersOf(fields)).some((name) => name !== "limit");
  const { value } = useLoad(async (signal) => (isNarrow ? api.recall({ query: question.query }, signal) : null),
    [JSON.stringify(question)]);
  if (!isNarrow || !value) return null;
  const shown = new Set(answer.hits.map((hit) => hit.memory.id));
  const more = value.hits.filter((hit) => !shown.has(hit.memory.id)).length;
  return html`
    <p class="faint">${more
      ? html`The filters keep out ${many(more, "memory that answers", "memories that answer")} the question. <a href=${ofQuestion(question.query)}>Show without filters</a>`
      : "Without the filters the answer would have nothing more."}</p>`;
};

/** The hits that are shown at once, and those that are folded away since they hardly answer. */
const folded = ({ hits, weak }) => {
  const probable = hits.filter((hit) => hit.probability >= UNLIKELY);
  const shown = probable.length ? probable : hits.slice(0, LEAST);
  return { shown, guesses: [...hits.filter((hit) => !shown.includes(hit)), ...weak] };
};

const HEADS = { found: "The answer", perhaps: "Perhaps one of these", nothing: "Nothing relevant is stored" };

const Answer = ({ answer, question, fields }) => {
  const [isDrawn, setDrawn] = useState(false);
  const legs = answer.trace.legs.map((each) => each.leg);
  const { hits, verdict, degraded } = answer;
  const { shown, guesses } = folded(answer);
  const [best, ...others] = shown;
  useEffect(() => {
    status.value = hits.length ? `${many(hits.length, "memory", "memories")} recalled` : HEADS.nothing;
  }, [answer]);
  return html`
    <div class="stack narrow answer">
      ${degraded.length > 0 && html`<${Notice} kind="warn" title="Something is missing from this answer">${degraded.map((text) => html`<p key=${text}><${Foreign} text=${text} /></p>`)}<//>`}
      <div class="answer-line"><h2>${hits.length ? HEADS[verdict] : HEADS.nothing}${asOf.value ? `, as of ${day(asOf.value)}` : ""}</h2>
        <label class="check"><input type="checkbox" checked=${isDrawn} onChange=${() => setDrawn(!isDrawn)} />Show the ranking</label></div>
      ${!best && html`<${Notice} title="No memory answers this"><p>What there is has hardly anything to do with the question.</p><//>`}
      ${best && html`<ol class="cards" aria-label="Answers">
        <${Hit} key=${best.memory.id} hit=${best} legs=${legs} isBest=${true} isSure=${verdict === "found"} />
        ${others.map((hit) => html`<${Hit} key=${hit.memory.id} hit=${hit} legs=${legs} />`)}</ol>`}
      ${isDrawn && hits.length > 0 && html`<${Ranking} answer=${answer} />`}
      ${isDrawn && html`<${How} answer=${answer} />`}
      <${Without} question=${question} fields=${fields} answer=${answer} />
      ${guesses.length > 0 && html`
        <details class="weak"><summary>${many(guesses.length, "weaker guess", "weaker guesses")}</summary>
          <ol class="cards">${guesses.map((hit) => html`<${Hit} key=${hit.memory.id} hit=${hit} legs=${legs} />`)}</ol></details>`}
      <${Missing} key=${question.query} question=${question} />
    </div>`;
};

/** What was found and left out, with the reason. */
const LeftOut = ({ dropped }) => {
  const shown = dropped.slice(0, MOST_LEFT_OUT);
  const texts = useTexts(shown.map(({ id }) => id));
  return html`
    <ul class="linked">${shown.map(({ id, reason }) => html`
      <li key=${id}><div><a class="content" dir="auto" href=${ofMemory(id)}>${short(texts.get(id) ?? id, 120)}</a><br />
        <span class="faint"><${Foreign} text=${reason.text} /></span></div></li>`)}</ul>
    ${dropped.length > shown.length && html`<p class="faint">and ${many(dropped.length - shown.length, "more", "more")}</p>`}`;
};

const How = ({ answer: { trace } }) => {
  const [isOpen, setOpen] = useState(false);
  return html`
  <details class="how" onToggle=${({ target }) => setOpen(target.open)}><summary>How long it took, and what was left out</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="Ways of finding">
      <table><thead><tr><th scope="col">way</th><th scope="col">candidates</th><th scope="col">took</th><th scope="col">note</th></tr></thead>
        <tbody>${trace.legs.map(({ leg, found, milliseconds, error, partial, detail }) => html`
          <tr key=${leg}><th scope="row">${LEGS[leg] ?? leg}</th><td>${found.toLocaleString("en")}</td><td>${milliseconds.toFixed(1)} ms</td>
            <td><${Foreign} text=${[error && `failed: ${error}`, partial, detail.off && `off: ${detail.off}`].filter(Boolean).join("; ")} /></td></tr>`)}</tbody></table></div>
    ${isOpen && trace.dropped.length > 0 && html`<${LeftOut} dropped=${trace.dropped} />`}
  </details>`;
};

const Opening = () => {
  const { value, problem, again } = useLoad((signal) => api.list({ limit: NEWEST }, signal));
  useEffect(() => {
    if (counts.value) status.value = `${many(counts.value.live, "memory", "memories")} can be recalled.`;
  }, [counts.value]);
  if (problem) return html`<${Trouble} problem=${problem} again=${again} />`;
  if (!value) return html`<div aria-busy="true"></div>`;
  return html`
    <${Recent} />
    <section class="stack narrow" aria-label="Newest memories">
      ${value.memories.length
        ? html`<div class="spread"><h2>Newest memories</h2><a href=${place("memories")}>All ${(counts.value?.live ?? "").toLocaleString("en")}</a></div>
          <ol class="cards">${value.memories.map((memory) => html`<${Card} key=${memory.id} memory=${memory} mine=${session.value?.user ?? null} />`)}</ol>`
        : html`<${Notice} title="There are no memories yet">
          <p>Press <b>New</b> to write the first one, or let an agent store what it learns.</p><//>`}
    </section>`;
};

const Result = ({ fields }) => {
  // Made once for an address: "1h" counts back from when it was asked.
  const question = useMemo(() => questionOf(fields), [fields.toString()]);
  const { value, problem, busy, again } = useLoad((signal) => api.recall(question, signal), [JSON.stringify(question)]);
  return html`
    <div aria-busy=${busy ? "true" : null}>
      ${problem && html`<${Trouble} problem=${problem} again=${again} />`}
      ${value && html`<${Answer} answer=${value} question=${question} fields=${fields} />`}
    </div>`;
};

export const View = ({ fields }) => {
  const isAsked = Boolean(fields.get("q")?.trim());
  return html`
    <div class="stack">
      ${isAsked
        ? html`<h1 class="unseen" tabindex="-1">Recall</h1>`
        : html`<div class="hero"><img src="/page/icon.svg" alt="" /><h1 tabindex="-1">What do you want to recall?</h1>
          <p class="faint">Ask in your own words. The answer comes from what was remembered, and says why.</p></div>`}
      <${Ask} fields=${fields} />
      ${isAsked ? html`<${Result} fields=${fields} />` : html`<${Opening} />`}
    </div>`;
};
