// The shell of the page: navigation, the moment that is looked at, and one view at a time.

import * as api from "./api.js";
import { AsOfBar, AsOfButton } from "./parts/asof.js";
import { Dialog } from "./parts/dialog.js";
import { Icon } from "./parts/icons.js";
import { ask, listen } from "./parts/keys.js";
import { effect, html, render, signal, useEffect, useLayoutEffect, useRef, useState } from "./parts/lib.js";
import { Notice, Toasts, Trouble } from "./parts/notice.js";
import { back, place, returnsTo, route } from "./parts/router.js";
import {
  asOf, changed, chooseTheme, counts, isEntering, isOffline, isSessionKnown, isSignInNeeded, mayChange,
  revision, session, status, theme, undoLast, waiting,
} from "./parts/state.js";
import { Foreign } from "./parts/text.js";

/** A view is a module that exports `View`, a component with the properties {rest, fields}. */
const VIEWS = {
  recall: () => import("./views/recall.js"),
  memories: () => import("./views/memories.js"),
  memory: () => import("./views/memory.js"),
  inbox: () => import("./views/inbox.js"),
  graph: () => import("./views/graph.js"),
  time: () => import("./views/time.js"),
  server: () => import("./views/server.js"),
  signin: () => import("./views/signin.js"),
};
const TABS = { recall: "Recall", memories: "Memories", inbox: "Inbox", graph: "Graph", time: "Time", server: "Server" };
const MOST = 99; // proposals that the badge of the inbox counts
const PAUSE = 2_000; // milliseconds between two questions whether the server is back

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", () => { isSystemDark.value = system.matches; });

const isHelpOpen = signal(false);
const isFormOpen = signal(false);
const form = signal(null); // the component of the form, once it is loaded
const dropped = signal(null); // a file to import, and the component that shows it

const add = async () => {
  form.value ??= (await import("./parts/form.js")).MemoryForm;
  isFormOpen.value = true;
};

/** A file that is dropped anywhere is shown for import; the browser would leave the page for it. */
const take = async (event) => {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (event.type !== "drop" || !file || !mayChange() || document.querySelector("dialog[open]")) return;
  dropped.value = { file, Shown: (await import("./parts/transfer.js")).ImportDialog };
};

// ---- what is around a view ------------------------------------------------------------------

const Logo = () => html`<img class="logo" src="/page/icon.svg" alt="" width="30" height="30" />`;

const Tab = ({ view, words }) => {
  const isHere = route.value.view === view || (view === "memories" && route.value.view === "memory");
  return html`
    <a href=${place(view === "recall" ? "" : view)} aria-current=${isHere ? "page" : null}>
      <${Icon} name=${view} /><span>${words}</span>
      ${view === "inbox" && waiting.value > 0 && html`
        <b class="badge"><span aria-hidden="true">${waiting.value > MOST ? `${MOST}+` : waiting.value}</span><span class="unseen">, ${waiting.value} waiting</span></b>`}
    </a>`;
};

const ThemeButton = () => {
  const isDark = theme.value ? theme.value === "dark" : isSystemDark.value;
  const next = isDark ? "light" : "dark";
  return html`
    <button type="button" class="quiet icon-only" aria-label=${`Use ${next} colours`} title=${`Use ${next} colours`}
      onClick=${() => chooseTheme(next)}><${Icon} name=${next} /></button>`;
};

const Top = () => html`
  <header class="top">
    <a class="brand" href="#/" aria-label="Bear in Mind, start"><${Logo} /><span>Bear in Mind</span></a>
    <nav aria-label="Pages">${Object.entries(TABS).map(([view, words]) =>
      html`<${Tab} key=${view} view=${view} words=${words} />`)}</nav>
    <div class="tools">
      ${mayChange() && html`<button type="button" class="primary new" aria-label="New memory" onClick=${add}><${Icon} name="add" /><span>New</span></button>`}
      <${AsOfButton} />
      <${ThemeButton} />
      <button type="button" class="quiet icon-only only-wide" aria-label="Keys of the keyboard" title="Keys of the keyboard (?)"
        onClick=${() => { isHelpOpen.value = true; }}><${Icon} name="keyboard" /></button>
      ${session.value && html`<a class="person" href=${place("signin")} aria-label=${`Signed in as ${session.value.user}`}>
        <${Icon} name="person" /><${Foreign} text=${session.value.user} /></a>`}
    </div>
  </header>`;

const KEYS = {
  "/": "ask a question",
  "j k ↑ ↓": "move in a list",
  Enter: "open",
  Escape: "go back",
  n: "write a new memory",
  e: "edit the memory that is shown",
  "1 2 3 4": "decide about the proposal in focus",
  u: "take back the last decision or change",
  x: "select the memory in focus",
  t: "look at another time",
  "?": "show these keys",
};

const Help = () => html`
  <${Dialog} title="Keys of the keyboard" onClose=${() => { isHelpOpen.value = false; }}>
    <dl class="keys">${Object.entries(KEYS).map(([keys, does]) => html`
      <div key=${keys}><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${does}</dd></div>`)}</dl>
  <//>`;

