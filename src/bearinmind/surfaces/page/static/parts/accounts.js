// Users and keys: an administrator looks after those of everybody, others see their own.

import * as api from "../api.js";
import { Confirm, Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { html, useRef, useState } from "./lib.js";
import { attempt, useLoad } from "./load.js";
import { Notice, Trouble } from "./notice.js";
import { changed, isAdmin, mayWrite, session, tell } from "./state.js";
import { Foreign, When } from "./text.js";
import { day } from "./words.js";

const ACCESS = { read: "read", write: "read and write", admin: "administrator" };
const ENDS = [["", "never"], ["7", "in 7 days"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]];
const DAY = 86_400_000;

const part = (id) => encodeURIComponent(id);

/** The moment from which on a key is not good any more, or null. */
const endOf = ({ expires_at: expires, revoked_at: revoked }) => [expires, revoked].filter(Boolean).sort()[0] ?? null;
const isGood = (key) => !endOf(key) || new Date(endOf(key)) > new Date();

// ---- a key that was just made ---------------------------------------------------------------

/** The text of a new key: it is shown here, and never again. */
const NewKey = ({ made, onClose }) => {
  const field = useRef(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(made.text);
      tell("Copied.");
    } catch { // not over https, or not allowed: it is selected for the reader to copy
      field.current.select();
    }
  };
  return html`
    <${Dialog} title="The new key" onClose=${onClose}>
      <div class="stack">
        <p>For <${Foreign} as="b" text=${made.key.user} />. <b>Copy it now:</b> it is shown only this once, and the server keeps no copy.</p>
        <label class="field"><span>Key</span><input id="new-key" ref=${field} readonly value=${made.text} onFocus=${({ target }) => target.select()} /></label>
        <div class="actions"><button type="button" onClick=${copy}>Copy</button><button type="button" class="primary" onClick=${onClose}>I have it</button></div>
      </div>
    <//>`;
};

const KeyForm = ({ users, onMade, onClose }) => {
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const days = Number(data.get("days"));
    const limits = ["per_minute", "per_day"].filter((name) => data.get(name)).map((name) => [name, Number(data.get(name))]);
    try {
      onMade(await api.post("/keys", {
        user: data.get("user"), access: data.get("access"), label: data.get("label").trim(), ...Object.fromEntries(limits),
        ...(days ? { expires_at: new Date(Date.now() + days * DAY).toISOString() } : {}),
      }));
    } catch (error) {
      if (!(error instanceof api.Problem)) throw error;
      setProblem(error);
    }
  };
  return html`
    <${Dialog} title="Make a key" onClose=${onClose}>
      <form class="form stack" onSubmit=${submit} autocomplete="off">
        <label class="field"><span>For whom</span><select name="user">${users.map(({ name }) => html`<option key=${name}>${name}</option>`)}</select></label>
        <label class="field"><span>It may be used to</span><select name="access"><option value="write">read and change memories</option>
          <option value="read">read memories</option><option value="admin">do everything: administrator</option></select></label>
        <label class="field"><span>Where it is used</span><input name="label" maxlength="100" placeholder="laptop, Claude Code" /></label>
        <div class="fields">
          <label class="field"><span>It ends</span><select name="days">${ENDS.map(([days, words]) => html`<option key=${days} value=${days}>${words}</option>`)}</select></label>
          <label class="field"><span>Most requests a minute</span><input name="per_minute" type="number" min="1" max="1000000" /></label>
          <label class="field"><span>Most writes a day</span><input name="per_day" type="number" min="1" max="1000000000" /></label>
        </div>
        ${problem && html`<${Trouble} problem=${problem} />`}
        <div class="actions"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary">Make the key</button></div>
      </form>
    <//>`;
};

// ---- lists ----------------------------------------------------------------------------------

const limits = (key, used) => [
  key.per_minute && `${key.per_minute.toLocaleString("en")} requests a minute`,
  key.per_day && `${(used[key.id] ?? 0).toLocaleString("en")} of ${key.per_day.toLocaleString("en")} writes today`,
].filter(Boolean).join(", ") || "none";

const standing = (key) => {
  const end = endOf(key);
  if (!end) return html`<span class="mark good">good</span>`;
  if (isGood(key)) return html`<span class="mark old">until ${day(end)}</span>`;
  return html`<span class="mark deleted">${end === key.revoked_at ? "revoked" : "expired"}</span>`;
};

