/**
 * The client of a Bear in Mind server: every verb of its HTTP API.
 *
 * What is safe to send again is sent again when an answer is lost or the server is busy. A store is
 * safe: it has an idempotency key, which the client makes unless one is given.
 */
import { LASTING, OPERATIONS, TURNED_AWAY, Verbs } from "./api.js";
import type { DeleteCall, Memory, Operation, UpdateCall } from "./api.js";

export * from "./api.js";

export interface ClientOptions {
  /** The address of the server, such as http://127.0.0.1:8377. */
  url: string;
  /** The bearer key, where the server wants one. */
  key?: string;
  /** Seconds to wait for one answer. */
  timeout?: number;
  /** How often a verb is tried again at most, where that is safe. */
  retries?: number;
  /** Seconds for a verb with all its tries, pauses included. */
  patience?: number;
  /** In place of the `fetch` of the platform. */
  fetch?: typeof globalThis.fetch;
}

/** Why the server did not do what it was asked: a code that never changes, and what to do next. */
export class BearInMindError extends Error {
  override readonly name = "BearInMindError";

  constructor(
    message: string,
    readonly code: string,
    readonly hint: string = "",
    /** The status of HTTP; 0 when no answer came. */
    readonly status: number = 0,
    /** Seconds after which the server wants to be asked again. */
    readonly retryAfter: number | null = null,
    /** Whether an earlier try may have been done, though its answer was lost. */
    readonly doubtful: boolean = false,
  ) {
    super(message);
  }
}

const API = "/api/v1";
const FIRST_PAUSE = 0.1; // seconds: a server that restarts is back soon
const LONGEST_PAUSE = 30; // seconds
const JITTER = 0.2; // of a pause, at most: clients that failed together come back apart
const ONCE = new Set(["store", "store_many"]); // by an idempotency key
const MAY_BE_DELETED = new Set(["already_deleted", "version_conflict", "memory_not_found"]);

type Fields = Record<string, unknown>;

/** Why a try has no answer that can be used. */
interface Trouble {
  error: BearInMindError;
  /** The same call may do better after a while. */
  passing: boolean;
  /** The server has done nothing about it, for certain. */
  undone: boolean;
}

