// Import of a file that is dropped, with a preview, and export.

import * as api from "../api.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { Notice, Trouble } from "./notice.js";
import { changed, tell } from "./state.js";
import { Foreign } from "./text.js";
import { many, short } from "./words.js";

const SHOWN = 20; // records of a preview
const LARGEST = 64 * 1024 * 1024; // bytes: the browser holds the file while it is shown

/** A line of a file of JSON lines: {kind, text} or what is wrong with it. */
const record = (line, number) => {
  try {
    const data = JSON.parse(line);
    if (data?.record === "link") return { kind: "link", text: `${data.source} ${data.kind} ${data.target}` };
    if (data?.record === "bearinmind-export") return { kind: "header", text: "" };
    if (data?.record === "secret") return { kind: "secret", text: "a sealed text" };
    if (typeof data?.content === "string" && data.content.trim()) return { kind: "memory", text: data.content };
    return { kind: "bad", text: `Line ${number} has no content.` };
  } catch {
    return { kind: "bad", text: `Line ${number} is not JSON.` };
  }
};

/** Paragraphs or points of a text, each of which becomes a memory. */
const pieces = (text) => text.split(/\n\s*\n|\n(?=\s*[-*•]\s)/)
  .map((piece) => piece.replace(/^\s*(#+|[-*•])\s+/, "").trim()).filter(Boolean);

const isLines = (name, text) => /\.(jsonl|ndjson|json)$/i.test(name) || /^\s*\{/.test(text);

/** The memories of a file that is one JSON document, or null. */
const listed = (text) => {
  try {
    const data = JSON.parse(text);
    if (typeof data?.content === "string") return [data];
    return [data, data?.memories].find(Array.isArray) ?? null;
  } catch {
    return null; // lines, or a text
  }
};

/** What a file holds: the records to show, and the lines to send. */
const preview = (name, text) => {
  const list = listed(text)?.map((each) => JSON.stringify(typeof each === "string" ? { content: each, source: name } : each));
  if (list || isLines(name, text)) {
    const lines = list ?? text.split("\n").filter((line) => line.trim());
    return { records: lines.map((line, at) => record(line, at + 1)), lines: lines.join("\n") };
  }
  const texts = pieces(text);
  const lines = texts.map((content) => JSON.stringify({ content, source: name })).join("\n");
  return { records: texts.map((content) => ({ kind: "memory", text: content })), lines };
};

const Preview = ({ name, records }) => {
  const count = (kind) => records.filter((each) => each.kind === kind).length;
  const shown = records.filter(({ kind }) => kind === "memory" || kind === "bad").slice(0, SHOWN);
  return html`
    <p><b><${Foreign} text=${name} /></b> has ${many(count("memory"), "memory", "memories")}${count("link") ? ` and ${many(count("link"), "link")}` : ""}.
      ${count("bad") > 0 && html` <span class="sure Perhaps">${many(count("bad"), "line")} cannot be read and will be left out.</span>`}
      ${" "}What is known already is not stored again.</p>
    <ol class="preview" tabindex="0" role="region" aria-label="What is in the file">${shown.map(({ kind, text }, at) => html`<li key=${at} class=${kind === "bad" ? "sure Perhaps" : ""}><${Foreign} text=${short(text, 200)} /></li>`)}</ol>
    ${count("memory") > SHOWN && html`<p class="faint">and ${many(count("memory") - SHOWN, "more", "more")}</p>`}`;
};

/** What an import counts, in words. */
const DONE = { stored: "new", sensitive: "new and sealed", known: "known already", links_stored: "new links", links_known: "links known already", bad: "left out" };

export const ImportDialog = ({ onClose, dropped = null }) => {
  const [file, setFile] = useState(null);
  const [isOver, setOver] = useState(false);
  const [progress, setProgress] = useState(null);
  const [summary, setSummary] = useState(null);
  const [problem, setProblem] = useState(null);
  const input = useRef(null);
  const take = async (chosen) => {
    if (!chosen) return;
    setProblem(null);
    if (chosen.size > LARGEST) {
      setProblem(new api.Problem(413, {
        detail: `${chosen.name} is larger than ${LARGEST / 1024 / 1024} MB.`,
        hint: "Use `bearinmind import` for it.",
      }));
      return;
    }
    setFile({ name: chosen.name, ...preview(chosen.name, await chosen.text()) });
  };
  useEffect(() => { take(dropped); }, [dropped]);
  const run = async () => {
    setProgress(0);
    try {
      setSummary(await api.importLines(file.lines, setProgress));
      changed();
      tell("Imported.");
    } catch (error) {
      if (!(error instanceof api.Problem)) throw error;
      setProblem(error);
    }
    setProgress(null);
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  return html`
    <${Dialog} title="Import" onClose=${onClose} wide=${true}>
      <div class="stack">
        ${!file && html`
          <div class=${`dropzone ${isOver ? "over" : ""}`} onDragOver=${(event) => { event.preventDefault(); setOver(true); }}
            onDragLeave=${() => setOver(false)} onDrop=${drop}>
            <${Icon} name="drop" />
            <p>Drop a file here, or anywhere on the page: an export, other JSON with a <code>content</code>, or a text whose paragraphs or points become memories.</p>
            <button type="button" onClick=${() => input.current.click()}>Choose a file</button>
            <input ref=${input} type="file" hidden aria-label="File" onChange=${({ target }) => take(target.files[0])} /></div>`}
        ${file && !summary && html`<${Preview} ...${file} />`}
        ${progress !== null && html`<p role="status">${many(progress, "record")} done …</p>`}
        ${problem && html`<${Trouble} problem=${problem} />`}
        ${summary && html`<${Notice} title="Imported"><p>${Object.entries(summary)
          .filter(([, value]) => typeof value === "number" && value > 0)
          .map(([name, value]) => `${value.toLocaleString("en")} ${DONE[name] ?? name}`).join(" · ") || "Nothing was new."}</p><//>`}
        <div class="actions">
          ${file && !summary && html`<button type="button" onClick=${() => setFile(null)}>Another file</button>
            <button type="button" class="primary" disabled=${progress !== null} onClick=${run}>Import</button>`}
          ${summary && html`<button type="button" class="primary" onClick=${onClose}>Done</button>`}</div>
      </div>
    <//>`;
};

/** Saves every memory, version and link as a file. */
export const exportFile = async () => {
  const address = URL.createObjectURL(await api.exportLines());
  const link = document.createElement("a");
  link.href = address;
  link.download = `bearinmind-${new Date().toISOString().slice(0, 10)}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
};
