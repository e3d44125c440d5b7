// The server: how it does, what is asked of it, who may come in, and what was done.

import * as api from "../api.js";
import { Accounts } from "../parts/accounts.js";
import { html } from "../parts/lib.js";
import { attempt, useLoad } from "../parts/load.js";
import { Notice, Trouble } from "../parts/notice.js";
import { ofMemory, ofTag, place } from "../parts/router.js";
import { counts, isAdmin, session } from "../parts/state.js";
import { Facts, Foreign, When } from "../parts/text.js";
import { Traffic } from "../parts/traffic.js";

const MIB = 2 ** 20;
const WORK = { embed: "Learn what memories mean", extract: "Read memories for the graph", compare: "Compare with earlier memories" };
const AUDITED = 200; // entries that are shown

const bytes = (size) => (size < MIB ? `${Math.ceil(size / 1024).toLocaleString("en")} KiB` : `${(size / MIB).toFixed(1)} MiB`);

/** What `load` gives, in a panel; nothing before it is there. */
const Panel = ({ title, load, children }) => {
  const { value, problem, again } = useLoad(load);
  return html`<section class="panel" aria-label=${title}><h2>${title}</h2>
    ${problem && html`<${Trouble} problem=${problem} again=${again} />`}
    ${value && children(value)}</section>`;
};

const Table = ({ label, heads, rows }) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${`Table: ${label}`}><table>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell, at) => html`<td data-head=${typeof heads[at] === "string" ? heads[at] : null}>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;

const text = (value) => (value ? html`<${Foreign} text=${value} />` : null);

// ---- how it does ----------------------------------------------------------------------------

const Health = () => html`
  <${Panel} title="Health" load=${async (signal) => (await api.send("/readyz", { signal })).json()}>${({ degraded }) => html`
    <p class="row"><span class=${degraded.length ? "mark old" : "mark good"}>${degraded.length ? "needs a look" : "all well"}</span></p>
    ${degraded.length > 0 && html`<ul>${degraded.map((each) => html`<li>${each}</li>`)}</ul>`}
    ${counts.value && html`<${Facts} pairs=${[
      ["your live memories", counts.value.live.toLocaleString("en")],
      ["replaced", counts.value.superseded.toLocaleString("en")],
      ["deleted", counts.value.deleted.toLocaleString("en")],
      ["earlier versions", counts.value.earlier_versions.toLocaleString("en")],
      ["shared with you", counts.value.shared.toLocaleString("en")],
    ]} />`}`}<//>`;

const Sizes = () => html`
  <${Panel} title="Sizes" load=${(signal) => api.get("/sizes", {}, signal)}>${({ facts, owners }) => html`
    <${Facts} pairs=${[
      ["the whole store", facts.bytes === null ? null : bytes(facts.bytes)],
      ...Object.entries(facts.versions ?? {}),
    ]} />
    ${owners.length > 0 && html`<${Table} label="Sizes by user" heads=${["User", "Versions of memories"]}
      rows=${owners.map(({ owner, versions }) => [text(owner), versions.toLocaleString("en")])} />`}`}<//>`;

const Work = () => {
  const retry = () => attempt(() => api.post("/work/retry"), "They are tried again.");
  return html`
    <${Panel} title="Background work" load=${async (signal) => {
      const [status, dead] = await Promise.all([api.get("/work", {}, signal), api.get("/work/dead", { limit: 50 }, signal)]);
      return { ...status, dead: dead.jobs };
    }}>${({ queue, dead }) => html`
      ${queue.length ? html`<${Table} label="Background work" heads=${["What", "State", "Jobs"]}
        rows=${queue.map(({ kind, state, jobs }) => [WORK[kind] ?? kind, state === "dead" ? "given up" : state, jobs.toLocaleString("en")])} />` : html`<p>Everything is done.</p>`}
      ${dead.length > 0 && html`
        <div class="spread"><h3>Given up after many attempts</h3><button type="button" onClick=${retry}>Try all of them again</button></div>
        <${Table} label="Jobs that were given up" heads=${["What", "Whose", "Memory", "Attempts", "Why"]}
          rows=${dead.map((job) => [WORK[job.kind] ?? job.kind, text(job.owner), job.owner === session.value?.user
            ? html`<a class="id" href=${ofMemory(job.memory)}>${job.memory}</a>` : html`<span class="id">${job.memory}</span>`, job.attempts, text(job.error)])} />`}`}<//>`;
};

