// The input pipeline: how long the loop waited for its batches, for what, and what would hide the
// waits.
import {addressOf} from "./address.js";
import {bar, colorValue, swatch} from "./categories.js";
import {axis, graph} from "./charts.js";
import {callsTitle, figure, inLoopUnits, linkToStep, loop, loopData, run} from "./data.js";
import {absent, breakable, evidence, facts, h, section} from "./dom.js";
import {table} from "./table.js";
import {count, percent, plural, time} from "./text.js";

function hasWaits() {
  return loop().input.waits > 0 || loop().input.wait_ns > 0 || loop().shares.input > 0;
}

export function hasInput() {
  return hasWaits() || loop().padding !== null;
}

export function inputPage() {
  const title = h("h1", null, "Input pipeline");
  if (!hasWaits()) return [title, absent("This loop never waits for input."), paddingPart()];
  const waits = loopData()?.waits ?? [];
  return [title, summaryPart(), ...waits.map(loaderPart), workPart(), paddingPart(), workersPart()];
}

function summaryPart() {
  const {input, shares, hidden} = loop();
  const advice = loop().advice.findIndex((entry) => entry.rule.startsWith("input-"));
  return section(
      "Waiting for batches", h("p", {class: "lead"}, firstThing(advice)), facts([
        [
          "Exposed", figure("shares.input", "time", "steps.wall_ns.mean"), inLoopUnits(" a step, "),
          figure("shares.input", "percent"), " of it"
        ],
        hidden.input > 0 &&
            [
              "Hidden", figure("hidden.input", "percent"),
              inLoopUnits(" of the step: waits that cost nothing, because the device was busy")
            ],
        input.waits > 0 &&
            [
              "Waits", figure("input.waits", "count"), ", ", figure("input.wait_ns", "time"),
              " in all"
            ],
        [
          "Loader", input.loader ?? "not known",
          input.inferred && ", inferred: no loader was seen; the overview says what counts as input"
        ],
        [
          "During the waits",
          input.inferred || input.wait_ns === 0 ? "unknown what the thread did" : busyText(input)
        ],
      ]),
      input.inferred || input.wait_ns === 0 ?
          null :
          bar(
              [
                {
                  name: "input",
                  value: input.busy_share,
                  title: `busy ${percent(input.busy_share)}`
                },
                input.starved_share > 0 && {
                  name: "launch",
                  value: input.starved_share,
                  title: `without a core ${percent(input.starved_share)}`
                },
                {
                  name: "host",
                  value: input.blocked_share,
                  title: `blocked ${percent(input.blocked_share)}`
                }
              ].filter(Boolean),
              1, true),
      advice >= 0 && evidence([loop().advice[advice].evidence]));
}

function busyText() {
  return [
    swatch("input"), "busy ", figure("input.busy_share", "percent"),
    " (the loop's thread prepared the batch itself), ",
    loop().input.starved_share > 0 &&
        [
          swatch("launch"), "without a core ", figure("input.starved_share", "percent"),
          " (it was ready to run), "
        ],
    swatch("host"), "blocked ", figure("input.blocked_share", "percent"),
    " (it waited for workers, the disk or a lock)"
  ];
}

// What to do first, taken from the advice of the analysis.
function firstThing(index) {
  const {advice, shares} = loop();
  if (index >= 0) {
    const {title, why, saves_ns} = advice[index];
    return saves_ns > 0 ? [`First: ${title} (${why}); `, insteadOf(index)] :
                          [`First: ${title} (${why}).`];
  }
  return shares.input < 0.05 ?
      [
        "Nothing to do here: input takes ", figure("shares.input", "percent"),
        inLoopUnits(" of the step.")
      ] :
      [inLoopUnits(
          "No rule finds a change to the input pipeline that would make the step faster.")];
}

function insteadOf(index) {
  return [
    inLoopUnits("a step would take "), figure(`advice.${index}.predicted_step_ns`, "time"),
    " instead of ", figure("steps.wall_ns.mean", "time"), "."
  ];
}

function loaderPart(waits) {
  const edge = (bin) => 2 ** (bin / 4);
  const first = waits.bins[0][0], last = waits.bins[waits.bins.length - 1][0];
  const counts = new Map(waits.bins);
  const bins = Array.from({length: last - first + 1}, (_, i) => first + i);
  const drawn =
      graph(
          {
            type: "bar",
            data: {
              labels: bins.map((bin) => time(edge(bin))),
              datasets: [{
                data: bins.map((bin) => counts.get(bin) ?? 0),
                backgroundColor: colorValue("input"),
                categoryPercentage: 1,
                barPercentage: 0.95
              }]
            },
            options: {
              scales: {
                x: {
                  title: {display: true, text: "length of a wait (from)"},
                  grid: {display: false},
                  ticks: {maxRotation: 0, autoSkipPadding: 16}
                },
                y: axis("waits", count)
              },
              plugins: {
                tooltip: {
                  callbacks: {
                    title: (items) => `${time(edge(bins[items[0].dataIndex]))} to ${
                        time(edge(bins[items[0].dataIndex] + 1))}`,
                    label: (item) => plural(item.raw, "wait")
                  }
                }
              }
            }
          },
          `How long the waits took: median ${time(waits.p50_ns)}, 90 % up to ${
              time(waits.p90_ns)}, longest ${time(waits.max_ns)}`,
          {low: true});
  return section(
      waits.loader ? `Loader ${waits.loader}` : "The loader",
      h("p", null,
        `${plural(waits.waits, "wait")}, mean ${time(waits.wait_ns / waits.waits)}; median ${
            time(waits.p50_ns)}, 90 % up to ${time(waits.p90_ns)}, longest ${time(waits.max_ns)}. `,
        `The thread was busy for ${
            percent(waits.wait_ns > 0 ? waits.busy_ns / waits.wait_ns : 0)} of it.`),
      bins.length > 1 ? drawn.element : null,
      table(
          [
            {title: inLoopUnits("step"), value: (row) => row[0], show: (row) => linkToStep(row[0])},
            {title: "waited", value: (row) => row[1], show: (row) => time(row[1]), number: true},
            {
              title: "busy",
              value: (row) => row[2] / row[1],
              show: (row) => row[1] > 0 ? percent(row[2] / row[1]) : "",
              number: true
            },
          ],
          waits.longest, {caption: "The longest waits"}));
}

