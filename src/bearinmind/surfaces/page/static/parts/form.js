// The form in which a memory is written, changed, or replaced by a newer one.

import * as api from "../api.js";
import { Dialog } from "./dialog.js";
import { html, useId, useState } from "./lib.js";
import { attempt } from "./load.js";
import { Trouble } from "./notice.js";
import { go, ofMemory } from "./router.js";
import { changed, counts, tell } from "./state.js";
import { Foreign } from "./text.js";
import { parts, short } from "./words.js";

const LONGEST = 1_400; // characters of a memory
const CATEGORIES = ["facts", "preferences", "decisions", "people", "projects"]; // a server may have others

const dateOf = (iso) => (iso ? iso.slice(0, 10) : "");
const moment = (date) => (date ? `${date}T00:00:00Z` : null);

/** What the form says, as the server takes it. */
const fieldsOf = (form) => {
  const data = new FormData(form);
  return {
    content: data.get("content").trim(),
    category: data.get("category").trim(),
    tags: parts(data.get("tags")),
    keywords: parts(data.get("keywords")),
    importance: Number(data.get("importance")) / 100,
    sensitive: data.has("sensitive"),
    valid_from: moment(data.get("valid_from")),
    valid_to: moment(data.get("valid_to")),
  };
};

/** The fields that differ from a memory; a span that was taken away is said in a word. */
const changesTo = (memory, fields) => {
  const dates = ["valid_from", "valid_to"];
  const differs = ([name, value]) => dates.includes(name)
    ? dateOf(value) !== dateOf(memory[name])
    : JSON.stringify(value) !== JSON.stringify(memory[name]);
  const changes = Object.fromEntries(Object.entries(fields).filter(differs));
  if (dates.some((name) => changes[name] === null)) {
    const kept = dates.filter((name) => fields[name]).map((name) => [name, fields[name]]);
    for (const name of dates) delete changes[name];
    return { ...changes, always_valid: true, ...Object.fromEntries(kept) };
  }
  return changes;
};

/** What going back to a version brings back. */
export const kept = ({ content, category, tags, keywords, importance }) => ({ content, category, tags, keywords, importance });

/** Takes the content of a sealed memory out of what is sent unless it was written anew. */
const withoutSealed = (memory, fields) => {
  if (!memory?.sensitive || fields.content) return fields;
  const { content: _, ...others } = fields;
  return others;
};

const MayReplace = ({ offers, onClose }) => {
  const [open, setOpen] = useState(offers);
  const settle = async (offer, resolution) => {
    await attempt(() => api.resolve(offer.newer, resolution, offer.memory.id), "Decided.");
    const rest = open.filter((each) => each !== offer);
    setOpen(rest);
    if (!rest.length) onClose();
  };
  return html`
    <${Dialog} title="Is this still true?" onClose=${onClose}>
      <p>What you wrote may replace what was known.</p>
      <ul class="stack">${open.map((offer) => html`
        <li key=${offer.memory.id} class="side"><${Foreign} as="p" class="content" text=${offer.memory.content} />
          <div class="actions">
            <button type="button" class="primary" onClick=${() => settle(offer, "newer")}>No, the new one holds</button>
            <button type="button" onClick=${() => settle(offer, "both")}>Yes, both are true</button></div></li>`)}</ul>
    <//>`;
};

const save = async (memory, supersedes, fields) => {
  if (memory) {
    const changes = changesTo(memory, fields);
    if (!Object.keys(changes).length) return { memory };
    return { memory: await api.update(memory.id, changes, memory.version) };
  }
  return api.store({ ...fields, trust: "user", supersedes: supersedes ? [supersedes.id] : [] });
};

