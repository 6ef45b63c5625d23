// Single steps: the breakdown of any step, the slowest, median and fastest as timelines, the kinds
// of step side by side, and how steps change over the run.
import {addressOf} from "./address.js";
import {bar, CATEGORIES, CATEGORY_OF_KIND, legend, present, swatch} from "./categories.js";
import {figure, inLoopUnits, linkToStep, loop, pictures, steps, stepsInGroup} from "./data.js";
import {absent, capital, facts, h, section, sentence} from "./dom.js";
import {stepGraph} from "./stepgraph.js";
import {table} from "./table.js";
import {count, percent, plural, time} from "./text.js";
import {slicesOf, timeline} from "./timeline.js";

export function stepsPage(what) {
  const list = steps();
  const drawn = pictures();
  if (list.length === 0)
    return [h("h1", null, inLoopUnits("Steps")), absent(inLoopUnits("This run has no steps."))];
  const number = what === null ? drawn[0]?.number ?? list[0].number : stepNumber(what);
  return [
    h("h1", null, inLoopUnits("Steps")),
    Number.isNaN(number) ? noStep(what, list) : stepPart(number, list, drawn),
    section(inLoopUnits("All steps"), stepGraph()), kindsOfSteps(), driftPart(), slowestPart()
  ];
}

// --- one step -----------------------------------------------------------------------------------

// NaN for anything that is not a step number.
function stepNumber(text) {
  return /^\d{1,15}$/.test(text) ? Number(text) : NaN;
}

function noStep(number, list) {
  return section(inLoopUnits("Step ") + number, absent([
                   inLoopUnits("The run has no step "), number,
                   `: it has ${list[0].number} to ${list[list.length - 1].number}.`
                 ]));
}

function stepPart(number, list, drawn) {
  const picture = drawn.find((entry) => entry.number === number);
  const at = list.findIndex(
      (entry, i) => entry.number === number || (list[i + 1]?.number ?? Infinity) > number);
  const step = list[at];
  if (step === undefined || number < list[0].number ||
      number > list[list.length - 1].number + stepsInGroup() - 1) {
    return noStep(number, list);
  }
  const choice = drawn.length > 0 &&
      h("p", {class: "controls"}, "Timelines: ",
        drawn.map(
            (entry) =>
                h("a", {
                  href: addressOf("steps", entry.number),
                  "aria-current": entry.number === number ? "true" : null
                },
                  `${entry.why} (${entry.number})`)));
  return section(
      inLoopUnits(`Step ${number}`) + (picture ? ", the " + picture.why : ""), choice,
      aboutStep(step, picture, number), picture ? timeline(picture) : noTimeline(number),
      picture && longestPart(picture));
}

function aboutStep(step, picture, number) {
  const wall = picture?.wall_ns ?? step.wall;
  const shared = picture === undefined && stepsInGroup() > 1;
  const median = loop().steps.wall_ns.p50;
  const names = present(step.times);
  return [
    h("p", null, h("strong", null, time(wall)),
      shared && inLoopUnits(` (the mean of ${stepsInGroup()} steps from ${step.number} on)`),
      `, ${(wall / median).toFixed(2)} × the median`, step.kind !== null && `, ${step.kind}`,
      picture?.span_ns > wall &&
          ` (and ${time(picture.span_ns - wall)} of evaluation or checkpoints inside it)`,
      `; began ${time(picture?.start_ns ?? step.start)} into the recording`,
      step.population === 0 &&
          "; not part of the verdict (warm-up, or outside the recorded window)",
      step.population > 1 && `; ${loop().populations[step.population - 1]?.label ?? ""}`, "."),
    bar(names.map(
            (name) =>
                ({name, value: step.times[name], title: `${name} ${time(step.times[name])}`})),
        step.wall, true),
    h("ul", {class: "legend small"},
      names.map(
          (name) => h(
              "li", {title: CATEGORIES[name]}, swatch(name), `${name} ${time(step.times[name])}`))),
  ];
}

function noTimeline(number) {
  return h(
      "p", {class: "soft"},
      inLoopUnits(
          "This page holds the events of a few steps only. To export the timeline of this step: "),
      h("code", null, `stepscope export run.db -o step.json.gz --steps ${number}`));
}

