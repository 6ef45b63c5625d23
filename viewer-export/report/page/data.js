// The data of the page: the analysis as `stepscope analyze --json` prints it, the comparison, and
// further data from the store.
import {addressOf} from "./address.js";
import {h} from "./dom.js";
import {bytes, count, inUnits, percent, time} from "./text.js";

const FORMATS = {
  time,
  percent,
  count,
  bytes
};

function read(id) {
  const element = document.getElementById(id);
  return element === null ? null : JSON.parse(element.textContent);
}

export const analysis = read("analysis");
export const comparison = read("comparison");
export const run = read("run");
// For a served page, the other pages available: {timeline, live}; null in a file.
export const beside = read("beside");
export const lost = read("lost");    // a phrase
export const sweep = read("sweep");  // replaces the others

let current = 0;
export function selectLoop(index) {
  current = index;
}
export function loopIndex() {
  return current;
}
// The analysis of the chosen loop. A run without one has the same keys, at the top.
export function loop() {
  return analysis.loops[current] ?? analysis;
}
export function loopData() {
  return run.loops[current] ?? null;
}
export function pictures() {
  return run.pictures[current] ?? [];
}
// Rewords a phrase about steps for the chosen loop: the steps of a loop that never trains are
// calls.
export function inLoopUnits(phrase) {
  return inUnits(phrase, analysis?.loops.length > 0 ? loop().steps.unit : "step");
}
export function trains() {
  return loop().steps.unit === "step";
}
// The heading of a column of call counts: "calls a call" would confuse.
export function callsTitle() {
  return trains() ? "calls a step" : "times a call";
}
export function nameOf(number) {
  return run.names[number];
}

export function loopTitle(entry) {
  const parts = [];
  if (entry.rank !== null) parts.push("rank " + entry.rank);
  if (entry.device !== null) parts.push(`GPU ${entry.device.number}`);
  parts.push(entry.thread_name || "thread " + entry.thread, `pid ${entry.process}`);
  return parts.join(" · ");
}

function at(root, path) {
  return path.split(".").reduce((value, key) => value?.[key], root);
}

// A number of the analysis, by its path ("shares.input") in the loop or, for "run" and "losses", in
// the document. This way a page cannot show a number that the document does not have.
// `of`: a second number to multiply by.
export function figure(path, format, of = null) {
  const root = /^(run|losses|ranks)\b/.test(path) ? analysis : loop();
  let value = at(root, path);
  const place = root === analysis || !analysis.loops.length ? path : `loops.${current}.${path}`;
  if (value === null || value === undefined)
    return h("span", {class: "soft", "data-json": place}, "not known");
  if (of !== null) value *= at(root, of);
  return h(
      "span", {"data-json": place, "data-of": of, "data-format": format}, FORMATS[format](value));
}

// The steps of a loop as objects: number, start, wall, kind, population, times by category.
const decoded = new Map();
export function steps(index = current) {
  if (!decoded.has(index)) decoded.set(index, decode(run.loops[index]?.steps));
  return decoded.get(index);
}

function decode(columns) {
  if (!columns) return [];
  let end = 0;
  return columns.number.map((number, i) => {
    const start = end + columns.gap_ns[i];
    end = start + columns.wall_ns[i] * groupSize(columns, i);
    const times = {};
    for (const [category, values] of Object.entries(columns.times)) times[category] = values[i];
    return {
      number,
      start,
      wall: columns.wall_ns[i],
      times,
      kind: columns.kinds[columns.kind[i]] ?? null,
      population: columns.population[i]
    };
  });
}

// What the loop did besides its steps: kind, step (the last that began before), start, dur.
export function segments(index = current) {
  const columns = run.loops[index]?.segments;
  if (!columns) return [];
  return columns.kind.map(
      (kind, i) =>
          ({kind, step: columns.step[i], start: columns.start_ns[i], dur: columns.dur_ns[i]}));
}

// Steps that an entry stands for; the last group may be smaller.
function groupSize(columns, i) {
  const next = columns.number[i + 1];
  return next === undefined ? 1 : next - columns.number[i];
}

export function stepsInGroup() {
  return loopData()?.steps.group ?? 1;
}

// The step that ran at a time; null between steps.
export function stepAt(ns) {
  const list = steps();
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].start <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  const step = list[low - 1];
  return step && (low < list.length || ns < step.start + step.wall * stepsInGroup()) ? step : null;
}

export function linkToStep(number, text = inLoopUnits(`step ${number}`)) {
  return h("a", {class: "whole", href: addressOf("steps", number)}, text);
}