const Overview = () => html`
  <${Traffic} />
  <div class="columns two"><div class="stack"><${Health} />${isAdmin() && html`<${Work} />`}</div>
    <div class="stack">${isAdmin() && html`<${Sizes} />`}</div></div>`;

// ---- who sees what, what was done -----------------------------------------------------------

const Shares = () => {
  const all = isAdmin();
  const load = async (signal) => {
    if (all) return (await api.get("/shares/all", {}, signal)).shares;
    const { given, got } = await api.shares(signal);
    return [...given, ...got];
  };
  const mine = session.value?.user;
  const end = ({ tag, memory, reader, right }) => attempt(
    () => (tag ? api.unshareTag(tag, reader) : api.unshare(memory, reader)), "The share is ended.",
    () => (tag ? api.shareTag(tag, reader, right) : api.share(memory, reader, right)));
  return html`
    <${Panel} title=${all ? "What everybody shares" : "What you share, and what is shared with you"} load=${load}>${(shares) => (shares.length
      ? html`<${Table} label="Shares" heads=${["Owner", "What", "With", "They may", "Since", html`<span class="unseen">What can be done</span>`]}
          rows=${shares.map((share) => [text(share.owner),
            share.tag ? html`everything tagged <a dir="auto" href=${ofTag(share.tag)}>#${share.tag}</a>` : html`<a class="id" href=${ofMemory(share.memory)}>${share.memory}</a>`,
            text(share.reader), share.right === "write" ? "read and change" : "read", html`<${When} at=${share.created_at} />`,
            share.owner === mine && html`<button type="button" aria-label=${`End the share with ${share.reader}`} onClick=${() => end(share)}>End</button>`])} />`
      : html`<p>Nothing is shared. A memory is shared from its own page.</p>`)}<//>`;
};

const Audit = () => html`
  <${Panel} title=${isAdmin() ? "What was done with secrets, shares, users and keys" : "What was done with your secrets, shares and keys"}
    load=${async (signal) => (await api.get(isAdmin() ? "/audit" : "/me/audit", { limit: AUDITED }, signal)).entries}>${(entries) => (entries.length
      ? html`<${Table} label="Audit" heads=${["When", "Whose", "What", "About", "By", "Key"]}
          rows=${entries.map((entry) => [html`<${When} at=${entry.at} />`, text(entry.owner), entry.action,
            (entry.id || entry.detail) && html`${entry.id && html`<span class="id">${entry.id}</span> `}${text(entry.detail)}`, text(entry.agent), entry.key && html`<span class="id">${entry.key}</span>`])} />`
      : html`<p>Nothing was done yet that is written down.</p>`)}<//>`;

const Reports = () => html`
  <${Panel} title="Benchmark reports" load=${async (signal) => (await api.get("/reports", {}, signal)).reports}>${(reports) => (reports.length
    ? html`<${Table} label="Benchmark reports" heads=${["Report", "Written", "Size"]}
        rows=${reports.map((report) => [html`<a dir="auto" target="_blank" rel="noopener" href=${`/reports/${encodeURIComponent(report.name)}`}>${report.name}</a>`,
          html`<${When} at=${report.written_at} />`, bytes(report.bytes)])} />`
    : html`<p>There are none. Set <code>reports</code> to the folder into which <code>bearinmind bench report</code> writes.</p>`)}<//>`;

// ---- the view -------------------------------------------------------------------------------

const PARTS = {
  "": { words: "Overview", Part: Overview },
  people: { words: "Users and keys", own: "Your keys", Part: Accounts },
  shares: { words: "Shares", Part: Shares },
  audit: { words: "Audit", Part: Audit },
  reports: { words: "Reports", Part: Reports, forAdmins: true },
};

export const View = ({ rest }) => {
  if (!session.value) return html`<h1 tabindex="-1" aria-busy="true">Server</h1>`;
  const parts = Object.entries(PARTS).filter(([, { forAdmins }]) => !forAdmins || isAdmin());
  const { Part } = Object.fromEntries(parts)[rest] ?? {};
  return html`
    <div class="stack">
      <h1 tabindex="-1">Server</h1>
      <nav class="chips" aria-label="Parts of the server">${parts.map(([name, { words, own }]) => html`
        <a key=${name} class=${name === rest ? "chip on" : "chip"} aria-current=${name === rest ? "page" : null}
          href=${place(name ? `server/${name}` : "server")}>${isAdmin() ? words : own ?? words}</a>`)}</nav>
      ${Part ? html`<${Part} />` : html`<${Notice} title="There is nothing here for you"><p>Only administrators see this part of the server.</p><//>`}
    </div>`;
};
