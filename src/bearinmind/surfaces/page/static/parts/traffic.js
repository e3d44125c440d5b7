// How often the server was asked: charts by minute for a day, by hour for 90 days.

import * as api from "../api.js";
import { Chart, PALETTE } from "./chart.js";
import { html, useMemo, useState } from "./lib.js";
import { useLoad } from "./load.js";
import { Trouble } from "./notice.js";
import { isAdmin } from "./state.js";
import { Foreign } from "./text.js";

const SPANS = { minute: "Last 24 hours", hour: "Last 90 days" };
const SECONDS = { minute: 60, hour: 3600 };
const KINDS = { requests: "Requests", recalls: "Recalls", stores: "New memories", errors: "Errors" };

/** Every step of the span, those without anything too: a line must not leap over them. */
const columns = ({ step, since, points }) => {
  const width = SECONDS[step];
  const first = Math.ceil(new Date(since).getTime() / 1000 / width) * width;
  const length = Math.max(1, Math.floor(Date.now() / 1000 / width) - first / width + 1);
  const times = Array.from({ length }, (_, place) => first + place * width);
  const rows = Object.keys(KINDS).map(() => new Array(length).fill(0));
  for (const point of points) {
    const place = (new Date(point.start).getTime() / 1000 - first) / width;
    Object.keys(KINDS).forEach((kind, row) => {
      if (place in rows[row]) rows[row][place] = point[kind];
    });
  }
  return { times, rows };
};

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

const Series = ({ name, counts, times, paint, step }) => {
  const data = useMemo(() => [times, counts], [times, counts]);
  const total = sum(counts).toLocaleString("en");
  const options = () => ({
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most)] } },
    axes: [{}, { size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000, 50000, 100000] }],
    series: [{}, { label: name, stroke: paint, fill: `${paint}33`, width: 1.5, points: { show: false } }],
  });
  return html`
    <figure class="panel"><figcaption class="spread"><h3>${name}</h3><b>${total}</b></figcaption>
      <${Chart} options=${options} data=${data} height=${150} label=${`${name}, by ${step}: ${total} in all, ${Math.max(...counts).toLocaleString("en")} in the busiest ${step}`} />
    </figure>`;
};

const Users = ({ users }) => html`
  <details><summary>Who asked how much</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="Who asked how much"><table>
      <thead><tr><th scope="col">User</th>${Object.values(KINDS).map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${users.map((user) => html`
        <tr key=${user.user}><th scope="row">${user.user ? html`<${Foreign} text=${user.user} />` : html`<i>nobody who was let in</i>`}</th>
          ${Object.keys(KINDS).map((kind) => html`<td>${user[kind].toLocaleString("en")}</td>`)}</tr>`)}</tbody>
    </table></div>
  </details>`;

export const Traffic = () => {
  const [step, setStep] = useState("minute");
  const path = isAdmin() ? "/traffic/all" : "/traffic";
  const { value, problem, again } = useLoad((signal) => api.get(path, { step }, signal), [step, path]);
  const { times, rows } = useMemo(() => (value ? columns(value) : { times: [], rows: [] }), [value]);
  return html`
    <section class="stack" aria-labelledby="traffic">
      <div class="spread"><h2 id="traffic">${isAdmin() ? "What everybody asked" : "What you asked"}</h2>
        <div class="chips" role="group" aria-label="Span of time">${Object.entries(SPANS).map(([each, words]) => html`
          <button key=${each} type="button" class=${each === step ? "chip on" : "chip"} aria-pressed=${each === step}
            onClick=${() => setStep(each)}>${words}</button>`)}
          <button type="button" class="chip" onClick=${again}>Refresh</button></div></div>
      ${problem && html`<${Trouble} problem=${problem} again=${again} />`}
      ${value && html`<div class="charts">${Object.values(KINDS).map((name, row) => html`
        <${Series} key=${name} name=${name} counts=${rows[row]} times=${times} paint=${PALETTE[row === 3 ? 4 : row]} step=${value.step} />`)}</div>`}
      ${value?.users?.length > 0 && html`<${Users} users=${value.users} />`}
    </section>`;
};
