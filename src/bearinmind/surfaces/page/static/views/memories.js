// All memories, page by page, with filters and changes to many at once.

import * as api from "../api.js";
import { Card } from "../parts/card.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { html, useEffect, useLayoutEffect, useMemo, useState } from "../parts/lib.js";
import { attempt, useLoad } from "../parts/load.js";
import { Notice, Trouble } from "../parts/notice.js";
import { place, replace } from "../parts/router.js";
import { ShareForm } from "../parts/sharing.js";
import { asOf, changed, counts, mayChange, session, status, tell } from "../parts/state.js";
import { ImportDialog, exportFile } from "../parts/transfer.js";
import { Foreign } from "../parts/text.js";
import { day, many, parts, time } from "../parts/words.js";

const PAGE = 30; // memories of a page
const STATES = { live: "present", superseded: "replaced", expired: "no longer valid", deleted: "deleted", all: "all" };

/** Filters that come with a link, in words: they have no field. */
const SAYS = {
  until: (value) => `only until ${/^\d{4}-/.test(value) ? day(value) : value}`,
  project: (value) => `only of the project ${value}`,
  session: (value) => `only of the session ${value}`,
};

const queryOf = (fields) => {
  const state = fields.get("state");
  return {
    categories: parts(fields.get("category")),
    tags: parts(fields.get("tags")),
    project: fields.get("project"),
    session: fields.get("session"),
    owner: fields.get("owner"),
    created_from: time(fields.get("since")),
    created_to: time(fields.get("until")),
    states: state === "all" ? ["live", "superseded", "expired", "deleted"] : parts(state),
    newest_first: fields.get("order") !== "oldest",
    after: fields.get("after"),
    limit: PAGE,
  };
};

const Filters = ({ fields }) => {
  const value = (name) => fields.get(name) ?? "";
  const set = (name) => ({ target }) => {
    const others = Object.fromEntries([...fields].filter(([each]) => each !== "after" && each !== name));
    replace(place("memories", { ...others, [name]: target.value }));
  };
  const isNarrow = [...fields.keys()].some((name) => name !== "after" && name !== "order");
  return html`
    <form class="panel filters" aria-label="Filters" onSubmit=${(event) => event.preventDefault()}>
      <div class="fields">
        <label class="field"><span>Category</span><select name="category" value=${value("category")} onChange=${set("category")}>
          <option value="">any</option>${[...new Set([...Object.keys(counts.value?.categories ?? {}), value("category")].filter(Boolean))].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
        <label class="field"><span>Tags, all of these</span><input name="tags" dir="auto" list="all-tags" value=${value("tags")} onChange=${set("tags")} />
          <datalist id="all-tags">${Object.keys(counts.value?.tags ?? {}).map((tag) => html`<option key=${tag} value=${tag} />`)}</datalist></label>
        <label class="field"><span>State</span><select name="state" value=${value("state") || "live"} onChange=${set("state")}>
          ${Object.entries(STATES).map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}</select></label>
        <label class="field"><span>Whose</span><select name="owner" value=${value("owner")} onChange=${set("owner")}>
          <option value="">all that I see</option><option value="me">mine</option><option value="others">of others</option>
          ${value("owner") && !["me", "others"].includes(value("owner")) && html`<option value=${value("owner")}>${value("owner")}</option>`}</select></label>
        <label class="field"><span>Since</span><input name="since" placeholder="2w or 2026-11-01" value=${value("since")} onChange=${set("since")} /></label>
        <label class="field"><span>Order</span><select name="order" value=${value("order")} onChange=${set("order")}>
          <option value="">newest first</option><option value="oldest">oldest first</option></select></label>
      </div>
      ${isNarrow && html`<div class="chips">${Object.keys(SAYS).filter(value).map((name) => html`
        <button key=${name} type="button" class="chip on" title="Take this filter away" onClick=${() => set(name)({ target: { value: "" } })}>
          <${Foreign} text=${SAYS[name](value(name))} /><${Icon} name="close" /><span class="unseen">, take away</span></button>`)}
        <a class="chip" href=${place("memories")}>Take all filters away</a></div>`}
    </form>`;
};

