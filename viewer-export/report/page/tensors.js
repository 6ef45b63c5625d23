// The memory of tensors by the phase that allocated it: stacked over time, and at the peak.
import {colorValue, legendOf, swatch} from "./categories.js";
import {axis, graph, secondsAxis} from "./charts.js";
import {h, section} from "./dom.js";
import {table} from "./table.js";
import {bytes, count, percent, time} from "./text.js";

// By the phase in which they were allocated, the longest-lived below.
const MAKERS = {
  other: {
    title: "outside any phase (before the loop, or between the phases of a step)",
    short: "outside any phase",
    color: "host"
  },
  optimizer: {title: "by the optimizer (its state)", short: "optimizer", color: "optimizer"},
  zero_grad: {title: "in zero_grad", short: "zero_grad", color: "sync"},
  backward: {title: "by the backward pass (gradients etc.)", short: "backward", color: "backward"},
  forward: {title: "by the forward pass (activations etc.)", short: "forward", color: "forward"},
  input: {title: "while waiting for input (batches)", short: "input", color: "input"},
};

function makersOf(tensors) {
  const known = Object.keys(MAKERS).filter((name) => name in tensors.peak);
  const others = Object.keys(tensors.peak).filter((name) => !(name in MAKERS));
  return [
    ...known.map((name) => ({name, ...MAKERS[name]})),
    ...others.map((name) => ({name, title: `in ${name}`, short: name, color: "other"}))
  ];
}

function sumOf(parts) {
  return Object.values(parts).reduce((sum, value) => sum + value, 0);
}

function placeText(gpu) {
  return gpu === null ? "on the CPU" : `on cuda:${gpu}`;
}

// `moment(ns)`: when that was, in words; `died`: whether its process did.
export function tensorsPart(tensors, moment, died) {
  const makers = makersOf(tensors);
  const whole = sumOf(tensors.peak);
  const most = makers.reduce((a, b) => tensors.peak[b.name] > tensors.peak[a.name] ? b : a);
  const share = (name) => whole > 0 ? tensors.peak[name] / whole : 0;
  return section(
      `Tensors ${placeText(tensors.gpu)}, by the phase that allocated them`,
      h("p", {class: "lead"}, "At the peak, ", moment(tensors.peak_at_ns), ", tensors held ",
        h("strong", null, bytes(whole)),
        `. The largest part, ${percent(share(most.name))}, was allocated ${most.title}.`),
      stackOf(tensors, makers),
      table(
          [
            {
              title: "made",
              value: (row) => row.title,
              show: (row) => [swatch(row.color), row.title],
              words: true
            },
            {
              title: "at the peak",
              value: (row) => tensors.peak[row.name],
              show: (row) => bytes(tensors.peak[row.name]),
              number: true
            },
            {
              title: "of it",
              value: (row) => share(row.name),
              show: (row) => percent(share(row.name)),
              number: true
            },
            {
              title: died ? "when it died" : "at the end",
              value: (row) => tensors.last[row.name],
              show: (row) => bytes(tensors.last[row.name]),
              number: true
            },
          ],
          [...makers].sort((a, b) => tensors.peak[b.name] - tensors.peak[a.name])),
      h("p", {class: "small soft"},
        `The highest of ${
            count(tensors.samples)} readings: peaks between two readings are missed. `,
        "Tensors are grouped by the phase in which their memory was allocated.",
        !("forward" in tensors.peak) && "other" in tensors.peak &&
            " None was allocated in a forward pass: if none is marked, its activations count as allocated outside any phase."));
}

function stackOf(tensors, makers) {
  const drawn = graph({type: "line", data: {datasets: makers.map((maker) => ({label: maker.short,
    data: tensors.at_ns.map((at, i) => ({x: at / 1e9, y: tensors.bytes[maker.name][i]})), fill: "stack", borderWidth: 0,
    pointRadius: tensors.at_ns.length < 3 ? 3 : 0, pointHitRadius: 6, backgroundColor: colorValue(maker.color)}))},
  options: {scales: {x: secondsAxis("seconds into the recording"),
    y: {...axis("held by tensors", bytes), stacked: true}}, interaction: {mode: "index", intersect: false},
    plugins: {tooltip: {callbacks: {
      title: (items) => time(items[0].parsed.x * 1e9), label: (item) => `${item.dataset.label} ${bytes(item.parsed.y)}`,
      footer: (items) => `together ${bytes(items.reduce((sum, item) => sum + item.parsed.y, 0))}`}}}}},
  `Memory of tensors ${placeText(tensors.gpu)} over time, by the phase that allocated them; the table has the figures of the peak`);
  return [
    legendOf([...makers].reverse().map(
        (maker) => ({color: maker.color, text: maker.short, title: maker.title}))),
    drawn.element
  ];
}
