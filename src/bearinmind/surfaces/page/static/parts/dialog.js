// A window over the page: the browser keeps the focus inside, and Escape closes it.

import { html, useId, useLayoutEffect, useRef } from "./lib.js";
import { Icon } from "./icons.js";

export const Dialog = ({ title, onClose, children, wide = false }) => {
  const dialog = useRef(null);
  const heading = useId();
  useLayoutEffect(() => { // at once: what is typed next goes into the dialog
    const before = document.activeElement;
    dialog.current.showModal();
    dialog.current.querySelector("[autofocus], textarea, input, select")?.focus();
    return () => before?.focus?.();
  }, []);
  return html`
    <dialog ref=${dialog} class=${wide ? "wide" : ""} aria-labelledby=${heading} onClose=${onClose}
      onCancel=${onClose}>
      <header><h2 id=${heading}>${title}</h2>
        <button type="button" class="quiet icon-only" aria-label="Close" onClick=${onClose}>
          <${Icon} name="close" /></button></header>
      ${children}
    </dialog>`;
};

/** Asks before something is done that cannot be undone. */
export const Confirm = ({ title, action, onYes, onClose, children }) => html`
  <${Dialog} title=${title} onClose=${onClose}>
    ${children}
    <footer class="actions">
      <button type="button" onClick=${onClose}>Keep it</button>
      <button type="button" class="danger" onClick=${onYes}>${action}</button>
    </footer>
  <//>`;
