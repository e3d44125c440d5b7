// What waits for a decision, what was decided, and deciding; everything can be undone.

import * as api from "../api.js";
import { Marks } from "../parts/card.js";
import { Side } from "../parts/diff.js";
import { Icon } from "../parts/icons.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../parts/lib.js";
import { useLoad } from "../parts/load.js";
import { Notice, Trouble } from "../parts/notice.js";
import { ofMemory, place } from "../parts/router.js";
import { asOf, changed, mayChange, status } from "../parts/state.js";
import { Foreign, When } from "../parts/text.js";
import { day, many, percent } from "../parts/words.js";

const OPEN = ["open"];
const DECIDED = ["applied", "dismissed", "undone"];

/** By kind of proposal: what is asked, and what its two answers do. */
const KINDS = {
  store: ["Should this be remembered?", "Remember it", "Do not remember it"],
  supersede: ["These say the same. Keep only the newer one?", "Keep the newer", "Keep both"],
  update: ["Should this memory be changed?", "Change it", "Leave it"],
  link: ["Do these belong together?", "Link them", "Leave them"],
  unlink: ["Should this link be ended?", "End it", "Leave it"],
  outdate: ["Which of these is true now?"],
  expire: ["Is this still true?", "It is over", "Still true"],
  review: ["Please look at this", "Done", "Leave it"],
};
/** What can be said of a later and an earlier memory, in the words of every surface. */
const RESOLUTIONS = {
  newer: "The later one is true now",
  older: "The earlier one is still true",
  both: "Both are true",
  merge: "The later one says it all",
};
const BECAME = { applied: "done", dismissed: "left as it was", undone: "taken back" };

/** What was decided, in the words of the button that was pressed. */
const became = ({ kind, state, undo }) => {
  if (state === "undone") return "Taken back";
  if (undo?.resolution) return RESOLUTIONS[undo.resolution];
  const [, yes, no] = KINDS[kind] ?? [];
  return (state === "applied" ? yes : no) ?? BECAME[state];
};

/** The decisions that a proposal lets one make. */
const decisionsOn = ({ kind, state }) => {
  if (state === "applied" || state === "dismissed") return [{ verb: "undo", label: "Undo", text: "Take it back, to decide again" }];
  if (kind === "outdate") {
    return Object.entries(RESOLUTIONS).map(([resolution, text]) => ({
      verb: "apply", label: resolution.replace(/^./, (letter) => letter.toUpperCase()), text, body: { resolution },
    }));
  }
  const [, yes, no] = KINDS[kind] ?? ["", "Do it", "Leave it"];
  return [{ verb: "apply", label: yes }, { verb: "dismiss", label: no }];
};

const isPair = ({ kind, memories }) => memories.length === 2 && ["outdate", "supersede", "link", "unlink"].includes(kind);

const Memory = ({ id, memory, title, children = null }) => html`
  <div class="side">
    <p class="spread"><b>${title}</b>${memory && html`<span class="faint"><${When} at=${memory.created_at} /></span>`}</p>
    ${children ?? (memory ? html`<${Foreign} as="p" class="content" text=${memory.content} />` : html`<p class="faint">It is gone.</p>`)}
    <p class="metadata">${memory && html`<${Marks} memory=${memory} />`}<a href=${ofMemory(id)}>Open it <span class="id">${id}</span></a></p>
  </div>`;

/** Two memories side by side, the earlier one first, with the difference marked. */
const Pair = ({ proposal, memories }) => {
  const [later, earlier] = proposal.memories;
  const [young, old] = [memories.get(later), memories.get(earlier)];
  const shown = young && old;
  return html`
    <div class="sides">
      <${Memory} id=${earlier} memory=${old} title="Earlier">${shown && html`<${Side} before=${old.content} after=${young.content} side="removed" />`}<//>
      <${Memory} id=${later} memory=${young} title="Later">${shown && html`<${Side} before=${old.content} after=${young.content} side="added" />`}<//>
    </div>`;
};

const SHOWN = ["category", "tags", "project", "kind", "valid_to"]; // of a change; the others are in its memory afterwards

/** What would be written: a new text, or the fields that change. */
const Draft = ({ fields }) => {
  const { content } = fields;
  const told = SHOWN.map((name) => [name, [fields[name] ?? []].flat().join(", ")]).filter(([, value]) => value);
  if (!content && !told.length) return null;
  return html`
    <div class="side">
      ${content && html`<${Foreign} as="p" class="content" text=${content} />`}
      ${told.length > 0 && html`<p class="metadata">${told.map(([name, value]) => html`<${Foreign} key=${name} text=${`${name.replaceAll("_", " ")}: ${value}`} />`)}</p>`}
    </div>`;
};

