// Graphs, drawn by Chart.js. Without it, a page shows its tables and says what is missing.
import {colorValue} from "./categories.js";
import {h, visible} from "./dom.js";

const charts = [];
const waiting = [];

// Called before a page is redrawn.
export function forgetCharts() {
  waiting.length = 0;
  while (charts.length > 0) charts.pop().destroy();
}

export function chartsMissing() {
  return typeof Chart === "undefined";
}

// `config`: that of Chart.js. `label`: what a screen reader says; the same facts are in text
// nearby. Returns {element, canvas, chart}; the chart exists after drawGraphs().
export function graph(config, label, options = {}) {
  if (chartsMissing()) {
    return {
      element:
          h("p", {class: "soft"},
            "No graph: the stepscope that made this report was built without Chart.js.")
    };
  }
  const canvas = h("canvas", {role: "img", "aria-label": label, tabindex: options.keys ? 0 : null});
  const result = {element: h("div", {class: options.low ? "graph low" : "graph"}, canvas), canvas};
  waiting.push(() => {
    if (!canvas.isConnected) return;
    result.chart = new Chart(canvas, withLooks(config));
    charts.push(result.chart);
  });
  return result;
}

// Called once the page is in place: a graph takes the size of its parent element.
export function drawGraphs() {
  while (waiting.length > 0) waiting.shift()();
}

// Seconds into the recording, from 0. The last tick is omitted if it would overlap the one before.
export function secondsAxis(text) {
  return {
    type: "linear",
    title: {display: true, text},
    min: 0,
    bounds: "data",
    ticks: {maxRotation: 0},
    afterBuildTicks: (axis) => {
      const [first, second] = axis.ticks;
      const [before, last] = axis.ticks.slice(-2);
      if (axis.ticks.length > 2 && last.value - before.value < 0.7 * (second.value - first.value))
        axis.ticks.pop();
    }
  };
}

function withLooks(config) {
  Chart.defaults.color = colorValue("soft");
  Chart.defaults.borderColor = colorValue("line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const options = config.options ?? {};
  return {
    ...config,
    data: printable(config.data),
    options: {
      animation: false,
      maintainAspectRatio: false,
      responsive: true,
      normalized: true,
      ...options,
      plugins: {legend: {display: false}, ...options.plugins}
    }
  };
}

// Canvases also show names.
function printable({labels, datasets, ...rest}) {
  return {
    ...rest,
    labels: labels?.map((label) => typeof label === "string" ? visible(label) : label),
    datasets:
        datasets.map((set) => set.label === undefined ? set : {...set, label: visible(set.label)})
  };
}

export function axis(title, format, more = {}) {
  return {
    title: {display: true, text: title},
    beginAtZero: true,
    ticks: format ? {callback: (value) => format(value), maxTicksLimit: 7} : {},
    ...more
  };
}
