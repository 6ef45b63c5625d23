// The first page: what bounds the run, the confidence, where the step time goes, what would help.
import {addressOf} from "./address.js";
import {bar, CATEGORIES, present, SEGMENTS, swatch} from "./categories.js";
import {analysis, figure, inLoopUnits, linkToStep, loop, loopData, pictures, run, trains} from "./data.js";
import {absent, capital, evidence, facts, h, scrolled, section, sentence} from "./dom.js";
import {paddingLine} from "./input.js";
import {ranksPart} from "./ranks.js";
import {runPart} from "./run.js";
import {stepGraph} from "./stepgraph.js";
import {count, percent, plural, time, times} from "./text.js";

const NO_STEPS = "No step was found";

export function headline() {
  const {kind, degree} = loop().verdict;
  if (kind === "no-steps") return NO_STEPS;
  if (kind === "no-verdict") return "No verdict";
  return capital([degree, kind].filter(Boolean).join(" "));
}

export function overviewPage() {
  if (analysis.loops.length === 0) return [verdictPart(), wholePart(), runPart()];
  return [
    verdictPart(),
    ranksPart(),
    section(inLoopUnits("Step times"), stepGraph()),
    kindsPart(),
    advicePart(),
    h("div", {class: "columns"}, breakdownPart(),
      h("div", null, trains() ? phasesPart() : callPart(), scopesPart(), goodputPart(),
        placementPart())),
    runPart(),
  ];
}

function verdictPart() {
  const {verdict, steps} = loop();
  const deaths = analysis.run.processes.map((process) => process.died)
                     .filter((died) => died !== null && !verdict.why.includes(died.why));
  deaths.sort((a, b) => a.at_ns - b.at_ns);  // the first death usually caused the others
  const tone = {"compute-bound": "degree good", "no-steps": null, "no-verdict": null}[verdict.kind];
  return section(
      null,
      analysis.run.incomplete && h("p", {class: "alert", role: "alert"}, analysis.run.incomplete),
      deaths.map((died) => h("p", {class: "alert", role: "alert"}, died.why)),
      analysis.ranks !== null &&
          h("p", {class: "soft"}, `Rank ${loop().rank} of ${analysis.ranks.count}`,
            analysis.ranks.straggler === loop().rank && ", the straggler"),
      h("h1", {class: tone === undefined ? "degree" : tone}, headline()),
      h("p", {class: "lead"}, sentence(capital(verdict.why))),
      analysis.loops.length > 0 && verdict.kind !== "no-verdict" &&
          h("p", {class: "soft"}, "Deciding share ", figure("verdict.share", "percent"),
            " (95 % CI ", figure("verdict.ci95.0", "percent"), " – ",
            figure("verdict.ci95.1", "percent"), "), confidence ",
            h("strong", null, verdict.confidence), "; based on ", figure("steps.analysed", "count"),
            ` of ${plural(steps.count, inLoopUnits("step"))}`,
            steps.first !== null && ` (${steps.first}–${steps.last})`,
            verdict.doubts.length > 0 &&
                `. Confidence is not higher because: ${verdict.doubts.join("; ")}`,
            "."),
      evidence(verdict.evidence));
}

// --- where the average step goes ----------------------------------------------------------------

function meanOf(category) {
  return loop().shares[category] * loop().steps.wall_ns.mean;
}

function detailsOf(category) {
  const wait = loop().rank_wait;
  if (category === "communication" && wait?.share >= 0.01) {
    const most = wait.rank_part > 0.5 ? `most of it for rank ${wait.rank}` :
                                        `for rank ${wait.rank} more than for others`;
    return [
      figure("rank_wait.share", "percent"),
      inLoopUnits(` of the step waits for other ranks, ${most}`)
    ];
  }
  const hidden = loop().hidden[category] ?? 0;
  return hidden > 0 ?
      [figure(`hidden.${category}`, "percent"), " more is hidden behind other work"] :
      null;
}

// The page with the details of a category.
function linkOf(category) {
  const page = {
    input: "input",
    compute: run.kernels.length > 0 ? "kernels" : "ops",
    launch: "ops",
    copy: "copies",
    communication: "ranks"
  }[category];
  return page && document.querySelector(`nav a[href="#${page}"]`) ?
      h("a", {href: "#" + page}, category) :
      category;
}