const done = (memory, supersedes, outcome) => {
  changed();
  if (memory) {
    const { version, ...now } = outcome.memory;
    const isWhole = !memory.sensitive && ["sensitive", "valid_from", "valid_to"].every((name) => now[name] === memory[name]);
    const undo = () => attempt(() => api.update(memory.id, kept(memory), version), "Undone.");
    tell("Changed. The version before is kept.", isWhole ? undo : null);
    return;
  }
  if (outcome.outcome === "already_known") tell("This is known already.");
  else tell(supersedes ? "Replaced." : "Remembered.", () => attempt(() => api.remove(outcome.memory.id), "Undone."));
  go(ofMemory(outcome.memory.id));
};

/** `memory` is changed, or `supersedes` is replaced; without either a new one is written. */
export const MemoryForm = ({ memory = null, supersedes = null, onClose }) => {
  const [length, setLength] = useState((memory ?? supersedes)?.content.length ?? 0);
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState(null);
  const base = useId();
  const from = memory ?? supersedes;
  const isSealed = Boolean(memory?.sensitive);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const answer = await save(memory, supersedes, withoutSealed(memory, fieldsOf(event.target)));
      done(memory, supersedes, answer);
      if (answer.may_replace?.length) setOutcome(answer);
      else onClose();
    } catch (error) {
      if (!(error instanceof api.Problem)) throw error;
      setProblem(error);
      setBusy(false);
    }
  };
  if (outcome) return html`<${MayReplace} offers=${outcome.may_replace} onClose=${onClose} />`;
  const title = memory ? "Edit the memory" : supersedes ? "Write what is true now" : "New memory";
  return html`
    <${Dialog} title=${title} onClose=${onClose} wide=${true}>
      <form class="form stack" onSubmit=${submit} autocomplete="off">
        ${supersedes && html`<p class="faint">It takes the place of: <${Foreign} text=${short(supersedes.content, 160)} /></p>`}
        <div class="field"><label for=${`${base}-content`}>${isSealed ? "New text (what is sealed stays unless you write one)" : "What should be remembered?"}</label>
          <textarea id=${`${base}-content`} name="content" dir="auto" rows="5" required=${!isSealed} maxlength="100000" autofocus
            placeholder="One short statement that makes sense by itself"
            onInput=${({ target }) => setLength(target.value.length)}>${isSealed ? "" : from?.content ?? ""}</textarea>
          <span class=${length > LONGEST ? "sure Perhaps" : "faint"}>${length.toLocaleString("en")} of ${LONGEST.toLocaleString("en")} characters</span></div>
        <div class="fields">
          <label class="field"><span>Category</span><input name="category" list=${`${base}-categories`} required value=${from?.category ?? "facts"} />
            <datalist id=${`${base}-categories`}>${[...new Set([...CATEGORIES, ...Object.keys(counts.value?.categories ?? {})])].map((name) => html`<option key=${name} value=${name} />`)}</datalist></label>
          <label class="field"><span>Tags, by comma</span><input name="tags" dir="auto" value=${from?.tags.join(", ") ?? ""} /></label>
          <label class="field"><span>Importance</span><input name="importance" type="range" min="0" max="100" step="5" value=${Math.round((from?.importance ?? 0.5) * 100)} /></label>
        </div>
        <details><summary>More</summary><div class="fields">
          <label class="field"><span>Other words to find it by</span><input name="keywords" dir="auto" value=${from?.keywords.join(", ") ?? ""} /></label>
          <label class="field"><span>True from</span><input name="valid_from" type="date" value=${dateOf(memory?.valid_from)} /></label>
          <label class="field"><span>True until</span><input name="valid_to" type="date" value=${dateOf(memory?.valid_to)} /></label>
          <label class="check"><input name="sensitive" type="checkbox" checked=${from?.sensitive ?? false} />It is a secret: seal its text</label>
        </div></details>
        ${problem && html`<${Trouble} problem=${problem} />`}
        <div class="actions">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="primary" disabled=${isBusy}>${memory ? "Save" : supersedes ? "Replace" : "Remember"}</button></div>
      </form>
    <//>`;
};