/** Keys, with what may be done to each: an administrator renews any, others the one that they use. */
const Keys = ({ keys, used, onMade }) => {
  const [revoking, setRevoking] = useState(null);
  const renew = (key) => attempt(() => (isAdmin() ? api.post(`/keys/${part(key.id)}/renew`, {}) : api.post("/me/key/renew", {})))
    .then((made) => made && onMade(made));
  const revoke = () => {
    attempt(() => api.change("DELETE", `${isAdmin() ? "/keys" : "/me/keys"}/${part(revoking.id)}`), "The key is revoked.");
    setRevoking(null);
  };
  const mayRenew = (key) => isGood(key) && (isAdmin() || (mayWrite() && key.id === session.value?.key));
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Table of keys"><table id="keys">
      <thead><tr><th scope="col">Key</th><th scope="col">User</th><th scope="col">Where</th><th scope="col">May</th>
        <th scope="col">Limits</th><th scope="col">State</th><th scope="col"><span class="unseen">What can be done</span></th></tr></thead>
      <tbody>${keys.map((key) => html`
        <tr key=${key.id}><th scope="row"><span class="id">${key.id}</span></th><td data-head="User"><${Foreign} text=${key.user} /></td>
          <td data-head="Where">${key.label && html`<${Foreign} text=${key.label} />`}</td><td data-head="May">${ACCESS[key.access]}</td><td data-head="Limits">${limits(key, used)}</td><td data-head="State">${standing(key)}</td>
          <td><div class="actions">
            ${mayRenew(key) && html`<button type="button" aria-label=${`Renew the key ${key.id}`} onClick=${() => renew(key)}>Renew</button>`}
            ${isGood(key) && mayWrite() && html`<button type="button" aria-label=${`Revoke the key ${key.id}`} onClick=${() => setRevoking(key)}>Revoke</button>`}
          </div></td></tr>`)}</tbody>
    </table></div>
    ${revoking && html`<${Confirm} title="Revoke this key?" action="Revoke it" onYes=${revoke} onClose=${() => setRevoking(null)}>
      <p>Whatever uses the key <span class="id">${revoking.id}</span> of <${Foreign} text=${revoking.user} /> is refused from now on. This cannot be undone.</p><//>`}`;
};

const UserForm = () => {
  const add = async (event) => {
    event.preventDefault();
    const form = event.target;
    const name = new FormData(form).get("name").trim();
    if (await attempt(() => api.post("/users", { name }), `Added ${name}. Make a key for them next.`)) form.reset();
  };
  return html`
    <form class="row" onSubmit=${add} autocomplete="off"><label class="field"><span>Add a user</span><input name="name" required maxlength="100" /></label>
      <button type="submit">Add</button></form>`;
};

const Users = ({ users }) => {
  const set = (user, verb) => attempt(() => api.post(`/users/${part(user.name)}/${verb}`),
    verb === "disable" ? `${user.name} is locked out; their memories stay.` : `${user.name} is let in again.`,
    () => api.post(`/users/${part(user.name)}/${verb === "disable" ? "enable" : "disable"}`));
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Table of users"><table id="users">
      <thead><tr><th scope="col">User</th><th scope="col">Since</th><th scope="col">State</th><th scope="col"><span class="unseen">What can be done</span></th></tr></thead>
      <tbody>${users.map((user) => html`
        <tr key=${user.name}><th scope="row"><${Foreign} text=${user.name} /></th><td data-head="Since"><${When} at=${user.created_at} /></td>
          <td data-head="State">${user.disabled_at ? html`<span class="mark deleted">locked out</span>` : html`<span class="mark good">let in</span>`}</td>
          <td>${user.disabled_at
            ? html`<button type="button" aria-label=${`Let in again: ${user.name}`} onClick=${() => set(user, "enable")}>Let in again</button>`
            : user.name !== session.value?.user && html`<button type="button" aria-label=${`Lock out ${user.name}`} onClick=${() => set(user, "disable")}>Lock out</button>`}</td></tr>`)}</tbody>
    </table></div>`;
};

/** What the reader may see of users and keys. */
export const Accounts = () => {
  const [made, setMade] = useState(null);
  const [isFormOpen, setIsFormOpen] = useState(false);
  const { value, problem, again } = useLoad(async (signal) => {
    if (!isAdmin()) return { users: [], ...await api.get("/me/keys", {}, signal) };
    const [{ users }, keys] = await Promise.all([api.get("/users", {}, signal), api.get("/keys", {}, signal)]);
    return { users, ...keys };
  }, [isAdmin()]);
  const show = (key) => {
    setIsFormOpen(false);
    setMade(key);
  };
  const close = () => {
    setMade(null);
    changed();
  };
  if (problem) return html`<${Trouble} problem=${problem} again=${again} />`;
  if (!value) return null;
  return html`
    ${isAdmin() && html`<section class="panel" aria-labelledby="users-title"><div class="spread"><h2 id="users-title">Users</h2><${UserForm} /></div>
      ${value.users.length ? html`<${Users} users=${value.users} />` : html`<p>There are no users yet. With the first one this server wants keys: make one for yourself at once, as an administrator.</p>`}</section>`}
    <section class="panel" aria-labelledby="keys-title"><div class="spread"><h2 id="keys-title">${isAdmin() ? "Keys" : "Your keys"}</h2>
        ${isAdmin() && value.users.length > 0 && html`<button type="button" class="primary" onClick=${() => setIsFormOpen(true)}><${Icon} name="add" />Make a key</button>`}</div>
      ${value.keys.length ? html`<${Keys} keys=${value.keys} used=${value.writes_today} onMade=${show} />` : html`<${Notice} title="There are no keys" />`}</section>
    ${isFormOpen && html`<${KeyForm} users=${value.users.filter((user) => !user.disabled_at)} onMade=${show} onClose=${() => setIsFormOpen(false)} />`}
    ${made && html`<${NewKey} made=${made} onClose=${close} />`}`;
};