function breakdownPart() {
  const {shares, steps} = loop();
  const names = present(shares).sort((a, b) => shares[b] - shares[a]);
  const none = Object.keys(CATEGORIES).filter((name) => !(shares[name] > 0));
  const row = (name) =>
      h("tr", null,
        h("th", {scope: "row", title: CATEGORIES[name]},
          h("span", {class: "whole"}, swatch(name), linkOf(name))),
        h("td", {class: "number"}, figure(`shares.${name}`, "time", "steps.wall_ns.mean")),
        h("td", {class: "number"}, figure(`shares.${name}`, "percent")),
        h("td", {class: "small soft words"}, CATEGORIES[name],
          detailsOf(name) && [". ", detailsOf(name)]));
  return section(
      inLoopUnits("The average step"), spreadText(steps), idealPart(names),
      scrolled(
          h("table", null,
            h("thead", null,
              h("tr", null, h("th", {scope: "col"}, "category"),
                h("th", {scope: "col", class: "number"}, inLoopUnits("a step")),
                h("th", {scope: "col", class: "number"}, "share"),
                h("th", {scope: "col"}, "what it is"))),
            h("tbody", null, names.map(row))),
          inLoopUnits(
              "Each instant of a step belongs to exactly one category; together they make up the step.")),
      none.length > 0 && h("p", {class: "small soft"}, `None in ${none.join(", ")}.`),
      steps.ops_recorded ?
          null :
          absent(
              "Ops were not recorded: compute cannot be distinguished from the program's own code."));
}

// For a run without a loop: where the time of the recording went.
function wholePart() {
  const {whole, shares} = analysis;
  if (!whole) return null;
  const names = present(shares).sort((a, b) => shares[b] - shares[a]);
  const cells = (name) =>
      [h("td", {class: "number"}, figure(`shares.${name}`, "time", "whole.wall_ns")),
       h("td", {class: "number"}, figure(`shares.${name}`, "percent")),
       h("td", {class: "small soft"}, CATEGORIES[name])];
  return section(
      "The whole recording",
      h("p", null, figure("whole.wall_ns", "time"),
        ` of thread ${whole.thread_name} ${whole.thread}, from its first op to its last.`),
      h("div", {class: "scroll"},
        h("table", null,
          h("thead", null,
            h("tr", null, h("th", {scope: "col"}, "category"),
              h("th", {scope: "col", class: "number"}, "in all"),
              h("th", {scope: "col", class: "number"}, "share"),
              h("th", {scope: "col"}, "what it is"))),
          h("tbody", null,
            names.map(
                (name) =>
                    h("tr", null, h("th", {scope: "row"}, swatch(name), name), cells(name)))))));
}

// From the fastest step to the slowest; the extremes link to their timelines.
function spreadText({wall_ns: wall}) {
  const drawn = (name, why) => {
    const picture = pictures().find((entry) => entry.why === why);
    const shown = figure(`steps.wall_ns.${name}`, "time");
    return picture === undefined ? shown : linkToStep(picture.number, shown);
  };
  return h(
      "p", null, "Mean ", figure("steps.wall_ns.mean", "time"), "; median ", drawn("p50", "median"),
      ", 90 % take up to ", figure("steps.wall_ns.p90", "time"),
      wall.p99 !== null && [", 99 % up to ", figure("steps.wall_ns.p99", "time")], "; from ",
      drawn("min", "fastest"), " to ", drawn("max", "slowest"), ".");
}

// The step as recorded, with the best advice followed, and with compute alone.
function idealPart(names) {
  const mean = loop().steps.wall_ns.mean;
  const best = loop().advice[0];
  const parts = names.map(
      (name) => ({name, value: meanOf(name), title: `${name} ${percent(loop().shares[name])}`}));
  const rows = [["measured", bar(parts, mean, true), figure("steps.wall_ns.mean", "time")]];
  if (best?.saves_ns > 0) {
    rows.push([
      "best advice",
      bar([{
            name: "predicted",
            value: best.predicted_step_ns,
            title: `predicted ${time(best.predicted_step_ns)}`
          }],
          mean, true),
      figure("advice.0.predicted_step_ns", "time")
    ]);
  }
  if (loop().shares.compute > 0) {
    rows.push([
      "compute alone",
      bar(
          [
            {name: "compute", value: meanOf("compute"), title: `compute ${time(meanOf("compute"))}`}
          ],
          mean, true),
      figure("shares.compute", "time", "steps.wall_ns.mean")
    ]);
  }
  return h(
      "div", {class: "stacks"},
      rows.map(
          ([
            name, image, value
          ]) => [h("span", {class: "soft"}, name), image, h("span", {class: "number"}, value)]));
}

