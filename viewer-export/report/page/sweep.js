// A sweep: the best setting of each kind, how the others compare, and the memory limit.
import {colorValue, colorVariable, legendOf} from "./categories.js";
import {axis, graph} from "./charts.js";
import {sweep} from "./data.js";
import {absent, facts, h, scrolled, section} from "./dom.js";
import {table} from "./table.js";
import {bytes, count, inUnits, percent, plural, rate, time} from "./text.js";

const LINES =
    ["compute", "input", "sync", "communication", "copy", "launch", "allocation", "other", "host"];
const OUTCOMES = {
  "out-of-memory": "N/A: memory",
  "timed-out": "N/A: time",
  crashed: "N/A: crash",
  "no-steps": "N/A: no steps"
};

const available = (cell) => cell.figures !== null;
const valueOf = (cell) => cell.values[sweep.scanned];
const inSweepUnits = (phrase) => inUnits(phrase, sweep.unit);
const unit = () => sweep.per_sample ? "a sample" : inSweepUnits("a step");

function costOf(cell) {
  return sweep.per_sample ? cell.figures.sample_ns : cell.figures.step_ns.mean;
}

// Samples per second if samples are known, else the time of a step.
function speedOf(cell) {
  return sweep.per_sample ? `${rate(cell.figures.samples_per_second)} samples/s` :
                            time(cell.figures.step_ns.mean.value);
}

function outcomeOf(cell) {
  return cell.outcome === null ? "not yet" : OUTCOMES[cell.outcome] ?? "N/A";
}

function number(value) {
  return Number.isInteger(value) ? count(value) : String(value);
}

function valueText(value) {
  return typeof value === "number" ? number(value) : value;
}

// --- overview
// -------------------------------------------------------------------------------------

export function sweepHeadline() {
  const found = sweep.scans.filter((scan) => scan.best !== null);
  if (found.length === 0) return sweep.cells.some(available) ? "Sweep" : "No setting is available";
  const values = [...new Set(found.map((scan) => valueOf(sweep.cells[scan.best])))];
  if (values.length === 1) return `Best ${sweep.scanned}: ${number(values[0])}`;
  return `Best ${sweep.scanned}: ${number(Math.min(...values))} to ${number(Math.max(...values))}`;
}

export function sweepOverviewPage() {
  return [
    answerPart(), scansPart(), ...sweep.comparisons.map(comparisonPart), memoryPart(),
    missingPart(), factsPart()
  ];
}

function goodText(scan) {
  if (scan.as_good.length < 2) return "no other";
  const range =
      scan.good_from < scan.good_to ? [`${number(scan.good_from)} to ${number(scan.good_to)}`] : [];
  const others = scan.as_good.map((i) => valueOf(sweep.cells[i]))
                     .filter((value) => value < scan.good_from || value > scan.good_to);
  return [...range, ...others.map(number)].join(", ");
}

function answerPart() {
  const done = sweep.runs.made < sweep.runs.planned &&
      h("p", {class: "alert"},
        `Not complete: ${count(sweep.runs.made)} of ${count(sweep.runs.planned)} runs were made.`);
  const found = sweep.scans.filter((scan) => scan.best !== null);
  const sentence =
      found.length === 1 &&
      `${speedOf(sweep.cells[found[0].best])} with ${sweep.scanned} ${
          number(valueOf(sweep.cells[found[0].best]))}; as good: ${goodText(found[0])}.`;
  return section(
      null, done, h("h1", null, sweepHeadline()), sentence && h("p", {class: "lead"}, sentence),
      h("p", {class: "soft"},
        `${plural(sweep.cells.length, "setting")}, ${plural(sweep.runs.made, "run")} in ${
            plural(sweep.rounds, "round")}. `,
        "A setting is as good as the best if their difference cannot be distinguished from the difference between processes of one setting (95 %)."),
      sweep.notes.map((note) => h("p", null, note)));
}

