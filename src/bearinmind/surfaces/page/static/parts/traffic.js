// How often the server was asked: it counts by minute for a day, and by hour for 90 days.

import * as api from "../api.js";
import { Chart, PALETTE } from "./chart.js";
import { html, useMemo, useState } from "./lib.js";
import { useLoad } from "./load.js";
import { Trouble } from "./notice.js";
import { isAdmin } from "./state.js";
import { Foreign } from "./text.js";

// `step` is what the server counts in, `width` what one bar stands for: more bars than pixels say nothing.
const SPANS = {
  hour: { words: "Last hour", step: "minute", width: 60, bars: 60, each: "minute" },
  day: { words: "Last 24 hours", step: "minute", width: 600, bars: 144, each: "ten minutes" },
  quarter: { words: "Last 90 days", step: "hour", width: 86_400, bars: 90, each: "day" },
};
const KINDS = { requests: "Requests", recalls: "Recalls", stores: "New memories", errors: "Errors" };
const FORMATS = { hour: { hour: "2-digit", minute: "2-digit" }, quarter: { day: "numeric", month: "short" } };

/** The bars of every kind; those without anything are there too. */
const barsOf = ({ width, bars }, points) => {
  const last = Math.floor(Date.now() / 1000 / width) * width;
  const first = last - (bars - 1) * width;
  const times = Array.from({ length: bars }, (_, place) => first + place * width);
  const rows = Object.keys(KINDS).map(() => new Array(bars).fill(0));
  for (const point of points) {
    const place = Math.floor((new Date(point.start).getTime() / 1000 - first) / width);
    Object.keys(KINDS).forEach((kind, row) => {
      if (place in rows[row]) rows[row][place] += point[kind];
    });
  }
  return { times, rows };
};

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

const Series = ({ name, counts, times, paint, span }) => {
  const data = useMemo(() => [times, counts], [times, counts]);
  const total = sum(counts).toLocaleString("en");
  const format = new Intl.DateTimeFormat("en-GB", FORMATS[span] ?? FORMATS.hour);
  const options = (uPlot) => ({
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most)] } },
    axes: [
      { values: (_, splits) => splits.map((second) => format.format(second * 1000)) },
      { size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000, 50000, 100000] },
    ],
    series: [{}, { label: name, stroke: paint, fill: paint, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.8, 30] }) }],
  });
  const most = Math.max(0, ...counts).toLocaleString("en");
  return html`
    <figure class="panel"><figcaption class="spread"><h3>${name}</h3><b>${total}</b></figcaption>
      <${Chart} options=${options} data=${data} height=${150} label=${`${name}, by ${SPANS[span].each}: ${total} in all, at most ${most}`} />
    </figure>`;
};

const Users = ({ users }) => html`
  <details><summary>Who asked how much</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="Who asked how much"><table>
      <thead><tr><th scope="col">User</th>${Object.values(KINDS).map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${users.map((user) => html`
        <tr key=${user.user}><th scope="row">${user.user ? html`<${Foreign} text=${user.user} />` : html`<i>nobody who was let in</i>`}</th>
          ${Object.keys(KINDS).map((kind) => html`<td data-head=${KINDS[kind]}>${user[kind].toLocaleString("en")}</td>`)}</tr>`)}</tbody>
    </table></div>
  </details>`;

export const Traffic = () => {
  const [span, setSpan] = useState("day");
  const path = isAdmin() ? "/traffic/all" : "/traffic";
  const { step } = SPANS[span];
  const { value, problem, again } = useLoad((signal) => api.get(path, { step }, signal), [step, path]);
  const { times, rows } = useMemo(() => barsOf(SPANS[span], value?.points ?? []), [value, span]);
  return html`
    <section class="stack" aria-labelledby="traffic">
      <div class="spread"><h2 id="traffic">${isAdmin() ? "What everybody asked" : "What you asked"}</h2>
        <div class="chips" role="group" aria-label="Span of time">${Object.entries(SPANS).map(([each, { words }]) => html`
          <button key=${each} type="button" class=${each === span ? "chip on" : "chip"} aria-pressed=${each === span}
            onClick=${() => setSpan(each)}>${words}</button>`)}
          <button type="button" class="chip" onClick=${again}>Refresh</button></div></div>
      ${problem && html`<${Trouble} problem=${problem} again=${again} />`}
      ${value && html`<div class="charts">${Object.values(KINDS).map((name, row) => html`
        <${Series} key=${`${name} ${span}`} name=${name} counts=${rows[row]} times=${times} paint=${PALETTE[row === 3 ? 4 : row]} span=${span} />`)}</div>`}
      ${value?.users?.length > 0 && html`<${Users} users=${value.users} />`}
    </section>`;
};
