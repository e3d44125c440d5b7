// What changed from one version of a memory to the next.

import { foreign, make } from "./elements.js";
import { moment } from "./wording.js";

const MOST_WORK = 1_000_000; // pairs of words: beyond, two texts are shown one after the other

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

const removed = (text) => foreign(text, "del");
const added = (text) => foreign(text, "ins");

/** How many words two texts have in common from each pair of places on. */
const common = (before, after) => {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      rows[i][j] = before[i] === after[j]
        ? rows[i + 1][j + 1] + 1
        : Math.max(rows[i + 1][j], rows[i][j + 1]);
    }
  }
  return rows;
};

/** Two texts as runs of words that are kept, removed or added. */
export const runs = (before, after) => {
  const [old, young] = [before, after].map((text) => text.match(/\s+|[^\s]+/g) ?? []);
  if (old.length * young.length > MOST_WORK) {
    return [{ kind: "removed", text: before }, { kind: "added", text: after }];
  }
  const rows = common(old, young);
  const found = [];
  const put = (kind, text) => {
    if (found.at(-1)?.kind === kind) found.at(-1).text += text;
    else found.push({ kind, text });
  };
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      put("kept", old[i]);
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
  return found;
};

const SHOWN = { kept: (text) => text, removed, added };

const content = (before, after) =>
  make("p", { class: "content", dir: "auto" },
    runs(before.content, after.content).map(({ kind, text }) => SHOWN[kind](text)));

const field = (name, before, after) =>
  make("p", { class: "change" },
    `${name.replace("_", " ")}: `,
    before ? removed(before) : null,
    before && after ? " " : null,
    after ? added(after) : null);

/** What a version changed about the one before, as paragraphs. */
export const changes = (before, after) => {
  const fields = Object.entries(FIELDS)
    .map(([name, words]) => [name, words(before[name]), words(after[name])])
    .filter(([, old, young]) => old !== young)
    .map(([name, old, young]) => field(name, old, young));
  const shown = [...(before.content === after.content ? [] : [content(before, after)]), ...fields];
  return shown.length ? shown : [make("p", { class: "quiet" }, "Nothing that is shown here.")];
};