function longestPart(picture) {
  const slices = slicesOf(picture)
                     .filter((slice) => slice.track !== "phase" && slice.count === 1)
                     .sort((a, b) => b.dur - a.dur)
                     .slice(0, 200);
  if (slices.length === 0) return null;
  return h(
      "details", null,
      h("summary", null, inLoopUnits("The longest events of this step, as a table")),
      table(
          [
            {title: "event", value: (slice) => slice.name, name: true},
            {title: "what", value: (slice) => slice.track},
            {title: "phase", value: (slice) => slice.phase === "none" ? "" : slice.phase},
            {
              title: "begins",
              value: (slice) => slice.start,
              show: (slice) => time(slice.start),
              number: true
            },
            {
              title: "takes",
              value: (slice) => slice.dur,
              show: (slice) => time(slice.dur),
              number: true
            },
          ],
          slices, {search: (slice) => slice.name}));
}

// --- all of them --------------------------------------------------------------------------------

function kindsOfSteps() {
  const {populations} = loop();
  if (populations.length < 2)
    return section(inLoopUnits("Kinds of step"), absent(inLoopUnits("All steps are of one kind.")));
  const longest = Math.max(...populations.map((kind) => kind.mean_ns));
  const names =
      Object.keys(CATEGORIES).filter((name) => populations.some((kind) => kind.shares[name] > 0));
  return section(
      inLoopUnits("Kinds of step"), legend(names),
      populations.map(
          (kind, i) => h(
              "div", null, h("h3", null, capital(kind.label)),
              h("p", null, figure(`populations.${i}.steps`, "count"), inLoopUnits(" steps of "),
                figure(`populations.${i}.mean_ns`, "time"), ", ",
                figure(`populations.${i}.share`, "percent"), " of all time; on their own ",
                [kind.verdict.degree, kind.verdict.kind].filter(Boolean).join(" "), "."),
              bar(present(kind.shares).map((name) => ({
                                             name,
                                             value: kind.shares[name] * kind.mean_ns,
                                             title:
                                                 `${name} ${time(kind.shares[name] * kind.mean_ns)}`
                                           })),
                  longest, true),
              exampleOf(i + 1))));
}

function exampleOf(number) {
  const example = pictures().find(
      (picture) => steps().find((step) => step.number === picture.number)?.population === number);
  return example ? h("p", {class: "small"}, "For example ", linkToStep(example.number),
                     `, the ${example.why}.`) :
                   null;
}

function driftPart() {
  const {drift} = loop();
  if (drift === null)
    return section(
        "Over the run", absent(inLoopUnits("The usual steps get neither faster nor slower.")));
  return section("Over the run", h("p", null, sentence(drift.why)), facts([
                   [
                     "Change", figure("drift.change_ns", "time"), " (",
                     figure("drift.change_share", "percent"), inLoopUnits(" of the median step)")
                   ],
                   drift.from_step !== null && ["From", linkToStep(drift.from_step)],
                   [
                     "Mostly in", swatch(drift.cause.category), drift.cause.category,
                     drift.cause.label && `: ${drift.cause.label}`
                   ],
                 ]));
}

function slowestPart() {
  const {slowest, steps: {wall_ns: wall}} = loop();
  const sum = (step, category) =>
      step.times.reduce((ns, part) => ns + (part.category === category ? part.ns : 0), 0);
  const names =
      Object.keys(CATEGORIES).filter((name) => slowest.some((step) => sum(step, name) > 0));
  return section(
      inLoopUnits("The slowest steps"),
      table(
          [
            {
              title: inLoopUnits("step"),
              value: (step) => step.number,
              show: (step) => linkToStep(step.number)
            },
            {
              title: "takes",
              value: (step) => step.wall_ns,
              show: (step) => time(step.wall_ns),
              number: true
            },
            {
              title: "× median",
              value: (step) => step.wall_ns / wall.p50,
              show: (step) => (step.wall_ns / wall.p50).toFixed(2),
              number: true
            },
            {
              title: "bound by",
              value: (step) => step.kind ?? "",
              show: (step) =>
                  h("span", {class: "whole"},
                    CATEGORY_OF_KIND[step.kind] && swatch(CATEGORY_OF_KIND[step.kind]),
                    step.kind ?? "")
            },
            ...names.map((name) => ({
                           title: name,
                           value: (step) => sum(step, name),
                           show: (step) => sum(step, name) > 0 ? time(sum(step, name)) : "",
                           number: true
                         })),
          ],
          slowest, {first: 10}));
}
