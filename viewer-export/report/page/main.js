// Selects the page, and redraws it when needed.
import {readAddress} from "./address.js";
import {drawGraphs, forgetCharts} from "./charts.js";
import {codePage, hasCode} from "./code.js";
import {comparePage} from "./compare.js";
import {analysis, beside, comparison, inLoopUnits, loopIndex, loopTitle, run, selectLoop, sweep} from "./data.js";
import {append, h, visible} from "./dom.js";
import {hasInput, inputPage} from "./input.js";
import {followRun} from "./live.js";
import {hasMemory, memoryPage} from "./memory.js";
import {hasModules, modulesPage} from "./modules.js";
import {copiesPage, kernelsPage, opsPage} from "./ops.js";
import {headline, overviewPage} from "./overview.js";
import {isOfAllRanks, ranksPage} from "./ranks.js";
import {stepsPage} from "./steps.js";
import {sweepHasMap, sweepHeadline, sweepMapPage, sweepOverviewPage, sweepSettingsPage} from "./sweep.js";
import {plural, time} from "./text.js";

// A page without content is not offered.
const PAGES_OF_RUN = [
  {id: "overview", title: "Overview", page: overviewPage, has: () => true},
  {id: "input", title: "Input pipeline", page: inputPage, has: hasInput},
  {id: "code", title: "Code", page: codePage, has: hasCode},
  {id: "modules", title: "Modules", page: modulesPage, has: hasModules},
  {id: "ops", title: "Ops", page: opsPage, has: () => run.ops.length > 0},
  {id: "kernels", title: "Kernels", page: kernelsPage, has: () => run.kernels.length > 0},
  {id: "copies", title: "Copies", page: copiesPage, has: () => run.copies.length > 0},
  {id: "memory", title: "Memory", page: memoryPage, has: hasMemory},
  {id: "steps", title: "Steps", page: stepsPage, has: () => analysis.loops.length > 0},
  {id: "ranks", title: "Ranks", page: ranksPage, has: () => analysis.ranks !== null},
  {id: "compare", title: "Compare", page: comparePage, has: () => comparison !== null},
];
const PAGES_OF_SWEEP = [
  {id: "overview", title: "Overview", page: sweepOverviewPage, has: () => true},
  {id: "map", title: "Map and curves", page: sweepMapPage, has: sweepHasMap},
  {id: "settings", title: "All settings", page: sweepSettingsPage, has: () => true},
];
const PAGES = sweep === null ? PAGES_OF_RUN : PAGES_OF_SWEEP;

function place() {
  const {id, what} = readAddress(location.hash);
  return {page: PAGES.find((entry) => entry.id === id && entry.has()) ?? PAGES[0], what};
}

function drawNavigation(page) {
  const links =
      PAGES.filter((entry) => entry.has())
          .map(
              (entry) =>
                  h("a", {href: "#" + entry.id, "aria-current": entry === page ? "page" : null},
                    inLoopUnits(entry.title)));
  // For a distributed run, the page shows one rank in detail.
  const offered = analysis?.loops.map((entry, i) => ({entry, i}))
                      .filter(({entry}) => entry.rank === analysis.loops[0].rank) ??
      [];
  const choice = offered.length > 1 &&
      h("label", null, "Loop ",
        h("select", {
          id: "loop",
          onchange: (event) => {
            selectLoop(Number(event.target.value));
            draw();
          }
        },
          offered.map(
              ({entry, i}) =>
                  h("option", {value: i, selected: i === loopIndex()}, loopTitle(entry)))));
  const timeline = beside?.timeline &&
      h("a", {href: "timeline", target: "_blank", rel: "noopener"}, "Timeline ↗");
  const tabs = h("div", {class: "tabs scroll"}, links, timeline);
  document.getElementById("pages").replaceChildren(...[tabs, choice].filter(Boolean));
  const current = tabs.querySelector("[aria-current]");
  tabs.scrollLeft =
      current.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
}

function draw() {
  const {page, what} = place();
  forgetCharts();
  drawNavigation(page);
  document.title = visible(
      `${sweep === null ? headline() : sweepHeadline()} · ${inLoopUnits(page.title)} · Stepscope`);
  document.getElementById("content").replaceChildren(...page.page(what).flat().filter(Boolean));
  drawGraphs();
}

function setRunTitle(...children) {
  const title = document.getElementById("run-title");
  title.replaceChildren();
  append(title, children);
}

function drawRunTitle() {
  const {command, duration_ns, processes} = analysis.run;
  const name = analysis.run.name ?? processes[0]?.name ?? "run";
  setRunTitle(
      h("strong", null, name),
      (command || run.imported_from) && ` · ${command || run.imported_from}`,
      ` · recorded for ${time(duration_ns)}`,
      processes.length > 1 ? ` · ${plural(processes.length, "process", "processes")}` : "",
      analysis.ranks !== null &&
          (isOfAllRanks() ? ` · ${plural(analysis.ranks.count, "rank")}` :
                            ` · rank ${analysis.loops[0].rank} of ${analysis.ranks.count}`));
}

function drawSweepTitle() {
  const commands = sweep.variants.map(
      (variant) => (variant.name === null ? "" : variant.name + ": ") + variant.command);
  setRunTitle(h("strong", null, "Sweep"), " · " + commands.join(" · "));
}

function drawFrame() {
  if (sweep === null)
    drawRunTitle();
  else
    drawSweepTitle();
  const origin = beside === null ?
      "Made by stepscope report. Nothing in this file is loaded from anywhere else. " :
      "Served by stepscope view, to this machine only. ";
  document.getElementById("footer").replaceChildren(h(
      "p", null, origin, "Graphs by Chart.js (© Chart.js contributors, MIT licence). ",
      sweep === null ?
          "The queries under Evidence work on the store after stepscope analyze: sqlite3 run.db \"…\"." :
          "All figures are in the sweep: sqlite3 sweep.db \"SELECT * FROM cell_stats\"."));
}

window.addEventListener("hashchange", () => {
  draw();
  document.getElementById("content").focus({preventScroll: true});
  window.scrollTo(0, 0);
});
for (const query of ["(prefers-color-scheme: dark)", "print"])
  matchMedia(query).addEventListener("change", draw);
drawFrame();
draw();
if (beside?.live) followRun();