// The ops inside the waits: decoding, transforming, collating.
function workPart() {
  const all = loop().ops.map((op, i) => ({...op, i})).filter((op) => op.phase === "input");
  if (all.length === 0) {
    return section(
        "Where the time went",
        absent(
            "No op ran inside the waits: the batches are read and decoded outside libtorch, or workers prepare them."));
  }
  const {analysed} = loop().steps;
  return section(
      "Where the time went",
      table(
          [
            {
              title: "op",
              value: (op) => op.name,
              show: (op) => h("a", {href: addressOf("ops", op.name)}, breakable(op.name)),
              name: true
            },
            {
              title: inLoopUnits("a step"),
              value: (op) => op.self_ns,
              show: (op) => time(op.self_ns / analysed),
              number: true
            },
            {
              title: "of the waits",
              value: (op) => op.self_ns,
              show: (op) =>
                  loop().input.wait_ns > 0 ? percent(op.self_ns / loop().input.wait_ns) : "",
              number: true
            },
            {
              title: callsTitle(),
              value: (op) => op.calls,
              show: (op) => (op.calls / analysed).toFixed(1),
              number: true
            },
          ],
          all, {caption: "Ops inside the waits, by self time", search: (op) => op.name}));
}

// --- lengths
// --------------------------------------------------------------------------------------

// For batches whose sample lengths the program marks.
export function paddingLine() {
  const {padding} = loop();
  if (padding === null) return null;
  return h(
      "p", null, `${batchText(padding)}; `, figure("padding.share", "percent"),
      " of the computed elements are ", h("a", {href: "#input"}, "padding"), ".");
}

function batchText({samples, batches}) {
  return `${(samples / batches).toFixed(1)} samples a batch`;
}

function paddingPart() {
  const {padding, advice} = loop();
  if (padding === null) return null;
  const content = 1 - padding.share;
  const row = (title, computed, shown) =>
      [h("span", null, title),
       bar(
           [
             {name: "compute", value: content, title: `content ${percent(content)}`}, {
               name: "host",
               value: Math.max(0, computed - content),
               title: `padding ${percent(Math.max(0, computed - content))}`
             }
           ],
           1, true),
       h("span", {class: "number"}, shown)];
  const sort = advice.findIndex((entry) => entry.rule === "sort-by-length");
  return section(
      "Padding",
      h("p", {class: "lead"}, figure("padding.share", "percent"),
        " of the computed elements are padding."),
      h("p", null, `${batchText(padding)}, in `, figure("padding.batches", "count"),
        " batches with marked lengths, each padded to its longest."),
      h("div", {class: "stacks"}, row("now", 1, "100.0 %"),
        padding.samples > padding.batches &&
            [
              row("sorted within 16 batches", padding.bucketed_elements_share,
                  figure("padding.bucketed_elements_share", "percent")),
              row("all sorted", padding.sorted_elements_share,
                  figure("padding.sorted_elements_share", "percent"))
            ]),
      h("p", {class: "small soft"}, swatch("compute"), "content ", swatch("host"),
        "padding; all as shares of what is computed now"),
      sort >= 0 && [
        h("p", null, `First: ${advice[sort].title}; `, insteadOf(sort)),
        evidence([advice[sort].evidence])
      ]);
}

// --- workers
// --------------------------------------------------------------------------------------

// Processes that the loop's process started and that do not train themselves.
function workersPart() {
  const own = run.processes.find((process) => process.id === loopData()?.process);
  const training = new Set(run.loops.map((entry) => entry.process));
  const workers = own ?
      run.processes.filter((process) => process.parent === own.pid && !training.has(process.id)) :
      [];
  if (workers.length === 0)
    return section(
        "Workers",
        absent(
            loop().input.busy_share >= 0.5 ?
                "No worker process was seen: the loop's thread prepares the batches itself." :
                "No worker process was seen."));
  return section(
      "Workers",
      table(
          [
            {
              title: "process",
              value: (row) => row.name,
              show: (row) => `${row.name} (pid ${row.pid})`,
              name: true
            },
            {
              title: "CPU used",
              value: (row) => row.cores,
              show: (row) => row.cores === null ? "not known" : `${row.cores.toFixed(2)} cores`,
              number: true
            },
          ],
          workers, {
            caption:
                "A worker near 1.00 cores is fully busy: more workers would help. A worker near 0 is itself waiting."
          }));
}