// The line says little about values far beyond the largest one tried.
const FAR = 10;

function fitText({memory, no_memory, cells}) {
  if (memory === null) return no_memory;
  const tried = Math.max(...cells.map((i) => valueOf(sweep.cells[i])));
  if (memory.largest > FAR * tried) return "more than " + number(FAR * tried);
  const range = memory.ci95 === null ? "" : ` (95 % CI ${memory.ci95.map(number).join(" – ")})`;
  return number(memory.largest) + range;
}

function scansPart() {
  if (sweep.scans.length === 0) return null;
  const best = (scan) => scan.best === null ? null : sweep.cells[scan.best];
  return section(
      `The best ${sweep.scanned}`,
      table(
          [
            {
              title: "setting",
              value: (scan) => scan.title ?? "",
              show: (scan) => scan.title ?? "all"
            },
            {
              title: sweep.scanned,
              value: (scan) => best(scan) && valueOf(best(scan)),
              number: true,
              show: (scan) => best(scan) ? h("strong", null, number(valueOf(best(scan)))) : "N/A"
            },
            {
              title: sweep.per_sample ? "samples a second" : inSweepUnits("a step"),
              value: (scan) => best(scan) && -costOf(best(scan)).value,
              number: true,
              show: (scan) => best(scan) ? speedOf(best(scan)) : ""
            },
            {
              title: "as good",
              value: null,
              show: (scan) => scan.best === null ? "" : goodText(scan)
            },
            {
              title: "the largest that fits",
              value: (scan) => scan.memory?.largest ?? null,
              show: fitText,
              number: true
            },
          ],
          sweep.scans));
}

function comparisonPart(comparison) {
  const rows = comparison.levels;
  const longest = Math.max(...rows.map((level) => level.cost_ns));
  const by = (level) => level.relative <= 1 ?
      "the fastest" :
      h("span", {class: level.noise ? "soft" : null},
        `${level.relative.toFixed(2)} × (${level.ci95.map((end) => end.toFixed(2)).join(" – ")})${
            level.noise ? " noise" : ""}`);
  return section(
      `By ${comparison.of}`,
      rows.length === 0 ?
          absent("No setting is available for all of them.") :
          [
            h("p", {class: "soft small"},
              `Mean over ${plural(comparison.settings, "setting")} available for all of them.`),
            table(
                [
                  {title: comparison.of, value: (level) => level.name},
                  {
                    title: unit(),
                    value: (level) => level.cost_ns,
                    show: (level) => time(level.cost_ns),
                    number: true
                  },
                  {
                    title: "relative to the fastest",
                    value: (level) => level.relative,
                    show: by,
                    number: true
                  },
                  {
                    title: "",
                    value: null,
                    show: (level) =>
                        h("div", {class: "bar", role: "img", "aria-label": time(level.cost_ns)},
                          h("span", {
                            style: {
                              width: 100 * level.cost_ns / longest + "%",
                              backgroundColor: colorVariable("compute")
                            }
                          }))
                  },
                ],
                rows)
          ],
      comparison.left_out.length > 0 &&
          h("p", {class: "small"}, "Left out for all, because not available for one of them: ",
            comparison.left_out.join(", "), "."));
}

function memoryPart() {
  const lines = sweep.scans.filter((scan) => scan.memory_pressure !== null).map((scan) => {
    const {cell, slowdown, evidence} = scan.memory_pressure;
    return h(
        "li", null,
        `${sweep.cells[cell].title} costs ${percent(slowdown)} more than the best: ${
            evidence.join("; ")}.`);
  });
  return lines.length > 0 &&
      section("Where memory pressure costs time", h("ul", {class: "plain"}, lines));
}

