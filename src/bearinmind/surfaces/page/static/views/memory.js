// One memory: what it says, its past, its links, who sees it, what led to it, and every change to it.

import * as api from "../api.js";
import { Card, Marks, ReplacedBy } from "../parts/card.js";
import { Confirm, Dialog } from "../parts/dialog.js";
import { Changes } from "../parts/diff.js";
import { MemoryForm, kept } from "../parts/form.js";
import { Icon } from "../parts/icons.js";
import { html, useEffect, useLayoutEffect, useState } from "../parts/lib.js";
import { attempt, useLoad } from "../parts/load.js";
import { Notice, Trouble } from "../parts/notice.js";
import { MemoryPicker } from "../parts/picker.js";
import { WhyNot } from "../parts/reasons.js";
import { go, ofCategory, ofConcept, ofMemory, ofTag, place } from "../parts/router.js";
import { ShareForm } from "../parts/sharing.js";
import { asOf, mayChange, mayWrite, session, status } from "../parts/state.js";
import { Facts, Foreign, When } from "../parts/text.js";
import { LINK_WORDS, day, linked, many, percent, short } from "../parts/words.js";

const LINKED = 30; // memories at the other ends of links whose text is shown too
const LONG = 280; // characters from which a text is set smaller
const TRUST = { user: "a person said so", agent: "an agent concluded it", external: "read somewhere else, unverified" };

const Section = ({ title, children }) => html`
  <section class="panel" aria-label=${title}><h2>${title}</h2>${children}</section>`;

// ---- what it is -----------------------------------------------------------------------------

const Known = ({ memory }) => {
  const { agent, session: conversation, project, source, trust } = memory.provenance;
  const text = (value) => (value ? html`<${Foreign} text=${value} />` : null);
  return html`<${Facts} pairs=${[
    ["category", html`<a dir="auto" href=${ofCategory(memory.category)}>${memory.category}</a>`],
    ["tags", memory.tags.length ? html`<span class="metadata">${memory.tags.map((tag) => html`<a key=${tag} class="tag" dir="auto" href=${ofTag(tag)}>${tag}</a>`)}</span>` : null],
    ["remembered", html`<${When} at=${memory.created_at} />`],
    ["changed", memory.version > 1 ? html`<${When} at=${memory.updated_at} />` : null],
    ["true from", memory.valid_from && day(memory.valid_from)],
    ["true until", memory.valid_to && day(memory.valid_to)],
    ["importance", percent(memory.importance)],
    ["keywords", text(memory.keywords.join(", "))],
    ["source", TRUST[trust]],
    ["read at", text(source)],
    ["project", project && html`<a dir="auto" href=${place("memories", { project })}>${project}</a>`],
    ["agent", text(agent)],
    ["session", conversation && html`<a dir="auto" href=${place("memories", { session: conversation })}>${conversation}</a>`],
    ["owner", text(memory.owner)],
    ["id", html`<span class="id">${memory.id}</span>`],
  ]} />`;
};

/** The text of a sealed memory: shown on request, which the audit log records. */
const Sealed = ({ memory }) => {
  const [content, setContent] = useState(null);
  const reveal = async () => {
    const answer = await attempt(() => api.reveal(memory.id));
    if (answer) setContent(answer.content);
  };
  return html`
    <div class="secret">
      ${content === null
        ? html`<p>Its text is sealed. Revealing it is written to the audit log.</p>
          <div><button type="button" onClick=${reveal}><${Icon} name="eye" />Reveal the text</button></div>`
        : html`<${Foreign} as="p" class="content revealed" text=${content} />
          <div><button type="button" onClick=${() => setContent(null)}>Hide it again</button></div>`}
    </div>`;
};

const Concepts = ({ id }) => {
  const { value } = useLoad((signal) => api.conceptsOf(id, signal), [id]);
  const concepts = value ? [...new Map(Object.values(value.concepts).flat().map((each) => [each.name, each])).values()] : [];
  if (!concepts.length) return null;
  return html`
    <${Section} title="What it mentions">
      <div class="chips">${concepts.map(({ name, label }) => html`<a key=${name} class="chip" dir="auto" href=${ofConcept(name)}>${label}</a>`)}</div>
      <p><a href=${place("graph", { memory: id })}>See it in the graph</a></p>
    <//>`;
};

// ---- its past -------------------------------------------------------------------------------

const Versions = ({ memory, canChange }) => {
  const versions = [...memory.earlier, memory];
  if (versions.length === 1) return null;
  const back = (version) => attempt(() => api.update(memory.id, kept(version)), `Back to version ${version.version}.`,
    () => api.update(memory.id, kept(memory)));
  return html`
    <${Section} title="Versions">
      <ol class="versions">${versions.map((version, at) => html`
        <li key=${version.version}>
          <div class="spread"><b>${at === versions.length - 1 ? "Present version" : `Version ${version.version}`}</b> <span class="faint"><${When} at=${version.updated_at} /></span></div>
          ${at > 0 ? html`<${Changes} before=${versions[at - 1]} after=${version} />` : html`<${Foreign} as="p" class="content" text=${version.content} />`}
          ${at < versions.length - 2 && html`<details><summary>Everything that changed since</summary><${Changes} before=${version} after=${memory} /></details>`}
          ${canChange && at < versions.length - 1 && !version.sensitive && html`<div><button type="button" onClick=${() => back(version)}>
            <${Icon} name="restore" />Go back to this version</button></div>`}
        </li>`).reverse()}</ol>
    <//>`;
};

