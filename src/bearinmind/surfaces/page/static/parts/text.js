// Text that somebody else wrote: it is only ever text, and may run in either direction without
// moving what is around it.

import { html } from "./lib.js";
import { age, moment } from "./words.js";

export const Foreign = ({ text, as: Name = "bdi", ...others }) =>
  html`<${Name} dir="auto" ...${others}>${String(text ?? "")}<//>`;

export const When = ({ at }) => html`<time datetime=${at} title=${moment(at)}>${age(at)}</time>`;

/** Names and what they stand for; what is null or empty is left out. */
export const Facts = ({ pairs }) => html`
  <dl class="facts">${pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** A hint of the server, whose commands stand between backquotes. */
export const Hint = ({ text }) =>
  text.split("`").map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));