// ---- changes to many ------------------------------------------------------------------------

/** Does the same to many memories; those for which it worked are given back. */
const each = async (memories, action) => {
  const answers = await Promise.allSettled(memories.map(action));
  const done = memories.filter((_, at) => answers[at].status === "fulfilled");
  const failure = answers.find((answer) => answer.status === "rejected")?.reason;
  changed();
  if (failure) tell(`${many(memories.length - done.length, "memory was", "memories were")} not changed: ${failure.message}`);
  return done;
};

const removeAll = async (memories) => {
  const done = await each(memories, ({ id }) => api.remove(id));
  const undo = () => each(done, ({ id }) => api.restore(id)).then(() => tell("Undone."));
  if (done.length) tell(`${many(done.length, "memory", "memories")} deleted.`, undo);
};

const restoreAll = async (memories) => {
  const done = await each(memories, ({ id }) => api.restore(id));
  const undo = () => each(done, ({ id }) => api.remove(id)).then(() => tell("Undone."));
  if (done.length) tell(`${many(done.length, "memory", "memories")} restored.`, undo);
};

const tagAll = async (memories, tag) => {
  const lacking = memories.filter(({ tags }) => !tags.includes(tag));
  const done = await each(lacking, ({ id, tags }) => api.update(id, { tags: [...tags, tag] }));
  const undo = () => each(done, ({ id, tags }) => api.update(id, { tags })).then(() => tell("Undone."));
  if (done.length) tell(`${many(done.length, "memory", "memories")} tagged #${tag}.`, undo);
};

const TagDialog = ({ memories, onClose }) => html`
  <${Dialog} title=${`Tag ${many(memories.length, "memory", "memories")}`} onClose=${onClose}>
    <form class="form stack" onSubmit=${(event) => {
      event.preventDefault();
      tagAll(memories, new FormData(event.target).get("tag").trim());
      onClose();
    }}>
      <label class="field"><span>Tag</span><input name="tag" required pattern="[^,]+" autofocus /></label>
      <div class="actions"><button type="submit" class="primary">Add the tag</button></div>
    </form>
  <//>`;

const Bulk = ({ chosen, onClear }) => {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const deleted = chosen.filter(({ state }) => state === "deleted");
  const present = chosen.filter(({ state }) => state !== "deleted");
  const run = (action) => async () => {
    await action();
    onClear();
  };
  return html`
    <div class="bulk row" role="region" aria-label="Selected memories">
      <b>${many(chosen.length, "memory", "memories")} selected</b>
      ${present.length > 0 && html`<button type="button" onClick=${run(() => removeAll(present))}><${Icon} name="remove" />Delete</button>
        <button type="button" onClick=${() => setOpen("tag")}><${Icon} name="add" />Tag</button>
        <button type="button" onClick=${() => setOpen("share")}><${Icon} name="share" />Share</button>`}
      ${deleted.length > 0 && html`<button type="button" onClick=${run(() => restoreAll(deleted))}><${Icon} name="restore" />Restore</button>`}
      <button type="button" class="quiet" onClick=${onClear}>Select none</button>
      ${open === "tag" && html`<${TagDialog} memories=${present} onClose=${() => { close(); onClear(); }} />`}
      ${open === "share" && html`<${ShareForm} memories=${present} onClose=${() => { close(); onClear(); }} />`}
    </div>`;
};

// ---- the list -------------------------------------------------------------------------------