export class Client extends Verbs {
  readonly url: string;
  readonly #key: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #patience: number;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions) {
    super();
    const address = new URL(options.url);
    if (!/^https?:$/.test(address.protocol) || address.username || address.password) {
      throw new TypeError("url is not the address of a server: give http://HOST:PORT, and the key apart");
    }
    this.url = address.origin + address.pathname.replace(/\/+$/, "");
    this.#key = options.key;
    this.#timeout = options.timeout ?? 35;
    this.#retries = options.retries ?? 4;
    this.#patience = options.patience ?? 60;
    this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
  }

  /** Change a memory; with an expected version the change is safe to be sent again. */
  override async update(request: UpdateCall): Promise<Memory> {
    try {
      return await super.update(request);
    } catch (error) {
      if (isDoubtful(error, new Set(["version_conflict"]))) {
        const { memory } = await this.get({ id: request.id });
        const isNext = memory.version === (request.expected_version ?? 0) + 1;
        if (isNext && has(memory, request)) return memory; // the try whose answer was lost
      }
      throw error;
    }
  }

  /** Hide a memory from recall; it can be restored. */
  override async delete(request: DeleteCall): Promise<Memory> {
    try {
      return await super.delete(request);
    } catch (error) {
      if (isDoubtful(error, MAY_BE_DELETED)) {
        const { memory } = await this.get({ id: request.id });
        if (memory.deleted_at != null) return memory; // the try whose answer was lost
      }
      throw error;
    }
  }

  /** All memories by creation time, fetched page by page. */
  async *every(request: Parameters<Verbs["list"]>[0] = {}): AsyncGenerator<Memory> {
    let after = request.after;
    do {
      const page = await this.list({ limit: 100, ...request, after });
      yield* page.memories;
      after = page.next ?? undefined;
    } while (after);
  }

  protected async call<Answer>(name: string, request: object): Promise<Answer> {
    const operation = OPERATIONS[name]!;
    const fields: Fields = { ...request };
    if (ONCE.has(name)) fields["idempotency_key"] ??= newKey();
    const { url, init, repeatable } = this.#prepared(operation, fields);
    const deadline = Date.now() + 1000 * this.#patience;
    let doubtful = false;
    for (let tried = 1; ; tried++) {
      const left = (deadline - Date.now()) / 1000;
      const outcome = await this.#tried(url, init, Math.min(this.#timeout, Math.max(0.001, left)));
      if (!("error" in outcome)) return outcome.answer as Answer;
      const { error, passing, undone } = outcome;
      const pause = pauseAfter(tried, error.retryAfter);
      const isTime = pause <= LONGEST_PAUSE && Date.now() + 1000 * pause < deadline;
      if (!passing || !(repeatable || undone) || tried > this.#retries || !isTime) {
        throw withDoubt(error, doubtful);
      }
      doubtful ||= !undone;
      await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
    }
  }

  #prepared(operation: Operation, fields: Fields) {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (this.#key) headers["Authorization"] = `Bearer ${this.#key}`;
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(take(fields, name) ?? "");
      // Dots alone would lead to another place.
      return /^\.*$/.test(value) ? value.replaceAll(".", "%2E") : encodeURIComponent(value);
    });
    let named = 0;
    for (const [header, field] of Object.entries(operation.headers)) {
      const value = take(fields, field);
      if (value == null) continue;
      headers[header] = header === "If-Match" ? `"${value}"` : String(value);
      named++;
    }
    const query = new URLSearchParams();
    for (const name of operation.query) {
      const value = take(fields, name);
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each != null) query.append(name, String(each));
      }
    }
    const init: RequestInit = { method: operation.method, headers, redirect: "manual" };
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    if (given.length) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(Object.fromEntries(given));
    }
    const search = `?${query}`.replace(/^\?$/, "");
    // With such a header a call may be repeated: the server knows a store by its key, and does not
    // change a version that is not the expected one.
    const repeatable = operation.repeatable || named > 0;
    return { url: `${this.url}${API}${path}${search}`, init, repeatable };
  }

  async #tried(url: string, init: RequestInit, seconds: number): Promise<{ answer: unknown } | Trouble> {
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(url, { ...init, signal: AbortSignal.timeout(1000 * seconds) });
      text = await response.text();
    } catch (cause) {
      return this.#lost(cause);
    }
    const content = parsed(text);
    if (response.ok && content !== undefined) return { answer: content };
    return this.#refused(response, content);
  }

  #lost(cause: unknown): Trouble {
    const { name, message, cause: inner } = cause as Error & { cause?: { code?: string } };
    const how = name === "TimeoutError" ? "does not answer in time" : `cannot be reached: ${message}`;
    const error = new BearInMindError(`the server at ${this.url} ${how}`, "server_unreachable");
    return { error, passing: true, undone: inner?.code === "ECONNREFUSED" };
  }

  #refused(response: Response, content: unknown): Trouble {
    const problem = (content ?? {}) as { code?: string; detail?: string; title?: string; hint?: string };
    const wanted = Number.parseFloat(response.headers.get("Retry-After") ?? "");
    const retryAfter = Number.isFinite(wanted) ? wanted : null;
    const code = problem.code ?? codeOf(response.status);
    const said = problem.detail ?? problem.title;
    const message = said ?? `the server at ${this.url} answered ${response.status || "a redirect"}`;
    const error = new BearInMindError(message, code, problem.hint, response.status, retryAfter);
    const turnedAway = TURNED_AWAY.includes(code);
    return {
      error,
      passing: turnedAway || (response.status >= 500 && !LASTING.includes(code)),
      // A server that says when to come again has turned the call away.
      undone: turnedAway && retryAfter !== null,
    };
  }
}

/** The code of a status that others than Bear in Mind answer too, such as a proxy before it. */
function codeOf(status: number): string {
  const known: Record<number, string> = {
    401: "not_authenticated",
    403: "not_allowed",
    413: "request_too_large",
    429: "too_many_requests",
    503: "server_overloaded",
    504: "timed_out",
  };
  return known[status] ?? (status >= 500 ? "server_failure" : "invalid_answer");
}

function pauseAfter(tried: number, wanted: number | null): number {
  const grown = Math.min(FIRST_PAUSE * 2 ** (tried - 1), LONGEST_PAUSE);
  return wanted && wanted > LONGEST_PAUSE ? wanted : (wanted || grown) * (1 + JITTER * Math.random());
}

function withDoubt(error: BearInMindError, doubtful: boolean): BearInMindError {
  if (!doubtful) return error;
  const { message, code, hint, status, retryAfter } = error;
  return new BearInMindError(message, code, hint, status, retryAfter, true);
}

function isDoubtful(error: unknown, codes: Set<string>): boolean {
  return error instanceof BearInMindError && error.doubtful && codes.has(error.code);
}

/** Whether a memory is as an update makes it. */
function has(memory: Memory, request: UpdateCall): boolean {
  const { id, expected_version, always_valid, ...changes } = request;
  const now = memory as unknown as Fields;
  return Object.entries(changes).every(
    ([name, value]) => value == null || JSON.stringify(now[name]) === JSON.stringify(value),
  );
}

function take(fields: Fields, name: string): unknown {
  const value = fields[name];
  delete fields[name];
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A name for a store that is to be done once. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