/** Says that the server is gone, and asks until it is back. */
const Offline = () => {
  useEffect(() => {
    const timer = setInterval(async () => {
      if (!(await api.isAlive())) return;
      isOffline.value = false;
      status.value = "The server answers again.";
      changed();
    }, PAUSE);
    return () => clearInterval(timer);
  }, []);
  return html`<p class="offline" role="alert">The server does not answer. The page goes on as soon as it does.</p>`;
};

// ---- the view -------------------------------------------------------------------------------

const Missing = ({ name }) => html`
  <h1 tabindex="-1">Nothing is here</h1>
  <${Notice} title="This address leads nowhere"><p>The page has no view <code>${name}</code>. <a href="#/">Go to the start</a></p><//>`;

const Main = () => {
  const { view, rest, fields } = route.value;
  const [loaded, setLoaded] = useState({ view: null, View: null, problem: null });
  const main = useRef(null);
  const name = isSignInNeeded.value && view !== "signin" ? "signin" : view;
  useEffect(() => {
    let isCurrent = true;
    (VIEWS[name]?.() ?? Promise.resolve({ View: Missing })).then(
      ({ View }) => isCurrent && setLoaded({ view: name, View, problem: null }),
      () => isCurrent && setLoaded({ view: name, View: null, problem: new api.Problem(0, { detail: "The server does not answer." }) }));
    return () => { isCurrent = false; };
  }, [name, isOffline.value]);
  const isReady = loaded.view === name && (isSessionKnown.value || isEntering.value);
  useLayoutEffect(() => { // where reading goes on: at the item that was opened, or at the top; a field keeps the focus
    if (!isReady) return undefined;
    scrollTo(0, 0);
    const focus = () => {
      const item = [...main.current.querySelectorAll("[data-item]")].find((each) => each.dataset.item === returnsTo());
      const heading = main.current.querySelector("h1");
      const isWaiting = returnsTo() && main.current.querySelector("[aria-busy]"); // the item may still come
      if (!heading || (isWaiting && !item)) return false;
      if (!document.activeElement?.matches("input, textarea")) (item ?? heading).focus({ preventScroll: !item });
      return true;
    };
    if (focus()) return undefined;
    const watcher = new MutationObserver(() => focus() && watcher.disconnect());
    watcher.observe(main.current, { childList: true, subtree: true, attributeFilter: ["aria-busy"] });
    return () => watcher.disconnect();
  }, [isReady && loaded.view, rest]);
  const { View } = loaded;
  return html`
    <main id="main" ref=${main} tabindex="-1" class=${`view-${name}`} aria-busy=${isReady ? null : "true"}>
      ${isReady && View && html`<${View} key=${`${name}/${rest}`} name=${name} rest=${rest} fields=${fields} />`}
      ${isReady && loaded.problem && html`<h1 tabindex="-1">No answer</h1><${Trouble} problem=${loaded.problem} />`}
    </main>`;
};

/** What the shell itself knows of the store: who asks, what there is, what waits. */
const useShell = () => {
  useEffect(() => {
    const running = new AbortController();
    const { signal: stop } = running;
    const quietly = (promise, then) => promise.then(then, () => {});
    const look = async () => {
      try {
        session.value = await api.session(stop);
        isSignInNeeded.value = false;
      } catch (problem) {
        if (problem instanceof api.Problem) isSessionKnown.value = true; // else it was asked again
        return; // the rest would be refused too
      }
      isSessionKnown.value = true;
      quietly(api.counts(stop), (known) => { counts.value = known; });
      quietly(api.proposals(["open"], stop), ({ proposals }) => { waiting.value = proposals.length; });
    };
    if (!isEntering.value) look();
    return () => running.abort();
  }, [revision.value, isSignInNeeded.value, isEntering.value]);
};

const Shell = () => {
  useShell();
  const Form = form.value;
  const { file, Shown } = dropped.value ?? {};
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    }}>Skip to the content</a>
    <${Top} />
    <${AsOfBar} />
    ${isOffline.value && html`<${Offline} />`}
    <${Main} />
    <p id="status" class="unseen" role="status" aria-live="polite">${status.value}</p>
    <${Toasts} />
    ${isHelpOpen.value && html`<${Help} />`}
    ${isFormOpen.value && html`<${Form} onClose=${() => { isFormOpen.value = false; }} />`}
    ${file && html`<${Shown} dropped=${file} onClose=${() => { dropped.value = null; }} />`}`;
};

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  document.documentElement.dataset.then = asOf.value ? "yes" : "";
});
effect(() => {
  document.title = `${TABS[route.value.view] ?? "Memory"} · Bear in Mind`;
});
listen({
  "/": ask,
  "?": () => { isHelpOpen.value = true; },
  n: () => (mayChange() ? void add() : false),
  u: undoLast,
  t: () => document.getElementById("as-of-button")?.click(),
  Escape: back,
});
document.addEventListener("dragover", take);
document.addEventListener("drop", take);
document.getElementById("page").replaceChildren();
render(html`<${Shell} />`, document.getElementById("page"));
