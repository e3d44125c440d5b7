// Every request to the server. A session is a cookie that no script can read; a key that was typed
// is kept by the sign-in view and goes nowhere but to this server.

import { asOf, isOffline, isSignInNeeded } from "./parts/state.js";

const ROOT = "/api/v1";
const UNAUTHORIZED = 401;
const LINES = "application/x-ndjson";

/** Why the server did not do what was asked, as its problem document says. */
export class Problem extends Error {
  constructor(status, { detail, title, hint = null, code = null }) {
    super(detail ?? title ?? `The server answered ${status}.`);
    this.status = status;
    this.title = title;
    this.hint = hint;
    this.code = code;
  }
}

const address = (path, fields) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value].flat()) {
      if (each !== null && each !== undefined && each !== "") parameters.append(name, each);
    }
  }
  return `${ROOT}${path}${parameters.size ? `?${parameters}` : ""}`;
};

const problemOf = async (answer) => {
  const document = await answer.json().catch(() => ({}));
  const wait = answer.headers.get("Retry-After");
  const hint = document.hint ?? (wait ? `Try again in ${wait} seconds.` : null);
  return new Problem(answer.status, { ...document, hint });
};

/** The answer to a request; one that is no success, or that does not come, is thrown. */
export const send = async (url, options = {}) => {
  const headers = { Accept: "application/json", "X-Bear-In-Mind": "page", ...options.headers };
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", cache: "no-store", ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    isOffline.value = true;
    throw new Problem(0, {
      title: "No answer",
      detail: "The server does not answer.",
      hint: "See whether `bearinmind serve` still runs. The page goes on as soon as it answers.",
    });
  }
  isOffline.value = false;
  if (!answer.ok) {
    const problem = await problemOf(answer);
    if (problem.status === UNAUTHORIZED) isSignInNeeded.value = true;
    throw problem;
  }
  return answer;
};

const NO_CONTENT = 204;
const json = async (url, options) => {
  const answer = await send(url, options);
  return answer.status === NO_CONTENT ? null : answer.json();
};

export const get = (path, fields = {}, signal = null) => json(address(path, fields), { signal });

export const change = (method, path, body = null, { signal = null, headers = {} } = {}) =>
  json(address(path, {}), {
    method,
    signal,
    ...(body === null ? { headers } : {
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  });

export const post = (path, body = {}, signal = null) => change("POST", path, body, { signal });

const one = (id) => `/memories/${encodeURIComponent(id)}`;
const present = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) =>
  value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length)));
/** Fields with the moment at which the whole page looks. */
const then = (fields) => present({ as_of: asOf.value, ...fields });

/** An answer whose memories have their state, what outdates them, and whether they are data. */
const marked = (answer, memories) => {
  for (const memory of memories) {
    memory.state = answer.states?.[memory.id] ?? memory.state ?? null;
    memory.outdated ??= answer.outdated?.[memory.id] ?? null;
    memory.is_data = answer.as_data?.includes(memory.id) ?? false;
  }
  return answer;
};

// ---- reads ----------------------------------------------------------------------------------

export const recall = async (fields, signal) => {
  const answer = await post("/recall", { ...then(fields), trace: true }, signal);
  const hits = [...answer.hits, ...answer.weak];
  for (const { memory, outdated } of hits) memory.outdated = outdated;
  return marked(answer, hits.map((hit) => hit.memory));
};

export const whyNot = (fields, signal) => post("/why-not", then(fields), signal);

/** The memories nearest to some words, for a field in which one is picked. */
export const find = async (words, signal) => {
  const fields = { query: words, limit: 8, all: true, group: "off" };
  const answer = await post("/recall", then(fields), signal);
  return marked(answer, answer.hits.map((hit) => hit.memory));
};

export const list = async (fields, signal) => {
  const page = await get("/memories", then(fields), signal);
  return marked(page, page.memories);
};

/** What was known then of the state of a memory, and of its links. */
const stateAt = (moment, { id, deleted_at: deleted, valid_to: until }, { outdated, links }) => {
  const then = links.filter((link) => new Date(link.created_at) <= moment);
  const isReplaced = then.some(({ kind, target }) => kind === "supersedes" && target === id);
  const isOver = until && new Date(until) <= moment;
  return {
    state: deleted ? "deleted" : isReplaced ? "superseded" : isOver ? "expired" : "live",
    outdated: outdated && new Date(outdated.until) <= moment ? outdated : null,
    links: then,
  };
};