function missingPart() {
  const missing = sweep.cells.filter((cell) => !available(cell) && cell.outcome !== null);
  if (missing.length === 0) return null;
  return section(
      "Not available",
      table(
          [
            {title: "setting", value: (cell) => cell.title},
            {title: "what happened", value: (cell) => outcomeOf(cell)},
            {title: "cause", value: (cell) => cell.cause ?? "", name: true},
          ],
          missing));
}

function factsPart() {
  const {machine} = sweep;
  return section(
      "What was run", facts([
        ...sweep.variants.map(
            (variant) => [variant.name ?? "command", h("code", null, variant.command)]),
        [
          "varied",
          sweep.parameters.map(({name, values}) => `${name}: ${values.join(", ")}`).join(" · ") ||
              "only the variant"
        ],
        [
          "machine",
          `${machine.host} · ${machine.cpu_model} · ${plural(machine.cpu_count, "core")} · ${
              bytes(machine.memory_bytes)}`
        ],
        machine.memory_limit_bytes !== null &&
            ["memory limit", bytes(machine.memory_limit_bytes), " of address space"],
        sweep.torch_versions.length > 0 && ["libtorch", sweep.torch_versions.join(", ")],
        ["recorded", sweep.tier],
      ]));
}

// --- map and curves
// -------------------------------------------------------------------------------

export const sweepHasMap = () => sweep.scanned !== null;

export function sweepMapPage() {
  return [h("h1", null, `By ${sweep.scanned}`), heatPart(), curvePart(), memoryCurve()];
}

// Scans beside one another: a column each.
function heatPart() {
  const values = [
    ...new Set(sweep.scans.flatMap((scan) => scan.cells.map((i) => valueOf(sweep.cells[i]))))
  ].sort((a, b) => a - b);
  const cellOf = (scan, value) =>
      sweep.cells[scan.cells.find((i) => valueOf(sweep.cells[i]) === value)];
  return section(
      "Each setting relative to the best of its column",
      h("p", {class: "small soft"}, "The paler, the slower. ", h("strong", null, "★"),
        " is the best, ≈ is as good."),
      scrolled(
          h("table", {class: "heat"},
            h("thead", null,
              h("tr", null, h("th", {scope: "col"}, sweep.scanned),
                sweep.scans.map(
                    (scan) => h("th", {scope: "col", class: "number"}, scan.title ?? "all")))),
            h("tbody", null,
              values.map(
                  (value) =>
                      h("tr", null, h("th", {scope: "row", class: "number"}, number(value)),
                        sweep.scans.map((scan) => heatCell(scan, cellOf(scan, value))))))),
          sweep.per_sample ? "Samples a second" : inSweepUnits("Time of a step")));
}

function heatCell(scan, cell) {
  if (!available(cell))
    return h("td", {class: "number missing", title: cell.cause}, outcomeOf(cell));
  const share = costOf(sweep.cells[scan.best]).value / costOf(cell).value;
  const index = sweep.cells.indexOf(cell);
  const mark = index === scan.best ? "★ " : scan.as_good.includes(index) ? "≈ " : "";
  const shown = sweep.per_sample ? rate(cell.figures.samples_per_second) :
                                   time(cell.figures.step_ns.mean.value);
  return h(
      "td", {
        class: "number",
        title: `${cell.title}: ${time(costOf(cell).value)} ${unit()}`,
        "data-cell": index,
        style: {
          backgroundColor: `color-mix(in srgb, ${colorVariable("compute")} ${
              Math.round(45 * share)}%, transparent)`
        }
      },
      mark, shown);
}

