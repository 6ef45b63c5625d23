// A distributed run: a row for each rank, which rank the others wait for, and how often.
import {bar, CATEGORY_OF_KIND, swatch} from "./categories.js";
import {analysis, figure, inLoopUnits, loop} from "./data.js";
import {h, section, sentence} from "./dom.js";
import {table} from "./table.js";
import {count, percent, time} from "./text.js";

// Whether the page covers the whole job; otherwise it covers the only rank whose loops it has.
export function isOfAllRanks() {
  return analysis.ranks !== null &&
      analysis.loops.some((entry) => entry.rank !== analysis.loops[0].rank);
}

export function ranksPage() {
  const {ranks} = analysis;
  return [
    h("h1", null, "Ranks"),
    section(
        null, whyParts(),
        h("p", null, "The ranks spend ", figure("ranks.wait_share", "percent"),
          " of their time waiting for the last one."),
        otherRanks()),
    section(
        inLoopUnits("A step of each rank"), rankLegend(),
        table([...nameColumns(), ...timeColumns(), ...lastColumns()], ranks.each)),
    section("How the ranks were compared", stepsPart(ranks.steps)),
  ];
}

// On the overview.
export function ranksPart() {
  if (!isOfAllRanks()) return null;
  const {ranks} = analysis;
  return section(
      "The ranks", whyParts(), rankLegend(),
      table([...nameColumns(), ...lastColumns()], ranks.each), otherRanks());
}

function whyParts() {
  const {why, steps} = analysis.ranks;
  return [h("p", {class: "lead"}, sentence(why)), steps.why && h("p", null, sentence(steps.why))];
}

// What the other pages are about, and how to see another rank.
function otherRanks() {
  const shown = loop().rank;
  const other = analysis.ranks.each.find((row) => row.rank !== shown)?.rank;
  return h(
      "p", {class: "soft"}, `The other pages and figures are about rank ${shown}`,
      analysis.ranks.straggler === shown && ", the straggler", ". For another rank: ",
      h("code", {class: "whole"}, `stepscope report run.db --rank ${other}`));
}

function rankLegend() {
  return h(
      "p", {class: "small soft"}, swatch("input"), "input ", swatch("compute"), "compute ",
      swatch("communication"), "communication ", swatch("communication", "hatched"),
      "the part of it that waits for other ranks ", swatch("host"), "the rest");
}

function stepBar(row, longest) {
  const {input, compute, communication} = row.shares;
  const waits = Math.min(row.waits_ns, row.communication_ns);
  const rest = row.step_ns * Math.max(0, 1 - input - compute - communication);
  const part = (name, value, title = name, look = null) =>
      ({name, value, title: `${title} ${time(value)}`, look});
  return bar(
      [
        part("input", input * row.step_ns), part("compute", compute * row.step_ns),
        part("communication", row.communication_ns - waits),
        part("communication", waits, "waits for other ranks", "hatched"),
        part("host", rest, "the rest")
      ].filter(({value}) => value > 0),
      longest);
}

function nameColumns() {
  const {ranks} = analysis;
  const longest = Math.max(...ranks.each.map((row) => row.step_ns));
  const hosts = new Set(ranks.each.map((row) => row.host));
  return [
    {
      title: "rank",
      value: (row) => row.rank,
      show: (row) => row.rank === ranks.straggler ? h("strong", null, `${row.rank} (slowest)`) :
                                                    String(row.rank)
    },
    {
      title: hosts.size > 1 ? "host, process" : "process",
      value: (row) => row.process,
      show: (row) => [hosts.size > 1 && `${row.host} `, String(row.process)]
    },
    {
      title: inLoopUnits("a step"),
      value: (row) => row.step_ns,
      show: (row) => [time(row.step_ns), stepBar(row, longest)]
    },
    shareColumn("input"), shareColumn("compute"), shareColumn("communication", "comm.")
  ];
}

function shareColumn(name, title = name) {
  return {
    title,
    value: (row) => row.shares[name],
    show: (row) => percent(row.shares[name]),
    number: true
  };
}

function timeColumns() {
  const column = (title, key) =>
      ({title, value: (row) => row[key], show: (row) => time(row[key]), number: true});
  return [column("own work", "work_ns"), column("waits", "waits_ns")];
}

function lastColumns() {
  const {compared} = analysis.ranks.steps;
  return [
    {
      title: "verdict",
      value: (row) => row.verdict.text,
      show: (row) =>
          [CATEGORY_OF_KIND[row.verdict.kind] && swatch(CATEGORY_OF_KIND[row.verdict.kind]),
           sentence(`${row.verdict.text}, ${percent(row.verdict.share)}`)],
      words: true
    },
    {
      title: "came last in",
      value: (row) => row.last_in,
      show: (row) => compared === 0 ? "not known" : `${count(row.last_in)} of ${count(compared)}`,
      number: true
    },
    {
      title: "because of",
      value: (row) => row.excess?.ns ?? 0,
      show: (row) => row.excess === null ?
          "" :
          [
            swatch(row.excess.category), sentence(`${row.excess.category} +${time(row.excess.ns)}`),
            row.excess.line && h("div", {class: "small soft"}, row.excess.line)
          ],
      words: true
    },
    {
      title: "costs each other",
      value: (row) => row.costs_ns,
      show: (row) => time(row.costs_ns),
      number: true
    }
  ];
}

// Each step of the run counts once.
function stepsPart(steps) {
  const rows = [
    ["compared", steps.compared, "measured alike on all ranks"],
    ["a rank came last", steps.held_up, "the others waited for it for 5 % of the step or more"],
    ["no rank stood out", steps.even, "the others waited for less than that: noise"],
    ["warm-up", steps.warm_up, "of at least one rank"],
    ["not on all ranks", steps.missing, "at least one rank does not have the step"],
    ["not comparable", steps.unmeasured, "ops were recorded on some ranks only, or on none"],
  ];
  return table(
      [
        {title: inLoopUnits("steps"), value: (row) => row[0]},
        {title: "number", value: (row) => row[1], show: (row) => count(row[1]), number: true}, {
          title: "what it means",
          value: (row) => row[2],
          show: (row) => sentence(inLoopUnits(row[2])),
          words: true
        }
      ],
      rows.filter(([, number], i) => number > 0 || i < 3),
      {caption: inLoopUnits(`Of ${count(steps.count)} steps of the run`)});
}
