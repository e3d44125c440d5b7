// The server: users, keys, health and work.

import { html } from "../parts/lib.js";
import { Notice } from "../parts/notice.js";

export const View = () => html`
  <div class="stack"><h1 tabindex="-1">inbox</h1><${Notice} title="Not yet"><p>This view is being written.</p><//></div>`;
