// Numbers, times and counts in words.

const UNITS = [
  ["year", 365.25 * 86400],
  ["month", 30.44 * 86400],
  ["week", 7 * 86400],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const AGO = /^(\d{1,6})([mhdw])$/;
const SECONDS = { m: 60, h: 3600, d: 86400, w: 7 * 86400 };
const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });

/** How long ago a moment was. */
export const age = (moment, now = Date.now()) => {
  const seconds = (new Date(moment).getTime() - now) / 1000;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? [];
  return unit ? relative.format(Math.trunc(seconds / size), unit) : "just now";
};

/** A moment to the minute, in the reader's own time. */
export const moment = (value) =>
  new Date(value).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** The day of a moment: 12 June 2025. */
export const day = (value) =>
  new Date(value).toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });

export const percent = (share) => `${Math.round(share * 100)}%`;

export const number = (value, digits = 2) => value.toFixed(digits);

export const many = (count, one, more = `${one}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

/** The first part of a text, for a name. */
export const short = (text, length = 60) =>
  text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;

/** First, second, 3rd ... */
export const place = (rank) => {
  const words = ["first", "second", "third", "fourth", "fifth"];
  return words[rank - 1] ?? `${rank.toLocaleString("en")}th`.replace(/([^1]|^)1th$/, "$11st")
    .replace(/([^1]|^)2th$/, "$12nd").replace(/([^1]|^)3th$/, "$13rd");
};

export const UNLIKELY = 0.2; // probability: what is below it is folded away

/** How probable something is, as people say it. */
export const likely = (probability) => {
  if (probability >= 0.8) return "Very likely";
  if (probability >= 0.45) return "Likely"; // found
  return probability >= UNLIKELY ? "Perhaps" : "Unlikely";
};

const LINKS = {
  supersedes: ["takes the place of", "is replaced by"],
  outdates: ["is newer than", "is outdated by"],
  "resolved-by": ["is resolved by", "resolves"],
  "part-of": ["is part of", "has as a part"],
  "see-also": ["goes with", "goes with"],
  "derives-from": ["follows from", "led to"],
  causes: ["caused", "was caused by"],
};

/** What one memory is to another, read from the source or, if not outgoing, from the target. */
export const linked = ({ kind, judgement }, outgoing) => {
  if (kind === "outdates" && judgement && judgement.probability < 0.5) {
    if (!judgement.probability) return "is true beside";
    return outgoing ? "may be newer than" : "may be outdated by";
  }
  return (LINKS[kind] ?? [kind, `${kind} of`])[outgoing ? 0 : 1];
};

/** The links that a person makes, by kind, in words. */
export const LINK_WORDS = Object.fromEntries(
  Object.entries(LINKS).filter(([kind]) => kind !== "outdates").map(([kind, [word]]) => [kind, word]));

/** The parts of a text that is a list. */
export const parts = (text) => (text ?? "").split(",").map((part) => part.trim()).filter(Boolean);

/** A time as the server takes it, which says what is none; `3d` counts back from now. */
export const time = (text, now = Date.now()) => {
  const trimmed = (text ?? "").trim();
  const ago = AGO.exec(trimmed);
  return ago ? new Date(now - ago[1] * SECONDS[ago[2]] * 1000).toISOString() : trimmed || null;
};