// ---- its links ------------------------------------------------------------------------------

const otherEnd = (link, id) => (link.source === id ? link.target : link.source);

const LinkForm = ({ memory, onClose }) => {
  const [kind, setKind] = useState("see-also");
  const make = async (other) => {
    const done = await attempt(() => api.link(memory.id, kind, other.id), "Linked.",
      () => api.unlink(memory.id, kind, other.id));
    if (done) onClose();
  };
  return html`
    <${Dialog} title="Link it to another memory" onClose=${onClose}>
      <div class="stack">
        <label class="field"><span>This memory</span><select value=${kind} onChange=${({ target }) => setKind(target.value)}>
          ${Object.entries(LINK_WORDS).map(([name, words]) => html`<option key=${name} value=${name}>${words} …</option>`)}</select></label>
        <${MemoryPicker} label="Which memory?" except=${memory.id} onPick=${make} focus=${true} />
      </div>
    <//>`;
};

const Links = ({ memory, canChange }) => {
  const links = memory.links.filter((link) => !link.removed_at);
  const ids = [...new Set(links.map((link) => otherEnd(link, memory.id)))].slice(0, LINKED);
  const { value } = useLoad(async (signal) => {
    const answers = await Promise.allSettled(ids.map((id) => api.memory(id, signal)));
    return new Map(answers.flatMap(({ value: each }) => (each ? [[each.id, each]] : [])));
  }, [ids.join()]);
  const end = ({ source, kind, target }) => attempt(() => api.unlink(source, kind, target), "The link is ended.",
    () => api.link(source, kind, target));
  if (!links.length) return null;
  return html`
    <${Section} title="Links"><ul class="linked">${links.map((link) => {
      const id = otherEnd(link, memory.id);
      return html`
        <li key=${`${link.source}${link.kind}${link.target}`}>
          <div><span class="faint">${linked(link, link.source === memory.id)}</span><br />
            <a class="content" dir="auto" data-item=${id} href=${ofMemory(id)}>${value?.get(id)?.content ?? id}</a></div>
          ${canChange && link.kind !== "outdates" && html`<button type="button" class="quiet icon-only" aria-label="End this link" title="End this link"
            onClick=${() => end(link)}><${Icon} name="close" /></button>`}
        </li>`;
    })}</ul><//>`;
};

// ---- who sees it ----------------------------------------------------------------------------

