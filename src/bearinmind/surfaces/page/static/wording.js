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

/** What stands between the two memories of a link when it is read. */
export const read = ({ kind, judgement }) => {
  if (!judgement || judgement.probability >= 0.5) return kind;
  return judgement.probability ? "may outdate" : "holds beside";
};

export const percent = (share) => `${Math.round(share * 100)}%`;

export const number = (value, digits = 2) => value.toFixed(digits);

export const many = (count, one, more = `${one}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

/** The parts of a text that is a list. */
export const parts = (text) => (text ?? "").split(",").map((part) => part.trim()).filter(Boolean);

/** A time as the server takes it, which tells what is none; `3d` counts back from now. */
export const asked = (text, now = Date.now()) => {
  const said = (text ?? "").trim();
  const ago = AGO.exec(said);
  return ago ? new Date(now - ago[1] * SECONDS[ago[2]] * 1000).toISOString() : said || null;
};
