// What the page says: that there is nothing, that something went wrong, that something was done.

import { html, useEffect, useState } from "./lib.js";
import { Icon } from "./icons.js";
import { closeToast, toasts } from "./state.js";
import { Foreign, Hint } from "./text.js";

const TOAST = 9_000; // milliseconds: long enough to read it
const UNDO = 20_000; // and to think again

export const Notice = ({ title, children, kind = "" }) => html`
  <section class=${`notice ${kind}`}><h2>${title}</h2>${children}</section>`;

/** Why something was not done, and what helps. */
export const Trouble = ({ problem, again = null }) => html`
  <section class="notice trouble" role="alert">
    <h2>${problem.status === 0 ? "No answer" : "That did not work"}</h2>
    <p><${Foreign} text=${problem.message} /></p>
    ${problem.hint && html`<p><${Hint} text=${problem.hint} /></p>`}
    ${again && html`<p><button type="button" onClick=${again}>Try again</button></p>`}
  </section>`;

const Toast = ({ toast }) => {
  const [isHeld, setHeld] = useState(false); // under the mouse, or in focus
  useEffect(() => {
    const timer = isHeld ? 0 : setTimeout(() => closeToast(toast.id), toast.undo ? UNDO : TOAST);
    return () => clearTimeout(timer);
  }, [toast.id, isHeld]);
  const undo = () => {
    closeToast(toast.id);
    toast.undo();
  };
  return html`
    <li class="toast" onMouseEnter=${() => setHeld(true)} onMouseLeave=${() => setHeld(false)}
      onFocusCapture=${() => setHeld(true)} onBlurCapture=${() => setHeld(false)}>
      <${Foreign} as="span" text=${toast.text} />
      ${toast.undo && html`<button type="button" onClick=${undo}>Undo</button>`}
      <button type="button" class="quiet icon-only" aria-label="Close this message"
        onClick=${() => closeToast(toast.id)}><${Icon} name="close" /></button>
    </li>`;
};

export const Toasts = () => html`
  <section class="toasts" aria-label="Messages"><ul class="stack">${toasts.value.map((toast) =>
    html`<${Toast} key=${toast.id} toast=${toast} />`)}</ul></section>`;