const Shares = ({ memory, canChange }) => {
  const { value } = useLoad((signal) => api.shares(signal), [memory.id]);
  const all = value ? [...value.given, ...value.got] : [];
  const about = all.filter(({ owner, memory: id, tag, ended_at: ended }) =>
    !ended && owner === memory.owner && (id === memory.id || memory.tags.includes(tag)));
  const end = ({ tag, reader, right }) => attempt(
    () => (tag ? api.unshareTag(tag, reader) : api.unshare(memory.id, reader)), "The share is ended.",
    () => (tag ? api.shareTag(tag, reader, right) : api.share(memory.id, reader, right)));
  if (!about.length) return null;
  return html`
    <${Section} title="Who else sees it"><ul class="linked">${about.map((share) => html`
      <li key=${`${share.reader}${share.tag}`}><div><${Foreign} text=${share.reader} /> may ${share.right === "write" ? "read and change" : "read"} it${share.tag && html`, as everything tagged <${Foreign} text=${`#${share.tag}`} />`}</div>
        ${canChange && html`<button type="button" onClick=${() => end(share)}>End</button>`}</li>`)}</ul><//>`;
};

const Led = ({ memory }) => {
  const { value } = useLoad((signal) => api.why(memory.id, signal), [memory.id]);
  if (!value?.steps.length) return null;
  return html`
    <${Section} title="What led to it"><ol class="cards">${value.steps.map(({ link, memory: each }, at) => html`
      <${Card} key=${each.id} memory=${each} mine=${session.value?.user ?? null}><p class="faint">It ${linked(link, link.source === each.id)} ${at ? "the one above" : "this memory"}.</p><//>`)}</ol><//>`;
};

const AskWhyNot = ({ memory }) => {
  const [query, setQuery] = useState(null);
  return html`
    <${Section} title="A question does not find it?">
      <form class="row" onSubmit=${(event) => {
        event.preventDefault();
        setQuery(new FormData(event.target).get("q").trim());
      }}>
        <label class="field"><span>The question</span><input name="q" required /></label>
        <button type="submit">Why not?</button></form>
      ${query && html`<${WhyNot} question=${{ query }} memory=${memory} />`}
    <//>`;
};

// ---- changes --------------------------------------------------------------------------------

const Purge = ({ memory, onClose }) => {
  const { value, problem } = useLoad((signal) => api.planPurge([memory.id], signal), [memory.id]);
  const purge = async () => {
    const done = await attempt(() => api.purge([memory.id], value), "Removed for good.");
    onClose();
    if (done) go(place("memories"));
  };
  if (problem) return html`<${Dialog} title="Remove for good" onClose=${onClose}><${Trouble} problem=${problem} /><//>`;
  if (!value) return null;
  return html`
    <${Confirm} title="Remove this memory for good?" action="Remove for good" onYes=${purge} onClose=${onClose}>
      <${Foreign} as="p" class="content" text=${short(memory.content, 200)} />
      <p>${many(value.versions, "version")} and ${many(value.links, "link")} are overwritten. This cannot be undone.</p>
    <//>`;
};

const Actions = ({ memory, isOwn }) => {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const isDeleted = memory.state === "deleted";
  useLayoutEffect(() => { // at once: a key that is pressed next counts
    const press = (event) => {
      if (event.key !== "e" || isDeleted || event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      setOpen("edit");
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [isDeleted]);
  const remove = () => attempt(() => api.remove(memory.id), "Deleted.", () => api.restore(memory.id));
  const restore = () => attempt(() => api.restore(memory.id), "Restored.", () => api.remove(memory.id));
  const button = (name, icon, words) => html`
    <button type="button" onClick=${() => setOpen(name)}><${Icon} name=${icon} />${words}</button>`;
  return html`
    <div class="actions" role="group" aria-label="Change it">
      ${!isDeleted && html`${button("edit", "edit", "Edit")}
        ${isOwn && button("supersede", "replace", "Replace")}
        ${isOwn && button("link", "link", "Link")}
        ${isOwn && !memory.sensitive && button("share", "share", "Share")}
        <button type="button" onClick=${remove}><${Icon} name="remove" />Delete</button>`}
      ${isDeleted && html`<button type="button" class="primary" onClick=${restore}><${Icon} name="restore" />Restore</button>
        ${isOwn && button("purge", "remove", "Remove for good …")}`}
      ${open === "edit" && html`<${MemoryForm} memory=${memory} onClose=${close} />`}
      ${open === "supersede" && html`<${MemoryForm} supersedes=${memory} onClose=${close} />`}
      ${open === "link" && html`<${LinkForm} memory=${memory} onClose=${close} />`}
      ${open === "share" && html`<${ShareForm} memories=${[memory]} onClose=${close} />`}
      ${open === "purge" && html`<${Purge} memory=${memory} onClose=${close} />`}
    </div>`;
};

const Whole = ({ memory }) => {
  // Without a session the server is open to one user, whose memories all of these are.
  const isOwn = !session.value || memory.owner === session.value.user;
  const canChange = mayChange();
  return html`
    <p class="row"><${Marks} memory=${memory} /></p>
    ${memory.sensitive
      ? html`<h1 tabindex="-1">A sealed memory</h1><${Foreign} as="p" class="faint" text=${memory.content} />`
      : html`<h1 tabindex="-1" dir="auto" class=${`whole content ${memory.content.length > LONG ? "long" : ""}`}>${memory.content}</h1>`}
    ${memory.sensitive && isOwn && mayWrite() && html`<${Sealed} memory=${memory} />`}
    ${memory.outdated && html`<${ReplacedBy} outdated=${memory.outdated} />`}
    ${canChange && html`<${Actions} memory=${memory} isOwn=${isOwn} />`}
    <div class="columns two">
      <div class="stack">
        <${Section} title="About it"><${Known} memory=${memory} /><//>
        ${isOwn && html`<${Links} memory=${memory} canChange=${canChange} /><${Versions} memory=${memory} canChange=${canChange} />`}
        ${!isOwn && html`<p class="faint">Its versions, its links and what led to it are seen by <${Foreign} text=${memory.owner} /> alone.</p>`}
      </div>
      <div class="stack">
        ${isOwn && html`<${Concepts} id=${memory.id} />`}
        <${Shares} memory=${memory} canChange=${canChange && isOwn} />
        ${isOwn && html`<${Led} memory=${memory} />`}
        <${AskWhyNot} memory=${memory} />
      </div>
    </div>`;
};

export const View = ({ rest }) => {
  const { value, problem, busy, again } = useLoad((signal) => api.memory(rest, signal), [rest]);
  useEffect(() => {
    if (value) status.value = value.sensitive ? "A sealed memory" : short(value.content, 200);
  }, [value]);
  return html`
    <article class="stack" aria-busy=${busy ? "true" : null}>
      ${problem && html`<h1 tabindex="-1">No such memory</h1><${Trouble} problem=${problem} again=${again} />`}
      ${value?.isUnknownThen && html`<h1 tabindex="-1">Not known yet</h1>
        <${Notice} title=${`On ${day(asOf.value)} this was not known`}><p>It was remembered on ${day(value.latest.created_at)}.</p><//>`}
      ${value && !value.isUnknownThen && html`<${Whole} memory=${value} />`}
    </article>`;
};
