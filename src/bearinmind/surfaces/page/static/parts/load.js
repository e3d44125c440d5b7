// How a view reads from the server and writes to it.

import { Problem } from "../api.js";
import { useEffect, useState } from "./lib.js";
import { asOf, changed, isOffline, revision, status, tell } from "./state.js";

/** What `load(signal)` gives; read again when one of `needs`, the moment or, unless `once`, the store changes. */
export const useLoad = (load, needs = [], { once = false } = {}) => {
  const [state, setState] = useState({ value: null, problem: null, busy: true });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const running = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    load(running.signal).then(
      (value) => setState({ value, problem: null, busy: false }),
      (problem) => {
        if (problem.name === "AbortError") return;
        if (!(problem instanceof Problem)) console.error(problem); // a fault of this page
        if (!running.signal.aborted) setState({ value: null, problem, busy: false });
        status.value = problem.message;
      });
    return () => running.abort();
  }, [...needs, asOf.value, once ? isOffline.value : revision.value, tries]);
  return { ...state, again: () => setTries(tries + 1) };
};

/** Does something on the server and says so; a failure is said too, and gives false. */
export const attempt = async (action, message = null, undo = null) => {
  try {
    const answer = await action();
    changed();
    if (message) tell(message, undo && (() => attempt(() => undo(answer), "Undone.")));
    return answer ?? true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    tell([problem.message, problem.hint].filter(Boolean).join(" "));
    return false;
  }
};
