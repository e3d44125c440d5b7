// What is asked of the server. The key stays in this tab and goes nowhere but to this server.

const ROOT = "/api/v1";
const KEY = "bearinmind.key";

/** Why the server did not do what was asked, as its problem document says. */
export class Problem extends Error {
  constructor(status, said) {
    super(said.detail ?? said.title ?? `The server answered ${status}.`);
    this.status = status;
    this.title = said.title;
    this.hint = said.hint ?? null;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

const address = (path, asked) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    for (const each of [value].flat()) {
      if (each !== null && each !== undefined && each !== "") parameters.append(name, each);
    }
  }
  return `${ROOT}${path}${parameters.size ? `?${parameters}` : ""}`;
};

const problem = async (answer) => {
  const said = await answer.json().catch(() => ({}));
  const wait = answer.headers.get("Retry-After");
  const hint = said.hint ?? (wait ? `Try again in ${wait} seconds.` : null);
  return new Problem(answer.status, { ...said, hint });
};

const send = async (url, options) => {
  const headers = { Accept: "application/json", ...options.headers };
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  let answer;
  try {
    answer = await fetch(url, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, {
      title: "No answer",
      detail: "The server does not answer.",
      hint: "See whether `bearinmind serve` still runs, then try again.",
    });
  }
  if (!answer.ok) throw await problem(answer);
  return answer.json();
};

const get = (path, signal, asked = {}) => send(address(path, asked), { signal });

const post = (path, signal, body) =>
  send(address(path, {}), {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

const one = (id) => `/memories/${encodeURIComponent(id)}`;

/** An answer whose memories say their state, what outdates them, and whether they are data. */
const known = (answer, memories) => {
  for (const memory of memories) {
    memory.state = answer.states?.[memory.id] ?? null;
    memory.outdated ??= answer.outdated?.[memory.id] ?? null;
    memory.is_data = answer.as_data.includes(memory.id);
  }
  return answer;
};

export const recall = async (asked, signal) => {
  const answer = await post("/recall", signal, { ...asked, trace: true });
  const hits = [...answer.hits, ...answer.weak];
  for (const { memory, outdated } of hits) memory.outdated = outdated;
  return known(answer, hits.map((hit) => hit.memory));
};

export const whyNot = (asked, signal) => post("/why-not", signal, asked);

export const list = async (asked, signal) => {
  const page = await get("/memories", signal, asked);
  return known(page, page.memories);
};

/** A memory with its past and its links. */
export const memory = async (id, signal) => {
  const answer = await get(one(id), signal);
  const { memory: found, state, outdated, earlier, links, as_data: data } = answer;
  return { ...found, state, outdated, earlier, links, is_data: data.includes(found.id) };
};

export const why = async (id, signal) => {
  const answer = await get(`${one(id)}/why`, signal);
  return known(answer, answer.steps.map((step) => step.memory));
};

export const proposals = async (states, signal) => {
  const answer = await get("/proposals", signal, { states, limit: 1_000 });
  return known(answer, answer.memories);
};

/** Decides on a proposal; `words` say which of two memories holds. */
export const decide = (id, verb, words = {}) =>
  post(`/proposals/${encodeURIComponent(id)}/${verb}`, null, words);

export const counts = (signal) => get("/stats", signal);

/** All shares: what this user shares with others, and what others share with this user. */
export const shares = async (signal) => {
  const both = [get("/shares", signal), get("/shares/with-me", signal)];
  const [given, got] = await Promise.all(both);
  return { given: given.shares, got: got.shares };
};
