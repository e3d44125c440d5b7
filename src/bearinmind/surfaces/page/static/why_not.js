// Why a memory is not in an answer, and what would have let it in.

import { question } from "./asking.js";
import { card } from "./cards.js";
import { facts, foreign, make, table } from "./elements.js";
import { place } from "./places.js";
import * as server from "./server.js";
import { number, percent } from "./wording.js";

const DASH = "–";

const rank = ({ rank: found, searched }) => {
  if (found !== null) return `${found.toLocaleString("en")} of ${searched.toLocaleString("en")}`;
  return searched ? `not among ${searched.toLocaleString("en")}` : "not found";
};

const position = (each) => [
  each.leg,
  rank(each),
  each.confidence === null ? DASH : percent(each.confidence),
  each.evidence === null ? DASH : number(each.evidence),
  foreign(each.note),
];

const positions = (answer) =>
  answer.positions.length
    ? table("Where each leg has it", ["leg", "rank", "sure", "evidence", ""],
      answer.positions.map(position))
    : null;

export const show = async ({ fields, signal }) => {
  const answer = await server.whyNot({ ...question(fields), id: fields.get("id") ?? "" }, signal);
  const memory = await server.memory(answer.id, signal);
  const asked = Object.fromEntries([...fields].filter(([name]) => name !== "id"));
  return {
    title: ["Why not ", make("span", { class: "id" }, answer.id), "?"],
    nodes: [
      make("p", {}, "Asked: ", foreign(fields.get("q"), "a", { href: place("recall", asked) })),
      make("div", { class: "verdict" }, facts([
        ["reason", foreign(answer.reason)],
        ["remedy", answer.remedy ? foreign(answer.remedy) : null],
      ])),
      positions(answer),
      make("ol", { class: "cards" }, card(memory)),
    ],
    heard: true,
    said: `${answer.reason}. ${answer.remedy ? `Remedy: ${answer.remedy}.` : ""}`,
  };
};