// The program's own labels, with everything that ran inside them.
function scopesPart() {
  const {scopes, steps} = loop();
  if (scopes.length === 0) return null;
  const mean = (scope) => scope.total_ns / steps.analysed;
  const row = (scope) =>
      stackRow(scope.name, "other", mean(scope), steps.wall_ns.mean, time(mean(scope)));
  return section(
      inLoopUnits("Scopes, a step"),
      h("p", {class: "soft small"},
        "Everything that runs inside the scopes that the program labels, whatever its category."),
      h("div", {class: "stacks"}, scopes.map(row)));
}

// Where the time of the whole run went: training, segments, start-up and the rest.
function goodputPart() {
  const {goodput, segments} = loop();
  if (!goodput) return null;
  const row = (title, color, key) => goodput[key] > 0 &&
      stackRow(title, color, goodput[key], goodput.run_ns, figure(`goodput.${key}`, "time"));
  const judged = segments.filter(({verdict}) => verdict !== null);
  return section(
      "The time of the run",
      h("p", {class: "soft small"}, "For ", figure("goodput.share", "percent"),
        " of the run, the loop trained and did not wait for input."),
      h("div", {class: "stacks"}, row("start-up", "soft", "startup_ns"),
        row("training", "compute", "training_ns"),
        row("of which input", "input", "training_input_ns"),
        Object.entries(SEGMENTS).map(([kind, {title, color}]) => row(title, color, `${kind}_ns`)),
        row("the rest", "line", "rest_ns")),
      segments.length > 0 &&
          h("p", {class: "small soft"},
            segments
                .map(
                    ({kind, count, batches}) => `${SEGMENTS[kind].title}: ${plural(count, "time")}${
                        batches > 0 ? `, ${plural(batches, "batch", "batches")}` : ""}`)
                .join("; "),
            "."),
      judged.map(
          ({kind, verdict}) => h(
              "p", null,
              capital(`${SEGMENTS[kind].title} is ${verdict.degree} ${
                  verdict.kind}: it waits for input for ${percent(verdict.share)} of its time.`))));
}

// A row of a stack of bars: its label, a bar of `ns` in `whole`, and the figure shown.
function stackRow(title, color, ns, whole, shown, label = title) {
  return [
    h("span", null, swatch(color), label),
    bar([{name: color, value: ns, title: `${title} ${time(ns)}`}], whole),
    h("span", {class: "number"}, shown)
  ];
}

// Whether ops were recorded in the phase: the forward pass is often inferred from the other phases.
function hasOps(phase) {
  return run.ops.some((op) => op[0] === loopData()?.process && op[2] === phase);
}

function phasesPart() {
  const {phases} = loop();
  const colors = {
    input: "input",
    forward: "forward",
    backward: "backward",
    optimizer: "optimizer",
    other: "host"
  };
  const names = Object.keys(colors).filter((name) => phases[name] > 0);
  const whole = names.reduce((sum, name) => sum + phases[name], 0);
  return section(
      "Phases of the training loop",
      h("p", {class: "soft small"},
        "The phases of the loop's own thread. Work on a device runs concurrently."),
      names.length === 0 ?
          absent("No phase was seen.") :
          h("div", {class: "stacks"},
            names.map(
                (name) => stackRow(
                    name, colors[name], phases[name], whole, figure(`phases.${name}`, "time"),
                    hasOps(name) ? h("a", {href: addressOf("ops", name)}, name) : name))),
      paddingLine());
}

// For a loop that never trains: input, the model, and the scopes labelled by the program.
function callPart() {
  const {call, steps: {wall_ns: wall}} = loop();
  const rows = [
    ["input", "input", call.input, figure("call.input", "time")],
    ["model", "compute", call.model, figure("call.model", "time")],
    ...Object.entries(call.scopes).map(([label, ns]) => [label, "other", ns, time(ns)]),
    ["the rest", "host", call.other, figure("call.other", "time")]
  ];
  return section(
      "The parts of a call",
      h("p", {class: "soft small"},
        "Input is the time spent waiting for it or preparing it; the model is the ops and the code between them; scopes carry the program's own labels."),
      h("div", {class: "stacks"},
        rows.filter(([, , ns]) => ns > 0)
            .map(([name, color, ns, shown]) => stackRow(name, color, ns, wall.mean, shown))),
      paddingLine());
}

