// What waits for a decision, what was decided, and deciding.

import { idLink, marks, when } from "./cards.js";
import { between, foreign, make } from "./elements.js";
import { notice, trouble } from "./notices.js";
import { place } from "./places.js";
import * as server from "./server.js";
import { many } from "./wording.js";

const OPEN = ["open"];
const DECIDED = ["applied", "dismissed", "undone"];
const APPLY = { verb: "apply" };
const DISMISS = { verb: "dismiss" };
const UNDO = { verb: "undo" };
/** What can be said of two memories that may be states of one thing. */
const RESOLUTIONS = {
  newer: "The first holds now, the second is outdated",
  older: "The second holds, the first is outdated",
  both: "Both hold",
  merge: "The first is served in place of the second",
};

/** The decisions that a proposal lets one make. */
const decisions = ({ kind, state, undo }) => {
  if (state === "applied" || (state === "dismissed" && undo.resolution)) return [UNDO];
  if (state !== "open") return [];
  if (kind !== "outdate") return [APPLY, DISMISS];
  return Object.entries(RESOLUTIONS).map(([resolution, title]) => ({
    ...APPLY, label: resolution, title, words: { resolution },
  }));
};

/** What would be written: a new text, or the fields that change. */
const change = (fields) => {
  const { content, ...others } = fields;
  const told = Object.entries(others).filter(([, value]) => value !== null && value !== "");
  return [
    content ? foreign(content, "p", { class: "content" }) : null,
    told.length
      ? make("p", { class: "change" }, between(told.map(([name, value]) =>
          foreign(`${name.replaceAll("_", " ")}: ${[value].flat().join(", ")}`)), " · "))
      : null,
  ];
};

const buttons = (proposal, decide) =>
  make("p", { class: "decide" }, decisions(proposal).map((decision) => {
    const label = decision.label ?? decision.verb;
    return make("button", {
      type: "button",
      title: decision.title,
      "aria-label": `${label} ${proposal.id}`,
      click: (event) => decide(proposal, decision, event.target.closest(".card")),
    }, label);
  }));

/** A memory that a proposal is about; one that is gone has its id alone. */
const about = (id, memory) =>
  make("li", {},
    idLink(id),
    memory ? [" ", marks(memory), " ", foreign(memory.content), " · ", when(memory.created_at)] : null);

const card = (proposal, memories, decide) =>
  make("li", { class: "card", "data-proposal": proposal.id },
    make("p", { class: "headline" },
      make("strong", {}, proposal.kind),
      make("span", { class: "id", tabindex: "-1", "data-item": proposal.id }, proposal.id),
      proposal.state === "open" ? null : make("span", { class: "mark" }, proposal.state)),
    foreign(proposal.reason, "p"),
    change(proposal.change),
    proposal.memories.length
      ? make("ol", { class: "about" }, proposal.memories.map((id) => about(id, memories.get(id))))
      : null,
    make("p", { class: "metadata" }, foreign(proposal.origin), " · ", when(proposal.created_at)),
    buttons(proposal, decide));

/** Decides on one proposal and shows what became of it, in its place. */
const decideWith = (memories) => async function decide(proposal, { verb, words }, shown) {
  for (const button of shown.querySelectorAll("button")) button.disabled = true;
  const status = document.getElementById("status");
  shown.querySelector(".trouble")?.remove();
  try {
    const decided = await server.decide(proposal.id, verb, words);
    const next = card(decided, memories, decide);
    shown.replaceWith(next);
    next.querySelector("[data-item]").focus();
    status.textContent = `${proposal.id} is ${decided.state}`;
  } catch (problem) {
    if (!(problem instanceof server.Problem)) throw problem;
    for (const button of shown.querySelectorAll("button")) button.disabled = false;
    shown.append(trouble(problem));
    status.textContent = [problem.message, problem.hint].filter(Boolean).join(" ");
  }
};

const NOTHING = {
  open: notice("Nothing waits for a decision", [
    "What turns taught and what could be tidied up is proposed here.",
  ]),
  decided: notice("Nothing was decided yet", ["What is applied can be undone here."]),
};

export const show = async ({ fields, signal }) => {
  const decided = fields.get("show") === "decided";
  const answer = await server.proposals(decided ? DECIDED : OPEN, signal);
  const { proposals } = answer;
  const memories = new Map(answer.memories.map((memory) => [memory.id, memory]));
  const decide = decideWith(memories);
  const other = decided
    ? make("a", { href: place("inbox") }, "What waits")
    : make("a", { href: place("inbox", { show: "decided" }) }, "What was decided");
  return {
    title: decided ? "Decided" : "Inbox",
    nodes: [
      make("p", {}, other),
      proposals.length
        ? make("ol", { class: "cards" }, proposals.map((each) => card(each, memories, decide)))
        : NOTHING[decided ? "decided" : "open"],
    ],
    said: many(proposals.length, "proposal"),
  };
};
