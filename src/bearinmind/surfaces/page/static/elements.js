// Elements. Text only ever becomes text nodes: no module of this page writes markup.

const SVG = "http://www.w3.org/2000/svg";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  const isThere = (child) => child !== null && child !== undefined;
  element.append(...children.flat(Infinity).filter(isThere));
  return element;
};

/** An element; an attribute that is a function is a listener, one that is null is left out. */
export const make = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

/** The same in a drawing. */
export const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

/** Text that somebody else wrote: it may run in either direction without moving what is around. */
export const foreign = (text, name = "bdi", attributes = {}) =>
  make(name, { dir: "auto", ...attributes }, String(text));

/** Nodes with something between them. */
export const between = (nodes, separator) =>
  nodes.flatMap((node, place) => (place ? [separator, node] : [node]));

/** A table: its heads, and the cells of each row, of which the first is the row's head. */
export const table = (caption, heads, rows) =>
  make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map(([first, ...others]) =>
        make("tr", {},
          make("th", { scope: "row" }, first),
          others.map((cell) => make("td", {}, cell)))))));

/** Names and what they stand for; what is null or empty is left out. */
export const facts = (pairs) =>
  make("dl", { class: "facts" },
    pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