const Proposal = ({ proposal, memories, onDecide, problem }) => {
  const decisions = mayChange() ? decisionsOn(proposal) : [];
  const [question] = KINDS[proposal.kind] ?? ["What about this?"];
  const sure = proposal.evidence?.probability;
  const press = (event) => {
    const decision = decisions[Number(event.key) - 1];
    if (!decision || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onDecide(proposal, decision);
  };
  return html`
    <li class="card proposal" data-proposal=${proposal.id} onKeyDown=${press}>
      <div class="spread"><h2 tabindex="-1" data-item=${proposal.id}>${question}</h2>
        ${proposal.state !== "open" && html`<span class="decided"><span class=${`mark ${proposal.state === "undone" ? "old" : "good"}`}>${became(proposal)}</span>
          ${proposal.decided_at && html` <span class="faint"><${When} at=${proposal.decided_at} /></span>`}</span>`}</div>
      ${isPair(proposal)
        ? html`<${Pair} proposal=${proposal} memories=${memories} />`
        : html`<${Draft} fields=${proposal.change} />
          ${proposal.memories.map((id) => html`<${Memory} key=${id} id=${id} memory=${memories.get(id)} title="A memory that it is about" />`)}`}
      ${decisions.length > 0 && html`
        <div class="decisions" role="group" aria-label=${question}>${decisions.map((decision, at) => html`
          <button key=${decision.label} type="button" onClick=${() => onDecide(proposal, decision)}>
            ${decision.label}${decision.text && html`<small>${decision.text}</small>`}<kbd aria-hidden="true">${at + 1}</kbd></button>`)}</div>`}
      ${problem && html`<${Trouble} problem=${problem} />`}
      <details><summary>Why this is asked</summary>
        <${Foreign} as="p" text=${proposal.reason} />
        <p class="metadata"><span>found by ${proposal.origin}</span>${sure !== undefined && html`<span>probability ${percent(sure)}</span>`}<${When} at=${proposal.created_at} /><span class="id">${proposal.id}</span></p>
      </details>
    </li>`;
};

const Proposals = ({ answer }) => {
  const [decided, setDecided] = useState(new Map()); // what became of each, in its place
  const [problems, setProblems] = useState(new Map());
  const last = useRef(null); // the proposal that was decided last
  const memories = new Map(answer.memories.map((memory) => [memory.id, memory]));
  const decide = async (proposal, { verb, body }) => {
    try {
      const next = await api.decide(proposal.id, verb, body);
      setDecided((before) => new Map(before).set(proposal.id, next));
      setProblems((before) => new Map([...before].filter(([id]) => id !== proposal.id)));
      last.current = verb === "undo" ? null : next;
      status.value = `Decided: ${became(next)}`;
      changed();
      focusNext(proposal.id, verb);
    } catch (problem) {
      if (!(problem instanceof api.Problem)) throw problem;
      setProblems((before) => new Map(before).set(proposal.id, problem));
      status.value = problem.message;
    }
  };
  useLayoutEffect(() => { // at once: a key that is pressed next counts
    const press = (event) => {
      if (event.key !== "u" || !last.current || document.querySelector("dialog[open]") || event.target.matches("input, textarea, select")) return;
      event.preventDefault();
      decide(last.current, { verb: "undo" });
    };
    document.addEventListener("keydown", press, true); // before the page takes back something else
    return () => document.removeEventListener("keydown", press, true);
  }, []);
  return html`
    <ol class="cards" aria-label="Proposals">${answer.proposals.map((each) => {
      const proposal = decided.get(each.id) ?? each;
      return html`<${Proposal} key=${each.id} proposal=${proposal} memories=${memories} onDecide=${decide} problem=${problems.get(each.id)} />`;
    })}</ol>`;
};

/** After a decision the next proposal that waits has the focus; after an undo the same one. */
const focusNext = (id, verb) => requestAnimationFrame(() => {
  const items = [...document.querySelectorAll("main [data-proposal]")];
  const here = items.findIndex((item) => item.dataset.proposal === id);
  const next = verb === "undo" ? items[here] : items[here + 1] ?? items[here];
  next?.querySelector("[data-item]").focus();
});

const NOTHING = {
  open: ["Nothing waits for a decision", "What turns of agents taught, and what could be tidied up, is asked here."],
  decided: ["Nothing was decided yet", "What is decided can be taken back here."],
};

export const View = ({ fields }) => {
  const show = fields.get("show") === "decided" ? "decided" : "open";
  // Read once for each visit: what is decided stays in its place until the view is left.
  const { value, problem, busy, again } = useLoad((signal) => api.proposals(show === "open" ? OPEN : DECIDED, signal), [show], { once: true });
  useEffect(() => {
    if (value) status.value = many(value.proposals.length, "proposal");
  }, [value]);
  return html`
    <div class="stack" aria-busy=${busy ? "true" : null}>
      <div class="spread"><h1 tabindex="-1">Inbox</h1>
        <nav class="chips" aria-label="Which proposals">
          <a class=${`chip ${show === "open" ? "on" : ""}`} aria-current=${show === "open" ? "page" : null} href=${place("inbox")}><${Icon} name="inbox" />Waiting</a>
          <a class=${`chip ${show === "decided" ? "on" : ""}`} aria-current=${show === "decided" ? "page" : null} href=${place("inbox", { show: "decided" })}><${Icon} name="check" />Decided</a></nav></div>
      ${problem && html`<${Trouble} problem=${problem} again=${again} />`}
      ${asOf.value && html`<${Notice} kind="warn" title="This is what waits now"><p>The rest of the page shows ${day(asOf.value)}. Go back to now to decide.</p><//>`}
      ${value && (value.proposals.length
        ? html`<p class="faint only-wide">Keys: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>1</kbd> to <kbd>4</kbd> decide, <kbd>u</kbd> takes the last decision back.</p>
          <${Proposals} key=${show} answer=${value} />`
        : html`<${Notice} title=${NOTHING[show][0]}><p>${NOTHING[show][1]}</p><//>`)}
    </div>`;
};
