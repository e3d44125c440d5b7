// The ranks of each hit in every leg, after fusion and in the answer, as one picture.

import { draw, make } from "./elements.js";
import { ofMemory } from "./places.js";

const COLUMN = 58;
const ROW = 24;
const HEAD = 30;
const GAP = 20; // above the ranks that lie deeper than the answer is long
const DOT = 9.5;

/** The rank of a hit after fusion; one served in place of others stands where they stood. */
const fusedRank = (hit, fused) => {
  const ids = [hit.memory.id, ...hit.replaces];
  const places = ids.map((id) => fused.indexOf(id)).filter((place) => place >= 0);
  return places.length ? Math.min(...places) + 1 : null;
};

/** The name of each column, and the ranks of each hit in them; null where a leg has it not. */
export const ranks = (answer) => {
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

/** A hit's ranks in words. */
export const told = (hit, columns, row) => {
  const places = columns.map((name, column) => `${name} ${row[column] ?? "not found"}`);
  return `${hit.memory.id}: ${places.join(", ")}`;
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
    const path = `M${from.x} ${from.y}Q${x} ${y} ${to.x} ${to.y}`;
    return draw("path", { d: path, class: skips ? "way skips" : "way" });
  });

const dotted = ({ x, y, rank }) => [
  draw("circle", { cx: x, cy: y, r: DOT }),
  draw("text", { x, y: y + 4, class: rank > 99 ? "rank long" : "rank" }, String(rank)),
];

const border = (rows, width) => {
  const y = HEAD + rows.length * ROW + GAP / 2;
  return [
    draw("line", { x1: 4, x2: width - 4, y1: y, y2: y, class: "border" }),
    draw("text", { x: 4, y: y + 12, class: "note" }, "deeper"),
  ];
};

/** The picture. `chosen` marks a hit in it by its place, or none; what it says is below. */
export const picture = (answer) => {
  const { columns, rows } = ranks(answer);
  const depth = columns.map((_, column) => depths(rows, column));
  const dots = rows.map((row) => points(row, depth));
  const bottom = Math.max(HEAD + rows.length * ROW, ...dots.flat().map((dot) => dot.y + ROW / 2));
  const width = columns.length * COLUMN;
  const says = make("p", { class: "says" });
  const hits = answer.hits.map((hit, place) => {
    const text = told(hit, columns, rows[place]);
    return draw("a", {
      class: "hit", href: ofMemory(hit.memory.id), "aria-label": text, "data-hit": hit.memory.id,
    }, draw("title", {}, text), lines(dots[place]), dots[place].map(dotted));
  });
  const chosen = (place) => {
    hits.forEach((hit, each) => hit.classList.toggle("chosen", each === place));
    says.textContent = place < 0
      ? "Each line is a memory: its rank in every leg, after fusion, and in the answer."
      : told(answer.hits[place], columns, rows[place]);
  };
  hits.forEach((hit, place) => {
    for (const event of ["focus", "pointerenter"]) hit.addEventListener(event, () => chosen(place));
    for (const event of ["blur", "pointerleave"]) hit.addEventListener(event, () => chosen(-1));
  });
  chosen(-1);
  const drawing = draw("svg", {
    viewBox: `0 0 ${width} ${bottom + 4}`, role: "group", "aria-label": "Ranks of each memory",
  },
  columns.map((name, column) =>
    draw("text", { x: (column + 0.5) * COLUMN, y: 16, class: "head" }, name)),
  dots.flat().some((dot) => dot.rank > rows.length) ? border(rows, width) : [],
  hits);
  const figure = make("figure", { class: "picture" },
    make("h2", {}, "How it was ranked"), drawing, make("figcaption", {}, says));
  return { figure, chosen };
};
