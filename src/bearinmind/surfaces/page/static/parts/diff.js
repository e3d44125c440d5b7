// What changed from one text to another, and from one version of a memory to the next.

import { html } from "./lib.js";
import { Foreign } from "./text.js";
import { moment } from "./words.js";

const MOST_WORK = 1_000_000; // pairs of words: beyond, two texts are shown one after the other

const LEAST_COMMON = 0.25; // of the letters of a text, from which differences are marked

const listed = (words) => words.join(", ");
const time = (value) => (value === null ? "" : moment(value));
const FIELDS = {
  category: String,
  tags: listed,
  keywords: listed,
  importance: String,
  sensitive: (value) => (value ? "yes" : "no"),
  valid_from: time,
  valid_to: time,
  deleted_at: time,
};
const NAMES = { sensitive: "sealed", valid_from: "true from", valid_to: "true until", deleted_at: "deleted" };

const isSame = (one, other) => one.trimEnd() === other.trimEnd();

/** How many words two texts have in common from each pair of places on. */
const common = (before, after) => {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      rows[i][j] = isSame(before[i], after[j])
        ? rows[i + 1][j + 1] + 1
        : Math.max(rows[i + 1][j], rows[i][j + 1]);
    }
  }
  return rows;
};

/** Two texts as runs of words that are kept, removed or added. */
export const runs = (before, after) => {
  const [old, young] = [before, after].map((text) => text.match(/\S+\s*|\s+/g) ?? []); // a word keeps the space behind it
  if (old.length * young.length > MOST_WORK) {
    return [{ kind: "removed", text: before }, { kind: "added", text: after }];
  }
  const rows = common(old, young);
  const merged = [];
  const put = (kind, text) => {
    if (merged.at(-1)?.kind === kind) merged.at(-1).text += text;
    else merged.push({ kind, text });
  };
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && isSame(old[i], young[j])) {
      put("kept", young[j]);
      i += 1;
      j += 1;
    } else if (j === young.length || (i < old.length && rows[i + 1][j] >= rows[i][j + 1])) {
      put("removed", old[i]);
      i += 1;
    } else {
      put("added", young[j]);
      j += 1;
    }
  }
  return merged;
};

const spaceAfter = (text) => text.slice(text.trimEnd().length);
const ELEMENTS = { kept: "bdi", removed: "del", added: "ins" };

/** One text that shows what was removed and what was added. */
const Diff = ({ before, after }) => html`
  <p class="content" dir="auto">${runs(before, after).map(({ kind, text }) =>
    html`<${Foreign} as=${ELEMENTS[kind]} text=${text.trimEnd()} />${spaceAfter(text)}`)}</p>`;

const letters = (parts) => parts.reduce((sum, { text }) => sum + text.trim().length, 0);

/** One of two texts, with what the other one has not: `side` is "removed" or "added". */
export const Side = ({ before, after, side }) => {
  const parts = runs(before, after).filter(({ kind }) => kind === "kept" || kind === side);
  const kept = parts.filter(({ kind }) => kind === "kept");
  // Texts that have little in common differ everywhere: marks would say nothing.
  const isMarked = letters(kept) >= LEAST_COMMON * letters(parts);
  return html`
    <p class="content" dir="auto">${parts.map(({ kind, text }) => (kind === "kept" || !isMarked
      ? html`<bdi>${text}</bdi>`
      : html`<mark class=${side}><bdi>${text.trimEnd()}</bdi></mark>${spaceAfter(text)}`))}</p>`;
};

const Field = ({ name, before, after }) => html`
  <p class="change">${NAMES[name] ?? name}: ${before && html`<${Foreign} as="del" text=${before} />`}
    ${" "}${after && html`<${Foreign} as="ins" text=${after} />`}</p>`;

/** What a version changed about the one before. */
export const Changes = ({ before, after }) => {
  const fields = Object.entries(FIELDS)
    .map(([name, words]) => [name, words(before[name]), words(after[name])])
    .filter(([, old, young]) => old !== young);
  const isSame = before.content === after.content;
  if (isSame && !fields.length) return html`<p class="faint">Nothing that is shown here.</p>`;
  return html`
    ${!isSame && html`<${Diff} before=${before.content} after=${after.content} />`}
    ${fields.map(([name, old, young]) => html`<${Field} key=${name} name=${name} before=${old} after=${young} />`)}`;
};
