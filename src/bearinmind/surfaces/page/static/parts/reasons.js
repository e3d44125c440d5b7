// Why a memory is in an answer, or is not, in sentences.

import * as api from "../api.js";
import { html, useState } from "./lib.js";
import { useLoad } from "./load.js";
import { Trouble } from "./notice.js";
import { MemoryPicker } from "./picker.js";
import { LEGS } from "./ranking.js";
import { ofConcept, ofMemory } from "./router.js";
import { Foreign } from "./text.js";
import { likely, number, percent, place } from "./words.js";

const WAYS = {
  lexical: (rank) => `It shares words with your question: ${place(rank)} among what was found by words.`,
  dense: (rank) => `It is close to your question in meaning: ${place(rank)} by meaning.`,
  graph: (rank) => `It is connected to what your question is about: ${place(rank)} by connections.`,
};
const DOES = { subject: "is about", name: "names", tag: "is tagged with", keyword: "has the keyword" };
const FACTORS = {
  current: "that it is what holds now",
  earlier: "that the question asks for what held before",
  exact: "that it has words exactly as you wrote them",
  focus: "the focus that was set",
  time: "the time that your question names",
  decay: "its age",
  trust: "how far its source is trusted",
};

const factor = (name, value) =>
  `${(FACTORS[name] ?? name.replaceAll("_", " ")).replace(/^./, (letter) => letter.toUpperCase())} ${value > 1 ? "moves it up" : "moves it down"} (× ${number(value)}).`;

const Step = ({ step, id }) => html`
  <li>${step.source === null ? "Your question names " : html`${step.source === id ? "This memory" : html`<a href=${ofMemory(step.source)}>Another memory</a>`} mentions `}
    <a dir="auto" href=${ofConcept(step.concept)}>${step.concept}</a>, and
    ${" "}${step.target === id ? "this one" : html`<a href=${ofMemory(step.target)}>that one</a>`} ${DOES[step.role] ?? step.role} it.</li>`;

export const WhyThis = ({ hit, legs }) => html`
  <details class="why"><summary><span class=${`sure ${likely(hit.probability)}`}>${likely(hit.probability)}</span> Why this one?</summary>
    <ul>
      ${legs.filter((leg) => hit.placings[leg]).map((leg) =>
        html`<li key=${leg}>${(WAYS[leg] ?? ((rank) => `${leg}: ${place(rank)}.`))(hit.placings[leg].rank)}</li>`)}
      ${hit.path.map((step) => html`<${Step} step=${step} id=${hit.memory.id} />`)}
      ${Object.entries(hit.factors).filter(([, value]) => value !== 1).map(([name, value]) =>
        html`<li key=${name}>${name === "importance"
          ? `Its importance of ${percent(hit.memory.importance)} counts (× ${number(value)}).`
          : factor(name, value)}</li>`)}
      ${hit.reranked && html`<li>A second, closer reading moved it from place ${hit.reranked.before} to ${hit.reranked.after}.</li>`}
      <li>All in all it answers your question with a probability of ${percent(hit.probability)}.</li>
    </ul>
  </details>`;

const Position = ({ position: { leg, rank, searched, confidence, note } }) => html`
  <tr><th scope="row">${LEGS[leg] ?? leg}</th>
    <td>${rank !== null ? `${rank.toLocaleString("en")} of ${searched.toLocaleString("en")}` : searched ? `not among ${searched.toLocaleString("en")}` : "–"}</td>
    <td>${confidence === null ? "–" : percent(confidence)}</td>
    <td><${Foreign} text=${note} /></td></tr>`;

const sentence = (text) => {
  const trimmed = text.trim().replace(/^./, (letter) => letter.toUpperCase());
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
};

/** Why one memory is not in the answer to a question. */
export const WhyNot = ({ question, memory }) => {
  const { value, problem } = useLoad((signal) => api.whyNot({ ...question, id: memory.id }, signal),
    [memory.id, JSON.stringify(question)]);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!value) return null;
  return html`
    <div class="panel why-not" aria-live="polite">
      <p><a class="content" dir="auto" href=${ofMemory(memory.id)}>${memory.content}</a></p>
      <p><b><${Foreign} text=${sentence(value.reason)} /></b></p>
      ${value.remedy && html`<p>What would help: <${Foreign} text=${sentence(value.remedy)} /></p>`}
      ${value.positions.length > 0 && html`
        <details><summary>Where each way of finding has it</summary>
          <div class="scroll" tabindex="0" role="region" aria-label="Places">
            <table><thead><tr><th scope="col">way</th><th scope="col">place</th><th scope="col">sure</th><th scope="col">note</th></tr></thead>
              <tbody>${value.positions.map((position) => html`<${Position} key=${position.leg} position=${position} />`)}</tbody></table></div>
        </details>`}
    </div>`;
};

/** Lets a memory be picked, and says why it is not in the answer. */
export const Missing = ({ question, start = null }) => {
  const [memory, setMemory] = useState(start);
  return html`
    <section class="stack missing" aria-label="Why not another one?">
      <${MemoryPicker} label="Do you miss a memory? Find it here to see why it is not in the answer." onPick=${setMemory} />
      ${memory && html`<${WhyNot} question=${question} memory=${memory} />`}
    </section>`;
};
