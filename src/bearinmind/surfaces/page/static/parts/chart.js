// Charts with uPlot, which is loaded when the first one is shown.

import { html, useEffect, useRef } from "./lib.js";
import { theme } from "./state.js";

/** uPlot with its style sheet. */
const loadChart = async () => {
  if (!document.getElementById("uplot-style")) {
    const link = document.createElement("link");
    Object.assign(link, { id: "uplot-style", rel: "stylesheet", href: "/page/vendor/uplot.css" });
    document.head.append(link);
  }
  return (await import("../vendor/uplot.js")).default;
};

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The colours of series, far apart from each other in both themes. */
export const PALETTE = ["#c9752d", "#4a8fc7", "#4f9d69", "#a06cc0", "#c85b5b", "#b59a2e", "#5aa7a7", "#8a7a6a"];

/** `options(uPlot)` and `data` as uPlot takes them; the width follows the page. */
export const Chart = ({ options, data, label, height = 220 }) => {
  const holder = useRef(null);
  useEffect(() => {
    let [chart, watcher, isGone] = [null, null, false];
    loadChart().then((uPlot) => {
      if (isGone) return;
      const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
      const given = options(uPlot);
      const [x = {}, y = {}] = given.axes ?? [];
      chart = new uPlot({
        width: holder.current.clientWidth, height, ...given, axes: [{ ...axis, ...x }, { ...axis, ...y }],
      }, data, holder.current);
      watcher = new ResizeObserver(() => holder.current && chart.setSize({ width: holder.current.clientWidth, height }));
      watcher.observe(holder.current);
    });
    return () => {
      isGone = true;
      watcher?.disconnect();
      chart?.destroy();
    };
  }, [data, theme.value]);
  return html`<div class="chart" ref=${holder} role="img" aria-label=${label}></div>`;
};
