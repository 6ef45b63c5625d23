// Compares this run with an earlier one: what changed, and whether it is noise.
import {absent, facts, h, section} from "./dom.js";

import {time, count, signed, inUnits} from "./text.js";
import {comparison} from "./data.js";
import {CATEGORIES, swatch, bar, legend} from "./categories.js";
import {table} from "./table.js";
import {phaseText} from "./ops.js";

export function comparePage() {
  return [
    h("h1", null, "Compared with the baseline"),
    section(
        null, h("p", {class: "lead"}, comparison.answer),
        comparison.why.length > 0 &&
            h("ul", {class: "plain"}, comparison.why.map((line) => h("li", null, line))),
        facts([["A, the baseline", comparison.a.path], ["B, this run", comparison.b.path]]),
        comparison.notes.length > 0 &&
            [
              h("h3", null, "Limits of this comparison"),
              h("ul", {class: "plain"}, comparison.notes.map((note) => h("li", null, note.text)))
            ]),
    stacksPart(), partsPart("By category", comparison.categories, true),
    partsPart("By phase", comparison.phases, false),
    workPartOf(
        "Kernels", "kernel", comparison.kernels, comparison.kernels_changed,
        comparison.kernels_compared),
    workPartOf("Ops", "op", comparison.ops, comparison.ops_changed, comparison.ops_compared) ??
        section("Ops", absent("Ops were not recorded in both runs."))
  ];
}

// The compared loops are not always those that the other pages show.
function inComparisonUnits(phrase) {
  return inUnits(phrase, comparison.unit);
}

function stacksPart() {
  const {categories, step_time: {mean}} = comparison;
  const names = Object.keys(CATEGORIES).filter((name) => categories[name]);
  const longest = Math.max(mean.a, mean.b);
  const row = (title, side) =>
      [h("span", null, title),
       bar(names.map((name) => ({
                       name,
                       value: categories[name].ns[side],
                       title: `${name} ${time(categories[name].ns[side])}`
                     })),
           longest, true),
       h("span", {class: "number"}, time(mean[side]))];
  return section(
      inComparisonUnits("The average step"), legend(names),
      h("div", {class: "stacks"}, row("A", "a"), row("B", "b")));
}

function change(difference, format = time) {
  if (difference.difference === null) return "not known";
  const text = signed(format(difference.difference), difference.difference);
  return difference.noise ? h("span", {class: "soft"}, text, " (noise)") : text;
}

function interval(difference, format = time) {
  if (difference.interval === null) return "";
  return difference.interval.map((end) => signed(format(end), end)).join(" … ");
}

function timeOrNone(ns) {
  return ns > 0 ? time(ns) : "–";
}

const COLUMNS = [
  {title: "A", value: (row) => row.ns.a, show: (row) => timeOrNone(row.ns.a), number: true},
  {title: "B", value: (row) => row.ns.b, show: (row) => timeOrNone(row.ns.b), number: true},
  {title: "change", value: (row) => row.ns.difference, show: (row) => change(row.ns), number: true},
  {title: "interval", value: null, show: (row) => interval(row.ns), number: true},
];

function partsPart(title, parts, colored) {
  const rows = Object.entries(parts).map(([name, part]) => ({name, ...part}));
  if (rows.length === 0) return null;
  return section(
      title,
      table(
          [
            {
              title: inComparisonUnits("part of the step"),
              value: (row) => row.name,
              show: (row) => [colored && swatch(row.name), row.name]
            },
            ...COLUMNS
          ],
          rows));
}

function workPartOf(title, what, rows, changed, compared) {
  if (rows.length === 0) return null;
  return section(
      title, h("p", null, `${count(changed)} of ${count(compared)} ${what}s changed.`),
      table(
          [
            {title: what, value: (row) => row.name, name: true},
            {title: "phase", value: (row) => phaseText(row.phase)},
            ...COLUMNS,
            {
              title: "calls A → B",
              value: (row) => row.calls.b - row.calls.a,
              show: (row) => `${row.calls.a.toFixed(1)} → ${row.calls.b.toFixed(1)}`,
              number: true
            },
          ],
          rows.map((row) => ({...row, ns: row.self_ns})), {search: (row) => row.name}));
}
