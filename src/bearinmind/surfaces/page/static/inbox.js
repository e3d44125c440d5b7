// What waits for a decision, what was decided, and deciding.

import { idLink, when } from "./cards.js";
import { between, foreign, make } from "./elements.js";
import { notice, trouble } from "./notices.js";
import { place } from "./places.js";
import * as server from "./server.js";
import { many } from "./wording.js";

const OPEN = ["open"];
const DECIDED = ["applied", "dismissed", "undone"];
const VERBS = { open: ["apply", "dismiss"], applied: ["undo"] };
const DONE = { apply: "applied", dismiss: "dismissed", undo: "undone" };

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
  make("p", { class: "decide" }, (VERBS[proposal.state] ?? []).map((verb) =>
    make("button", {
      type: "button",
      "aria-label": `${verb} ${proposal.id}`,
      click: (event) => decide(proposal, verb, event.target.closest(".card")),
    }, verb)));

const card = (proposal, decide) =>
  make("li", { class: "card", "data-proposal": proposal.id },
    make("p", { class: "headline" },
      make("strong", {}, proposal.kind),
      make("span", { class: "id", tabindex: "-1", "data-item": proposal.id }, proposal.id),
      proposal.state === "open" ? null : make("span", { class: "mark" }, proposal.state)),
    foreign(proposal.reason, "p"),
    change(proposal.change),
    proposal.memories.length
      ? make("p", {}, "about ", between(proposal.memories.map((id) => idLink(id)), ", "))
      : null,
    make("p", { class: "metadata" }, foreign(proposal.origin), " · ", when(proposal.created_at)),
    buttons(proposal, decide));

/** Decides on one proposal and shows what became of it, in its place. */
const decide = async (proposal, verb, shown) => {
  for (const button of shown.querySelectorAll("button")) button.disabled = true;
  const status = document.getElementById("status");
  shown.querySelector(".trouble")?.remove();
  try {
    const decided = await server.decide(proposal.id, verb);
    const next = card(decided, decide);
    shown.replaceWith(next);
    next.querySelector("[data-item]").focus();
    status.textContent = `${proposal.id} is ${DONE[verb]}`;
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
  const { proposals } = await server.proposals(decided ? DECIDED : OPEN, signal);
  const other = decided
    ? make("a", { href: place("inbox") }, "What waits")
    : make("a", { href: place("inbox", { show: "decided" }) }, "What was decided");
  return {
    title: decided ? "Decided" : "Inbox",
    nodes: [
      make("p", {}, other),
      proposals.length
        ? make("ol", { class: "cards" }, proposals.map((each) => card(each, decide)))
        : NOTHING[decided ? "decided" : "open"],
    ],
    said: many(proposals.length, "proposal"),
  };
};