/** A memory with its earlier versions and its links; as it was at the moment looked at. */
export const memory = async (id, signal) => {
  const { memory: latest, state, outdated, earlier, links, as_data: data } = await get(one(id), {}, signal);
  const versions = [...earlier, latest];
  const moment = asOf.value && new Date(asOf.value);
  const known = moment ? versions.filter((each) => new Date(each.updated_at) <= moment) : versions;
  const shown = known.at(-1) ?? null;
  return {
    ...(shown ?? latest), ...(moment && shown ? stateAt(moment, shown, { outdated, links }) : { state, outdated, links }), latest,
    earlier: known.slice(0, -1), isUnknownThen: !shown, is_data: data.includes(latest.id),
  };
};

export const why = async (id, signal) => {
  const answer = await get(`${one(id)}/why`, {}, signal);
  return marked(answer, answer.steps.map((step) => step.memory));
};

export const history = (thing, limit, signal) => get("/history", { thing, limit }, signal);
export const counts = (signal) => get("/stats", {}, signal);
export const density = (fields, signal) => get("/density", present(fields), signal);
export const sessions = (limit, signal) => get("/sessions", { limit }, signal);

/** All shares: what this user shares with others, and what others share with this user. */
export const shares = async (signal) => {
  const [given, got] = await Promise.all([get("/shares", {}, signal), get("/shares/with-me", {}, signal)]);
  return { given: given.shares, got: got.shares };
};

// ---- writes ---------------------------------------------------------------------------------

export const store = (fields) => post("/memories", present(fields));
export const update = (id, fields, version) =>
  change("PATCH", one(id), fields, { headers: version ? { "If-Match": `"${version}"` } : {} });
export const remove = (id) => change("DELETE", one(id));
export const restore = (id) => post(`${one(id)}/restore`);
export const link = (source, kind, target) => post("/links", { source, kind, target });
export const unlink = (source, kind, target) => post("/links/end", { source, kind, target });
export const resolve = (id, resolution, other) =>
  post(`${one(id)}/resolve`, { resolution, other: [other], trust: "user" });
export const reveal = (id) => post(`${one(id)}/secret`);
export const share = (id, reader, right) =>
  change("PUT", `${one(id)}/shares/${encodeURIComponent(reader)}`, { right });
export const unshare = (id, reader) => change("DELETE", `${one(id)}/shares/${encodeURIComponent(reader)}`);
export const shareTag = (tag, reader, right) =>
  change("PUT", `/tags/${encodeURIComponent(tag)}/shares/${encodeURIComponent(reader)}`, { right });
export const unshareTag = (tag, reader) =>
  change("DELETE", `/tags/${encodeURIComponent(tag)}/shares/${encodeURIComponent(reader)}`);
export const planPurge = (ids, signal) => get("/purge", { ids }, signal);
export const purge = (ids, { versions, links }) => post("/purge", { ids, versions, links });

/** Imports lines of JSON; `advance` is called with how many records are done. */
export const importLines = async (text, advance = () => {}) => {
  const answer = await send(`${ROOT}/import`, {
    method: "POST", headers: { "Content-Type": LINES, Accept: LINES }, body: text,
  });
  let [rest, last] = ["", null];
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) {
      last = JSON.parse(line);
      if (last.progress) advance(last.progress.records);
    }
  }
  if (last?.problem) throw new Problem(last.problem.status, last.problem);
  return last?.summary;
};

export const exportLines = async () => (await send(`${ROOT}/export`, { headers: { Accept: LINES } })).blob();

// ---- the inbox ------------------------------------------------------------------------------

export const proposals = async (states, signal) => {
  const answer = await get("/proposals", { states, limit: 200 }, signal);
  return marked(answer, answer.memories);
};
/** Decides on a proposal: `apply`, `dismiss` or `undo`; the body names which of two memories holds. */
export const decide = (id, verb, body = {}) => post(`/proposals/${encodeURIComponent(id)}/${verb}`, body);

// ---- the graph ------------------------------------------------------------------------------

export const hubs = (fields, signal) => get("/graph/hubs", then(fields), signal);
export const concept = (name, fields, signal) => get("/graph/concept", then({ concept: name, ...fields }), signal);
export const subgraph = (centre, fields, signal) => get("/graph/around", then({ centre, ...fields }), signal);
export const path = (start, goal, fields, signal) => get("/graph/path", then({ start, goal, ...fields }), signal);
export const conceptsOf = (id, signal) => get(`${one(id)}/concepts`, {}, signal);
export const merges = (signal) => get("/graph/merges", {}, signal);
export const merge = (alias, into) => post("/graph/merges", { alias, into });
export const unmerge = (alias) => post("/graph/merges/end", { alias });

// ---- the session ----------------------------------------------------------------------------

export const session = (signal) => get("/session", {}, signal);
export const signOut = () => change("DELETE", "/session");
export const provider = () => get("/session/provider");
/** Whether the server answers again. */
export const isAlive = () => fetch("/healthz", { cache: "no-store" }).then(({ ok }) => ok, () => false);
