// Getting in: by a provider, by a link that works once, or by a key. All become a session, which is a cookie that no
// script can read; none of them stays in the page, its address or its storage.

import * as api from "../api.js";
import { html, useEffect, useState } from "../parts/lib.js";
import { Notice, Trouble } from "../parts/notice.js";
import { replace } from "../parts/router.js";
import { changed, isEntering, isSessionKnown, isSignInNeeded, session, tell } from "../parts/state.js";
import { Facts, Foreign, When } from "../parts/text.js";

const UNAUTHORIZED = 401;
const ACCESS = {
  read: "may read memories",
  write: "may read and change memories",
  admin: "may do everything, and look after users and keys",
};

const opened = (who) => {
  session.value = who;
  isSessionKnown.value = true;
  isSignInNeeded.value = false;
  changed();
};

const open = (body, headers = {}) => api.change("POST", "/session", body, { headers }).then(opened);

/** Why nobody was signed in, without words of the server where plain ones do. */
const Refused = ({ problem, byLink }) => {
  if (problem.status !== UNAUTHORIZED) return html`<${Trouble} problem=${problem} />`;
  return byLink
    ? html`<${Notice} kind="warn" title="This link does not work any more">
        <p>A link signs one browser in, once, within ten minutes. It was used before, it is too old, or a part of it is missing.</p>
        <p>Start <code>bearinmind serve</code> again for a new link, or sign in with a key.</p><//>`
    : html`<section class="notice trouble" role="alert"><h2>This key is not good</h2>
        <p>Check that it is whole. It may also have expired, or been revoked: ask who gave it to you for another.</p></section>`;
};

const KeyForm = ({ onProblem }) => {
  const submit = (event) => {
    event.preventDefault();
    const key = new FormData(event.target).get("key").trim();
    event.target.reset();
    open({}, { Authorization: `Bearer ${key}` }).then(() => replace("#/"), onProblem);
  };
  return html`
    <form class="panel stack" onSubmit=${submit} autocomplete="off">
      <label class="field"><span>Your key</span>
        <input name="key" type="password" required autocomplete="off" spellcheck="false" placeholder="bim_…" /></label>
      <div class="actions"><button type="submit" class="primary">Sign in</button></div>
      <p class="faint">A key is made by <code>bearinmind key create NAME</code>, or by an administrator on this page. It is sent to this server alone, and not kept.</p>
    </form>`;
};

/** The way to the provider at which people sign in, if the server has one. */
const ProviderLink = ({ provider }) => html`
  <section class="panel stack" aria-label="By your provider">
    <p><a class="button" href="/signin">Sign in with <${Foreign} text=${provider} /></a></p>
    <p class="faint">You go there and come back; this page never sees your password.
      <a href="/signin/end">Sign out there</a> when others use this browser.</p>
  </section>`;

/** Who is signed in, and the way out. */
const SignedIn = ({ who }) => {
  const leave = async () => {
    try {
      await api.signOut();
    } catch (problem) {
      tell(problem.message);
      return;
    }
    session.value = null;
    isSignInNeeded.value = true;
    tell("You are signed out.");
  };
  return html`
    <section class="panel" aria-label="You">
      <${Facts} pairs=${[
        ["name", html`<${Foreign} text=${who.user} />`],
        ["access", ACCESS[who.access]],
        ["key", who.key && html`<span class="id">${who.key}</span>`],
        ["signed in until", who.expires_at && html`<${When} at=${who.expires_at} />`],
      ]} />
      ${who.via === "open"
        ? html`<p>This server stands open to whoever uses this machine, so there is nothing to sign out of. It wants keys as soon as it has a user.</p>`
        : html`<div class="actions"><button type="button" onClick=${leave}>Sign out</button></div>`}
    </section>`;
};

export const View = ({ fields }) => {
  const [link] = useState(fields.get("link"));
  const [state, setState] = useState({ busy: Boolean(link), problem: null, byLink: Boolean(link) });
  const [provider, setProvider] = useState(null);
  const refuse = (byLink) => (problem) => setState({ busy: false, problem, byLink });
  useEffect(() => {
    api.provider().then((known) => setProvider(known.provider), () => {});
    if (!link) return;
    replace("#/signin"); // the token leaves the address and the history before it is used
    open({ link }).then(() => replace("#/"), refuse(true)).finally(() => {
      isSessionKnown.value = true;
      isEntering.value = false;
    });
  }, []);
  if (state.busy) return html`<h1 tabindex="-1" aria-busy="true">Signing in …</h1>`;
  const who = isSignInNeeded.value ? null : session.value;
  return html`
    <div class="stack narrow">
      <h1 tabindex="-1">${who ? "You are signed in" : "Sign in"}</h1>
      ${state.problem && html`<${Refused} problem=${state.problem} byLink=${state.byLink} />`}
      ${who
        ? html`<${SignedIn} who=${who} />`
        : html`<p>These memories are private. Open the link that <code>bearinmind serve</code> printed, or give a key.</p>
          ${provider && html`<${ProviderLink} provider=${provider} />`}
          <${KeyForm} onProblem=${refuse(false)} />`}
    </div>`;
};
