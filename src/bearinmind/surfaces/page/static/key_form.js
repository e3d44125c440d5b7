// Asks for a key when the server wants one.

import { make } from "./elements.js";
import { trouble } from "./notices.js";
import { key } from "./server.js";

/** A form for a key; `then` goes on when there is one. What was wrong with the last is told. */
export const keyForm = (problem, then) => {
  const field = make("input", {
    id: "key",
    type: "password",
    autocomplete: "off",
    required: true,
    pattern: "[!-~]+",
    title: "The key as it was given to you, without spaces",
  });
  return make("section", { class: "part", "aria-label": "Key" },
    key.get() ? trouble(problem) : null,
    make("p", {}, "It is kept in this tab only, and forgotten when the tab is closed."),
    make("form", { class: "line", submit: (event) => {
      event.preventDefault();
      key.set(field.value);
      then();
    } },
    make("label", { for: "key" }, "Key"), field, make("button", {}, "Use it")),
    make("p", { class: "quiet" },
      "The person who runs the server makes one with ", make("code", {}, "bearinmind key create"), "."));
};