const List = ({ page, fields }) => {
  const [ids, setIds] = useState(new Set());
  const chosen = page.memories.filter(({ id }) => ids.has(id));
  const isOwn = ({ owner }) => !session.value || owner === session.value.user;
  const toggle = (id) => setIds((before) => { // keys may be quicker than drawing
    const next = new Set(before);
    if (!next.delete(id)) next.add(id);
    return next;
  });
  useLayoutEffect(() => { // at once: a key that is pressed next counts
    const press = (event) => {
      if (event.key !== "x" || document.querySelector("dialog[open]")) return;
      document.activeElement?.closest(".card")?.querySelector(".select input")?.click();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  const others = Object.fromEntries([...fields].filter(([name]) => name !== "after"));
  const all = page.memories.filter(isOwn);
  return html`
    ${mayChange() && all.length > 0 && html`<label class="check faint"><input type="checkbox" checked=${all.length > 0 && all.every(({ id }) => ids.has(id))}
      onChange=${({ target }) => setIds(new Set(target.checked ? all.map(({ id }) => id) : []))} />Select all on this page</label>`}
    ${chosen.length > 0 && html`<${Bulk} chosen=${chosen} onClear=${() => setIds(new Set())} />`}
    <ol class="cards" aria-label="Memories">${page.memories.map((memory) => html`
      <${Card} key=${memory.id} memory=${memory} mine=${session.value?.user ?? null}
        lead=${mayChange() && isOwn(memory) && html`<label class="select"><span class="unseen">Select</span>
          <input type="checkbox" checked=${ids.has(memory.id)} onChange=${() => toggle(memory.id)} /></label>`} />`)}</ol>
    <nav class="actions pages" aria-label="Pages of the list">
      ${fields.get("after") && html`<a class="button" href=${place("memories", others)}>First page</a>`}
      ${page.next && html`<a class="button" href=${place("memories", { ...others, after: page.next })}>Next page</a>`}</nav>`;
};

const Nothing = ({ fields }) => {
  if ([...fields.keys()].length) return html`<${Notice} title="No memory is like that"><p><a href=${place("memories")}>Take all filters away</a></p><//>`;
  if (asOf.value) return html`<${Notice} title="Nothing was known then" />`;
  return html`<${Notice} title="There are no memories"><p>Press <b>New</b> to write one, drop a file to import what you have, or let an agent store what it learns.</p><//>`;
};

export const View = ({ fields }) => {
  // Made once for an address: "1h" counts back from when it was opened.
  const query = useMemo(() => queryOf(fields), [fields.toString()]);
  const { value, problem, busy, again } = useLoad((signal) => api.list(query, signal), [JSON.stringify(query)]);
  const [isImporting, setImporting] = useState(false);
  const [isFiltering, setFiltering] = useState([...fields.keys()].some((name) => name !== "after"));
  useEffect(() => {
    if (value) status.value = `${many(value.memories.length, "memory", "memories")} on this page`;
  }, [value]);
  return html`
    <div class="stack" aria-busy=${busy ? "true" : null}>
      <div class="spread"><h1 tabindex="-1">Memories</h1>
        <div class="actions">
          <button type="button" aria-expanded=${isFiltering} onClick=${() => setFiltering(!isFiltering)}><${Icon} name="filter" />Filter</button>
          ${mayChange() && html`<button type="button" onClick=${() => setImporting(true)}><${Icon} name="drop" />Import</button>`}
          <button type="button" onClick=${() => attempt(exportFile)}><${Icon} name="save" />Export</button></div></div>
      ${counts.value && html`<p class="faint">${many(counts.value.live, "present memory", "present memories")}${counts.value.superseded ? `, ${counts.value.superseded.toLocaleString("en")} replaced` : ""}${counts.value.deleted ? `, ${counts.value.deleted.toLocaleString("en")} deleted` : ""}${counts.value.shared ? `, ${counts.value.shared.toLocaleString("en")} shared by others` : ""}</p>`}
      ${isFiltering && html`<${Filters} fields=${fields} />`}
      ${problem && html`<${Trouble} problem=${problem} again=${again} />`}
      ${value && (value.memories.length
        ? html`<${List} key=${JSON.stringify(query)} page=${value} fields=${fields} />`
        : html`<${Nothing} fields=${fields} />`)}
      ${isImporting && html`<${ImportDialog} onClose=${() => setImporting(false)} />`}
    </div>`;
};
