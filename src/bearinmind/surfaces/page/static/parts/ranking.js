// The ranks of each hit in every way of finding, after fusion and in the answer, as one picture.

import { html } from "./lib.js";
import { ofMemory } from "./router.js";
import { short } from "./words.js";

const COLUMN = 92;
const ROW = 24;
const HEAD = 30;
const GAP = 20; // above the ranks that lie deeper than the answer is long
const DOT = 9.5;
export const LEGS = { lexical: "words", dense: "meaning", graph: "connections", fused: "together", answer: "answer" };

/** The rank of a hit after fusion; one served in place of others stands where they stood. */
const fusedRank = (hit, fused) => {
  const ids = [hit.memory.id, ...hit.replaces];
  const places = ids.map((id) => fused.indexOf(id)).filter((place) => place >= 0);
  return places.length ? Math.min(...places) + 1 : null;
};

/** The name of each column, and the ranks of each hit in them; null where a leg has it not. */
const ranks = (answer) => {
  const legs = answer.trace.legs.map((leg) => leg.leg);
  const fused = answer.trace.fused.map((candidate) => candidate.id);
  return {
    columns: [...legs, "fused", "answer"],
    rows: answer.hits.map((hit) => [
      ...legs.map((leg) => hit.placings[leg]?.rank ?? null),
      fusedRank(hit, fused),
      hit.rank,
    ]),
  };
};

const nameOf = (column) => LEGS[column] ?? column;

/** A hit's ranks in words. */
const inWords = (hit, columns, row) => {
  const places = columns.map((name, column) => `${nameOf(name)} ${row[column] ?? "–"}`);
  return `${short(hit.memory.content, 80)}: ${places.join(", ")}`;
};

/** How far down a rank is drawn: as it is while it is in the answer's length, in order below. */
const depths = (rows, column) => {
  const deep = rows.map((row) => row[column]).filter((rank) => rank > rows.length);
  const order = deep.sort((one, other) => one - other);
  return (rank) => rank <= rows.length
    ? HEAD + (rank - 0.5) * ROW
    : HEAD + rows.length * ROW + GAP + (order.indexOf(rank) + 0.5) * ROW;
};

const points = (row, depth) =>
  row.flatMap((rank, column) =>
    rank === null ? [] : [{ rank, column, x: (column + 0.5) * COLUMN, y: depth[column](rank) }]);

/** From dot to dot; past a leg that has it not in a bow, so that it meets no other's dot there. */
const lines = (dots) =>
  dots.slice(1).map((to, place) => {
    const from = dots[place];
    const skips = to.column - from.column > 1;
    const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2 - (skips ? ROW : 0)];
    return html`<path d=${`M${from.x} ${from.y}Q${x} ${y} ${to.x} ${to.y}`} class=${skips ? "way skips" : "way"} />`;
  });

const dotted = ({ x, y, rank }) => html`
  <circle cx=${x} cy=${y} r=${DOT} /><text x=${x} y=${y + 4} class=${rank > 99 ? "rank long" : "rank"}>${rank}</text>`;

export const Ranking = ({ answer }) => {
  const { columns, rows } = ranks(answer);
  const depth = columns.map((_, column) => depths(rows, column));
  const dots = rows.map((row) => points(row, depth));
  const bottom = Math.max(HEAD + rows.length * ROW, ...dots.flat().map((dot) => dot.y + ROW / 2));
  const width = columns.length * COLUMN;
  const edge = HEAD + rows.length * ROW + GAP / 2;
  return html`
    <figure class="picture panel">
      <figcaption>Each line is a memory: its place by each way of finding, by all of them together, and in the answer.</figcaption>
      <svg viewBox=${`0 0 ${width} ${bottom + 4}`} role="group" aria-label="Places of each memory">
        ${columns.map((name, column) => html`<text x=${(column + 0.5) * COLUMN} y="16" class="head">${nameOf(name)}</text>`)}
        ${dots.flat().some((dot) => dot.rank > rows.length) && html`
          <line x1="4" x2=${width - 4} y1=${edge} y2=${edge} class="border" /><text x="4" y=${edge + 12} class="note">deeper</text>`}
        ${answer.hits.map((hit, place) => {
          const text = inWords(hit, columns, rows[place]);
          return html`<a class="hit" href=${ofMemory(hit.memory.id)} aria-label=${text}><title>${text}</title>
            ${lines(dots[place])}${dots[place].map(dotted)}</a>`;
        })}
      </svg>
    </figure>`;
};
