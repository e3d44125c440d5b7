// The drawing of a graph: cytoscape draws and listens, d3-force finds the places.

import cytoscape from "../vendor/cytoscape.js";
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "../vendor/d3-force.js";
import { colour } from "./chart.js";

const STYLE_ID = "__________cytoscape_stylesheet";
const isNarrow = innerWidth < 700; // a phone: names are to be read although the picture is small
const NAME = isNarrow ? 20 : 12; // the size of a name
const EDGE = isNarrow ? 16 : 36; // free space around the picture
const MANY = 300; // nodes from which the picture is drawn seldom while the places are looked for
const SELDOM = 10; // frames between two drawings of it

/** By kind of concept, and for memories: a colour. */
export const COLOURS = {
  name: "#c9752d", person: "#c85b5b", place: "#4f9d69", organisation: "#4a8fc7", work: "#a06cc0",
  event: "#b59a2e", identifier: "#5aa7a7", host: "#5b7fd0", topic: "#8a7a6a", memory: "#b9a892",
};

const styles = () => [
  {
    selector: "node",
    style: {
      "background-color": (node) => COLOURS[node.data("kind")] ?? COLOURS.name,
      width: (node) => 14 + 7 * Math.log2(1 + (node.data("memories") ?? 0)),
      height: (node) => 14 + 7 * Math.log2(1 + (node.data("memories") ?? 0)),
      label: "data(short)", color: colour("--ink"), "font-size": NAME, "text-valign": "bottom", "text-margin-y": 4,
      "text-outline-color": colour("--paper"), "text-outline-width": 2, "min-zoomed-font-size": 8,
    },
  },
  { selector: "node[kind = 'memory']", style: { shape: "round-rectangle", width: 16, height: 12, "font-size": 9 } },
  { selector: "node:selected, node.chosen", style: { "border-width": 4, "border-color": colour("--accent") } },
  {
    selector: "edge",
    style: { width: 1.2, "line-color": colour("--edge"), opacity: 0.5, "curve-style": "haystack" },
  },
  {
    selector: "edge[type]",
    style: {
      label: "data(type)", "font-size": 9, color: colour("--faint"), "min-zoomed-font-size": 9, width: 1.8, opacity: 0.9,
      "curve-style": "straight", "target-arrow-shape": "triangle", "target-arrow-color": colour("--edge"),
      "arrow-scale": 0.8, "text-outline-color": colour("--paper"), "text-outline-width": 2,
    },
  },
  { selector: "edge.way", style: { "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), width: 4, opacity: 1 } },
  { selector: "node.way", style: { "border-width": 4, "border-color": colour("--accent") } },
  { selector: ".hidden", style: { display: "none" } },
];

/** A drawing in an element; `onChoose` gets the id of a node, or null, `onOpen` that of one tapped twice. */
export const network = (container, { onChoose, onOpen }) => {
  if (!document.getElementById(STYLE_ID)) { // its rule is in our own style sheet: the policy allows no other
    const stand = document.createElement("meta");
    stand.id = STYLE_ID;
    document.head.append(stand);
  }
  const graph = cytoscape({
    container, style: styles(), minZoom: 0.08, maxZoom: 3, pixelRatio: "auto", textureOnViewport: false,
    hideEdgesOnViewport: true, boxSelectionEnabled: false,
  });
  const places = new Map(); // by id: what d3 moves
  let isFitted = true; // until the reader moves the picture
  const draw = () => {
    graph.batch(() => {
      for (const place of places.values()) graph.getElementById(place.id).position({ x: place.x, y: place.y });
    });
    if (isFitted) graph.fit(graph.elements(":visible"), EDGE);
  };
  const simulation = forceSimulation([])
    .force("charge", forceManyBody().strength(-260).distanceMax(600))
    .force("x", forceX().strength(0.045)).force("y", forceY().strength(0.06))
    .force("collide", forceCollide(({ room }) => room))
    .stop();
  let frame = 0;
  /** Goes on until the places hardly change, at most 12 milliseconds of every frame. */
  const run = () => {
    cancelAnimationFrame(frame);
    let steps = 0;
    const step = () => {
      const until = performance.now() + 12;
      do simulation.tick(); while (performance.now() < until && simulation.alpha() > 0.02);
      const isMoving = simulation.alpha() > 0.02;
      steps += 1;
      if (!isMoving || steps % (places.size > MANY ? SELDOM : 2) === 0) draw();
      if (isMoving) frame = requestAnimationFrame(step);
    };
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) simulation.tick(200);
    frame = requestAnimationFrame(step);
  };
  graph.on("tap", "node", ({ target }) => onChoose(target.id()));
  graph.on("tap", ({ target }) => target === graph && onChoose(null));
  graph.on("dbltap", "node", ({ target }) => onOpen(target.id()));
  graph.on("grab", "node", () => { isFitted = false; });
  graph.on("drag", "node", ({ target }) => {
    const place = places.get(target.id());
    Object.assign(place, { fx: target.position("x"), fy: target.position("y") });
    simulation.alpha(Math.max(simulation.alpha(), 0.2));
    run();
  });
  graph.on("free", "node", ({ target }) => Object.assign(places.get(target.id()), { fx: null, fy: null }));
  graph.on("scrollzoom pinchzoom dragpan", () => { isFitted = false; });
  graph.on("resize", () => { if (isFitted) graph.fit(graph.elements(":visible"), EDGE); });
  return {
    /** Shows exactly these nodes and edges; those that were there keep their places. */
    show(nodes, edges, near = null) {
      const from = places.get(near) ?? { x: 0, y: 0 };
      const kept = new Set(nodes.map(({ id }) => id));
      for (const id of [...places.keys()]) if (!kept.has(id)) places.delete(id);
      nodes.forEach(({ id, short }, at) => {
        if (places.has(id)) return;
        const room = Math.max(34, 0.22 * NAME * short.length); // so that names seldom lie on each other
        const [angle, radius] = [at * 2.399963, 18 * Math.sqrt(at + 1)]; // a sunflower: no two in one place
        places.set(id, { id, room, x: from.x + radius * Math.cos(angle), y: from.y + radius * Math.sin(angle) });
      });
      graph.batch(() => {
        const wanted = new Set([...kept, ...edges.map(({ id }) => id)]);
        graph.elements().filter((each) => !wanted.has(each.id())).remove();
        const known = new Set(graph.elements().map((each) => each.id()));
        graph.add([...nodes, ...edges].filter(({ id }) => !known.has(id)).map((data) => ({ data })));
      });
      simulation.nodes([...places.values()]);
      simulation.force("link", forceLink(edges.map(({ source, target }) => ({ source, target }))).id(({ id }) => id)
        .distance(95).strength(nodes.length > MANY ? 0.2 : 0.35));
      isFitted = true;
      simulation.alpha(1).alphaDecay(nodes.length > MANY ? 0.05 : 0.03);
      run();
    },
    hide: (isHidden) => graph.batch(() => graph.nodes().forEach((node) => node.toggleClass("hidden", isHidden(node.data())))),
    choose: (id) => graph.batch(() => graph.nodes().forEach((node) => node.toggleClass("chosen", node.id() === id))),
    mark: (ids) => graph.batch(() => graph.elements().forEach((each) => each.toggleClass("way", ids.has(each.id())))),
    restyle: () => graph.style(styles()),
    fit: () => { isFitted = true; graph.fit(graph.elements(":visible"), EDGE); },
    size: () => graph.nodes().length,
    destroy: () => { cancelAnimationFrame(frame); graph.destroy(); },
  };
};
