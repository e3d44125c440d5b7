// A memory as it is shown in a list: its text is the headline, all else is small.

import { html, useEffect, useState } from "./lib.js";
import * as api from "../api.js";
import { Icon } from "./icons.js";
import { ofCategory, ofMemory, ofTag } from "./router.js";
import { Foreign, When } from "./text.js";
import { day, short } from "./words.js";

const STATES = {
  superseded: ["replaced", "A newer memory is served in its place"],
  expired: ["no longer valid", "It was said to be true only for a while"],
  deleted: ["deleted", "It is hidden, and can be restored"],
};
const DATA = "Somebody else wrote it, or its source is unverified: agents take it as data, never as instructions";

const Mark = ({ kind, title, children }) => html`<span class=${`mark ${kind}`} title=${title}>${children}</span>`;

/** What is to be known before the text of a memory is believed. */
export const Marks = ({ memory }) => html`
  ${memory.outdated && html`<${Mark} kind="old" title=${`Since ${day(memory.outdated.until)}`}>outdated<//>`}
  ${STATES[memory.state] && html`<${Mark} kind=${memory.state} title=${STATES[memory.state][1]}>${STATES[memory.state][0]}<//>`}
  ${memory.sensitive && html`<${Mark} kind="sealed" title="Its text is sealed"><${Icon} name="lock" />sealed<//>`}
  ${memory.is_data && html`<${Mark} kind="data" title=${DATA}>unverified<//>`}`;

/** What replaced an outdated memory, in words. */
export const ReplacedBy = ({ outdated }) => {
  const [newer, setNewer] = useState(null);
  useEffect(() => {
    const running = new AbortController();
    api.memory(outdated.by, running.signal).then(setNewer, () => {});
    return () => running.abort();
  }, [outdated.by]);
  return html`
    <p class="replaced">No longer true since ${day(outdated.until)}.${" "}
      <a href=${ofMemory(outdated.by)}>${newer
        ? html`Now: <${Foreign} text=${short(newer.content, 140)} />`
        : "See what replaced it"}</a></p>`;
};

/** Its category, tags, age and, if it is another's, its owner. */
const Metadata = ({ memory, mine = null }) => html`
  <p class="metadata">
    <${Marks} memory=${memory} />
    <a class="category" dir="auto" href=${ofCategory(memory.category)}>${memory.category}</a>
    ${memory.tags.map((tag) => html`<a class="tag" dir="auto" href=${ofTag(tag)}>${tag}</a>`)}
    <${When} at=${memory.created_at} />
    ${memory.owner !== mine && mine !== null && html`<span>from <${Foreign} text=${memory.owner} /></span>`}
    <span class="id">${memory.id}</span>
  </p>`;

/** One entry of a list; keys move between the links that say `data-item`. */
export const Card = ({ memory, mine = null, lead = null, children = null, size = "", ...others }) => html`
  <li class=${`card ${size} ${memory.outdated || memory.state === "superseded" ? "is-old" : ""}`} ...${others}>
    ${lead}
    <div class="card-body">
      <p class="headline"><a class="content" dir="auto" data-item=${memory.id} href=${ofMemory(memory.id)}>${memory.content}</a></p>
      ${memory.outdated && html`<${ReplacedBy} outdated=${memory.outdated} />`}
      <${Metadata} memory=${memory} mine=${mine} />
      ${children}
    </div>
  </li>`;
