// What several views share: who is signed in, the moment that is looked at, what is said to the reader.

import { signal } from "./lib.js";

const AS_OF = "bearinmind.as-of";
const THEME = "bearinmind.theme";

/** Who is signed in, or null: {user, access, via, expires_at}. */
export const session = signal(null);
/** Whether the server has said who is signed in, or that nobody is: views wait for it. */
export const isSessionKnown = signal(false);
/** Whether a link is signing the browser in: nothing else is asked meanwhile. */
export const isEntering = signal(/^#\/signin\?(.*&)?link=/.test(location.hash));
/** The counts of the store, or null before they are known. */
export const counts = signal(null);
/** How many proposals wait for a decision. */
export const waiting = signal(0);
/** The moment at which the whole page looks, as ISO 8601; null is now. */
export const asOf = signal(sessionStorage.getItem(AS_OF));
/** Whether the slider of that moment is open. */
export const isTimeOpen = signal(Boolean(asOf.value));
/** "light", "dark", or "" for what the system prefers. */
export const theme = signal(localStorage.getItem(THEME) ?? "");
/** Raised after every change of the store: what is shown is read again. */
export const revision = signal(0);
/** Whether the last request had no answer at all. */
export const isOffline = signal(false);
/** Whether the server wants to know who asks. */
export const isSignInNeeded = signal(false);
/** What a screen reader says. */
export const status = signal("");
/** Messages at the edge of the screen: {id, text, undo}. */
export const toasts = signal([]);

export const changed = () => {
  revision.value += 1;
};

export const lookAt = (moment) => {
  asOf.value = moment;
  if (moment) sessionStorage.setItem(AS_OF, moment);
  else sessionStorage.removeItem(AS_OF);
};

export const chooseTheme = (name) => {
  theme.value = name;
  if (name) localStorage.setItem(THEME, name);
  else localStorage.removeItem(THEME);
};

export const mayWrite = () => !session.value || session.value.access !== "read";
/** What was known then is only looked at. */
export const mayChange = () => mayWrite() && !asOf.value;
export const isAdmin = () => session.value?.access === "admin";

let number = 0;

export const closeToast = (id) => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

/** Shows a message; with `undo`, a function that takes back what was done, it has a button. */
export const tell = (text, undo = null) => {
  number += 1;
  toasts.value = [...toasts.value.slice(-2), { id: number, text, undo }];
  status.value = text;
  return number;
};

/** Takes the last change back, as long as a message offers that; whether one does. */
export const undoLast = () => {
  const toast = toasts.value.findLast(({ undo }) => undo);
  if (!toast) return false;
  closeToast(toast.id);
  toast.undo();
  return true;
};
