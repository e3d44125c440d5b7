// Sharing memories with other users, and ending it.

import * as api from "../api.js";
import { Dialog } from "./dialog.js";
import { html, useState } from "./lib.js";
import { Trouble } from "./notice.js";
import { changed, tell } from "./state.js";
import { many } from "./words.js";

/** Shares some memories, or everything with one of their tags, with a user. */
export const ShareForm = ({ memories, onClose }) => {
  const [problem, setProblem] = useState(null);
  const tags = memories.length === 1 ? memories[0].tags : [];
  const submit = async (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const [reader, right, tag] = [data.get("reader").trim(), data.get("right"), data.get("tag")];
    try {
      if (tag) await api.shareTag(tag, reader, right);
      else await Promise.all(memories.map(({ id }) => api.share(id, reader, right)));
    } catch (error) {
      if (!(error instanceof api.Problem)) throw error;
      setProblem(error);
      return;
    }
    const end = () => (tag ? api.unshareTag(tag, reader) : Promise.all(memories.map(({ id }) => api.unshare(id, reader))));
    changed();
    tell(`Shared with ${reader}.`, () => end().then(changed).then(() => tell("Undone.")));
    onClose();
  };
  return html`
    <${Dialog} title=${memories.length === 1 ? "Share this memory" : `Share ${many(memories.length, "memory", "memories")}`} onClose=${onClose}>
      <form class="form stack" onSubmit=${submit} autocomplete="off">
        <label class="field"><span>With whom? The name of a user</span><input name="reader" required autofocus /></label>
        <label class="field"><span>They may</span><select name="right"><option value="read">read it</option><option value="write">read and change it</option></select></label>
        ${tags.length > 0 && html`<label class="field"><span>What is shared</span><select name="tag"><option value="">this memory alone</option>
          ${tags.map((tag) => html`<option key=${tag} value=${tag}>everything tagged #${tag}, also later</option>`)}</select></label>`}
        ${problem && html`<${Trouble} problem=${problem} />`}
        <div class="actions"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary">Share</button></div>
      </form>
    <//>`;
};
