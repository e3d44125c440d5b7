// The pictures of buttons and of the navigation, drawn with lines in the colour of the text.

import { html } from "./lib.js";

const SHAPES = {
  recall: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm5 12 4.5 4.5",
  memories: "M5 5h14M5 12h14M5 19h9",
  inbox: "M4 13 6.5 5h11L20 13v6H4v-6Zm0 0h4.5l1.5 2.5h4l1.5-2.5H20",
  graph: "M6 7a2 2 0 1 0 0-.01M18 6a2 2 0 1 0 0-.01M12 18a2.5 2.5 0 1 0 0-.01M7.6 8.4 11 16M16.6 7.6 13 16M8 6.6 16 6",
  time: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16Zm0 4v4.5l3 2",
  server: "M4 5h16v6H4V5Zm0 8h16v6H4v-6Zm3-5h.01M7 16h.01",
  add: "M12 5v14M5 12h14",
  close: "m6 6 12 12M18 6 6 18",
  edit: "m5 19 .8-3.6L16 5.2l2.8 2.8L8.6 18.2 5 19Z",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 7m2 3a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7L12 17",
  share: "M8 12.5 16 8m-8 3.5 8 4.5M6 12a2 2 0 1 0 0-.01M18 7a2 2 0 1 0 0-.01M18 17a2 2 0 1 0 0-.01",
  remove: "M5 7h14M9 7V5h6v2m-8 0 1 12h8l1-12",
  restore: "M5 8v4h4M5.6 12A7 7 0 1 1 7 16.5",
  replace: "M5 8h12l-3-3m5 11H7l3 3",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm0-5v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4",
  dark: "M19 14.5A8 8 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5Z",
  lock: "M7 11V8a5 5 0 0 1 10 0v3m-11 0h12v8H6v-8Z",
  eye: "M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6Zm9-2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Z",
  filter: "M4 6h16M7 12h10M10 18h4",
  check: "m5 12.5 4.5 4.5L19 7.5",
  drop: "M12 4v10m0 0-4-4m4 4 4-4M5 19h14",
  save: "M12 14V4m0 0L8 8m4-4 4 4M5 19h14",
  keyboard: "M3 7h18v10H3V7Zm3 3h.01M10 10h.01M14 10h.01M18 10h.01M8 14h8",
  person: "M12 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM5 20c.8-4 3.5-5.5 7-5.5s6.2 1.5 7 5.5",
};

export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${SHAPES[name]} /></svg>`;