// --- what would help ----------------------------------------------------------------------------

function advicePart() {
  const {advice, prediction} = loop();
  // The time of a line comes from stack samples: there is nothing to replay.
  const replayed = advice.some(({rule, saves_ns}) => rule !== "faster-line" && saves_ns > 0);
  const rest = prediction.withheld === null && prediction.replayed_steps > 0 && replayed &&
      h("p", {class: "small soft"}, "Predicted by replaying ",
        figure("prediction.replayed_steps", "count"),
        inLoopUnits(" steps with the cause removed; the replay itself is off by "),
        figure("prediction.replay_error", "percent"),
        advice.some(({rule}) => rule === "faster-line") ? " (but for a line of code)." : ".");
  if (advice.length === 0) {
    return section(
        "What would help",
        absent(
            prediction.withheld ?
                sentence(`No prediction: ${prediction.withheld}.`) :
                loop().verdict.kind === "compute-bound" ?
                inLoopUnits(
                    "The step is compute-bound: no rule finds a stall worth removing. Faster kernels, a smaller model or lower precision would help.") :
                inLoopUnits("No rule finds a change that would make the step faster.")));
  }
  return section("What would help", h("ol", {class: "advice"}, advice.map(adviceRow)), rest);
}

function adviceRow(advice, i) {
  return h(
      "li", null,
      h("div", null, h("strong", null, capital(advice.title)),
        h("div", {class: "soft"}, sentence(advice.why))),
      h("div", {class: "gain"},
        advice.saves_ns > 0 ? gainOf(advice, i) : h("span", {class: "soft"}, "not predicted")),
      h("div", {class: "more"}, evidence([advice.evidence])));
}

function gainOf(advice, i) {
  return [
    h("strong", null, figure(`advice.${i}.predicted_step_ns`, "time")), inLoopUnits(" a step"),
    advice.likely_ns &&
        h("div", {class: "soft small"}, "likely ", figure(`advice.${i}.likely_ns.0`, "time"), " – ",
          figure(`advice.${i}.likely_ns.1`, "time")),
    h("div", {class: "soft small"}, "saves ", figure(`advice.${i}.saves_ns`, "time"),
      `, ${times(loop().steps.wall_ns.mean / advice.predicted_step_ns)}`)
  ];
}

function kindsPart() {
  const {populations, drift} = loop();
  const several = populations.length > 1;
  if (!several && drift === null) return null;
  return section(
      inLoopUnits("Not all steps are alike"),
      several &&
          h("ul", {class: "plain"},
            populations.map(
                (kind, i) =>
                    h("li", null, kind.label, ": ", figure(`populations.${i}.steps`, "count"),
                      inLoopUnits(" steps of "), figure(`populations.${i}.mean_ns`, "time"), ", ",
                      figure(`populations.${i}.share`, "percent"),
                      ` of all time, ${kind.verdict.kind}`))),
      drift !== null && h("p", null, sentence(drift.why)),
      h("p", null, h("a", {href: "#steps"}, "Look at them side by side")));
}

// --- the rest -----------------------------------------------------------------------------------

function placementPart() {
  const {placement, devices, processes} = run;
  const own = loopData()?.process;
  const mine = devices.filter((device) => device.process === own);
  const cores = processes.find((process) => process.id === own)?.cores ?? null;
  const rows = [];
  if (placement.ops > 0)
    rows.push([
      "Ops on the CPU", h("a", {href: "#ops"}, plural(placement.ops, "op")),
      `, ${time(placement.host_self_ns)} of self time in the ${inLoopUnits("steps")}, all threads`
    ]);
  if (placement.device_ns !== null)
    rows.push([
      "Work on devices",
      `${time(placement.device_ns)}, launched by ${plural(placement.launching_ops, "op")}`
    ]);
  for (const device of mine) {
    rows.push([
      `GPU ${device.number}`, device.name,
      device.kernel_share !== null &&
          `: busy with kernels for ${percent(device.kernel_share)} of the loop`
    ]);
  }
  if (cores !== null)
    rows.push([
      "CPU used", cores.toFixed(2),
      analysis.run.cpu_count === null ? " cores" : ` of ${plural(analysis.run.cpu_count, "core")}`,
      " on average"
    ]);
  return section(
      "Where the work ran",
      rows.length > 0 ? facts(rows) : absent("No op was recorded, and no device was seen."),
      devices.length === 0 && absent("No GPU was seen."));
}
