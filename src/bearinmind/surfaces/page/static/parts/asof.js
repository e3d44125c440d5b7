// The moment at which the whole page looks: recall, lists, the graph and single memories.

import { html, useEffect, useState } from "./lib.js";
import { Icon } from "./icons.js";
import { asOf, counts, isTimeOpen, lookAt, status } from "./state.js";
import { day } from "./words.js";

const STEPS = 1_000; // places of the slider
const SHORT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const PAUSE = 250; // milliseconds after which a slider that was moved takes effect

export const AsOfButton = () => html`
  <button type="button" id="as-of-button" class=${asOf.value ? "then" : "quiet"} aria-expanded=${isTimeOpen.value}
    title="Look at what was known at another time" onClick=${() => { isTimeOpen.value = !isTimeOpen.value; }}>
    <${Icon} name="time" /><span>${asOf.value ? SHORT.format(new Date(asOf.value)) : "Now"}</span></button>`;

const dateOf = (iso) => iso.slice(0, 10);
/** The end of a day: what was known when it was over. */
const endOf = (date) => new Date(`${date}T23:59:59.999Z`);

export const AsOfBar = () => {
  const [place, setPlace] = useState(null); // of the slider while it moves
  const oldest = new Date(counts.value?.oldest ?? Date.now() - 86_400_000).getTime();
  const now = Date.now();
  const at = asOf.value ? new Date(asOf.value).getTime() : now;
  const shown = place ?? Math.round(((at - oldest) / Math.max(1, now - oldest)) * STEPS);
  useEffect(() => {
    if (place === null) return undefined;
    const timer = setTimeout(() => {
      const moment = new Date(oldest + ((now - oldest) * place) / STEPS);
      lookAt(place >= STEPS ? null : moment.toISOString());
      status.value = place >= STEPS ? "The page shows now." : `The page shows what was known on ${day(moment)}.`;
      setPlace(null);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [place]);
  if (!isTimeOpen.value && !asOf.value) return null;
  const moment = new Date(oldest + ((now - oldest) * shown) / STEPS);
  const choose = ({ target }) => {
    if (!target.value) return;
    const end = endOf(target.value);
    lookAt(end.getTime() >= Date.now() ? null : end.toISOString());
  };
  return html`
    <section class=${`as-of ${asOf.value ? "then" : ""}`} aria-label="Time">
      <p>${asOf.value ? html`You see what was known on <b>${day(asOf.value)}</b>.` : "Move the slider to see what was known at another time."}</p>
      ${counts.value && html`<label class="slider"><span class="unseen">The moment to look at</span>
        <input type="range" min="0" max=${STEPS} value=${shown} aria-valuetext=${shown >= STEPS ? "now" : day(moment)}
          onInput=${({ target }) => setPlace(Number(target.value))} /></label>`}
      <label class="day"><span class="unseen">Day</span>
        <input type="date" value=${dateOf(moment.toISOString())} min=${dateOf(new Date(oldest).toISOString())}
          max=${dateOf(new Date(now).toISOString())} onChange=${choose} /></label>
      ${asOf.value
        ? html`<button type="button" onClick=${() => { lookAt(null); isTimeOpen.value = false; }}>Back to now</button>`
        : html`<button type="button" class="quiet icon-only" aria-label="Close the slider" onClick=${() => { isTimeOpen.value = false; }}><${Icon} name="close" /></button>`}
    </section>`;
};