function curves(title, label, y, format) {
  const drawn = sweep.scans.slice(0, LINES.length);
  const sets = drawn.map((scan, i) => ({
                           label: scan.title ?? "all",
                           borderColor: colorValue(LINES[i]),
                           backgroundColor: colorValue(LINES[i]),
                           data: scan.cells.map((k) => sweep.cells[k])
                                     .filter(available)
                                     .map((cell) => ({x: valueOf(cell), y: y(cell)})),
                           pointRadius: 3,
                           borderWidth: 2
                         }));
  const positive = drawn.every((scan) => scan.cells.every((k) => valueOf(sweep.cells[k]) > 0));
  const all = [...new Set(drawn.flatMap((scan) => scan.cells.map((k) => valueOf(sweep.cells[k]))))];
  return section(
      title,
      drawn.length > 1 &&
          legendOf(drawn.map((scan, i) => ({color: LINES[i], text: scan.title ?? "all"}))),
      graph(
          {
            type: "line",
            data: {datasets: sets},
            options: {
              scales: {
                x: axis(sweep.scanned, number, {
                  type: positive ? "logarithmic" : "linear",
                  beginAtZero: false,
                  afterBuildTicks: (scale) => {
                    scale.ticks = all.filter((value) => value >= scale.min && value <= scale.max)
                                      .map((value) => ({value}));
                  }
                }),
                y: axis(label, format)
              },
              plugins: {
                tooltip: {
                  callbacks: {label: (item) => `${item.dataset.label}: ${format(item.parsed.y)}`}
                }
              }
            }
          },
          `${title}; the table of all settings has the same figures`)
          .element,
      drawn.length < sweep.scans.length &&
          h("p", {class: "small soft"},
            `The first ${drawn.length} of ${sweep.scans.length} are drawn.`));
}

function curvePart() {
  return sweep.per_sample ?
      curves("Throughput", "samples a second", (cell) => cell.figures.samples_per_second, rate) :
      curves(
          inSweepUnits("Time of a step"), inSweepUnits("a step"),
          (cell) => cell.figures.step_ns.mean.value, time);
}

function memoryCurve() {
  const fit = sweep.scans.find((scan) => scan.memory !== null)?.memory;
  const address = fit?.of === "address space";
  const of = (cell) => address ? cell.figures.peak_address_bytes : cell.figures.peak_rss_bytes;
  const part = curves(address ? "Peak of the address space" : "Peak memory", "bytes", of, bytes);
  if (fit)
    part.append(
        h("p", null,
          "The largest value that fits is where the straight line through them reaches the limit, ",
          bytes(fit.limit_bytes), "."));
  return part;
}

// --- all settings
// ---------------------------------------------------------------------------------

const shownFigure = (name, format) => (cell) => {
  const value = name.split(".").reduce((at, key) => at?.[key], cell.figures);
  return value === null || value === undefined ? "–" : format(value);
};
const figureAt = (name) => (cell) =>
    name.split(".").reduce((at, key) => at?.[key], cell.figures) ?? null;
const column = (title, name, format) =>
    ({title, value: figureAt(name), show: shownFigure(name, format), number: true});

export function sweepSettingsPage() {
  return [
    h("h1", null, "All settings"),
    section(
        null,
        table(
            [
              ...(sweep.variants.length > 1 ? [{title: "variant", value: (cell) => cell.variant}] :
                                              []),
              ...sweep.parameters.map(({name}) => ({
                                        title: name,
                                        value: (cell) => cell.values[name],
                                        show: (cell) => valueText(cell.values[name])
                                      })),
              {title: "outcome", value: (cell) => available(cell) ? "ok" : outcomeOf(cell)},
              column(inSweepUnits("steps"), "steps", count),
              column("mean", "step_ns.mean.value", time),
              column("p50", "step_ns.p50", time),
              column("p99", "step_ns.p99", time),
              column("samples/s", "samples_per_second", rate),
              column("input", "input_share", percent),
              column("model", "model_share", percent),
              column("peak memory", "peak_rss_bytes", bytes),
              column(inSweepUnits("page faults a step"), "minor_faults_per_step", rate),
              column("from disk", "major_faults_per_step", rate),
              column("memory pressure", "pressure_share", percent),
              column("in the kernel", "system_share", percent),
            ],
            sweep.cells, {search: (cell) => cell.title, first: 200}))
  ];
}
