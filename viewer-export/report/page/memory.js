// Memory over time: what each process held, its peak, how it grows, and the last moments.
import {absent, facts, h, section} from "./dom.js";

import {time, bytes, signed, plural} from "./text.js";
import {analysis, run, stepAt, loopData, linkToStep, inLoopUnits} from "./data.js";
import {colorValue, legendOf} from "./categories.js";
import {graph, axis, secondsAxis} from "./charts.js";
import {tensorsPart} from "./tensors.js";

const COUNTERS = {
  rss_bytes: {title: "held by the process (resident)", color: "host"},
  cpu_tensor_bytes: {title: "held by tensors on the CPU", color: "compute"},
  device_allocated_bytes: {title: "held by tensors on devices", color: "allocation"},
  device_reserved_bytes: {title: "reserved by the device's allocator", color: "copy"},
  memory_available_bytes: {title: "available on the machine", color: "sync"},
};
const FEW_PROCESSES = 6;

function titleOf(series) {
  return COUNTERS[series.counter].title + (series.gpu === null ? "" : ` (cuda:${series.gpu})`);
}

export function hasMemory() {
  return run.series.length > 0;
}

export function memoryPage() {
  const processes =
      run.processes.filter((process) => run.series.some((series) => series.process === process.id));
  const training = loopData()?.process;
  processes.sort((a, b) => (b.id === training) - (a.id === training));
  const shown = processes.slice(0, FEW_PROCESSES);
  return [
    h("h1", null, "Memory"),
    ...shown.flatMap((process) => [processPart(process), ...tensorsOf(process)]), machinePart(),
    shown.length < processes.length &&
        absent(`${
            plural(
                processes.length - shown.length, "more process",
                "more processes")} were sampled: select * from counter.`)
  ];
}

function rowOfProcess(process) {
  return analysis.run.processes.find((entry) => entry.pid === process.pid);
}

function tensorsOf(process) {
  const row = rowOfProcess(process);
  return run.tensors.filter((tensors) => tensors.process === process.id)
      .map(
          (tensors) =>
              tensorsPart(asAnalysed(tensors, row?.tensors ?? null), moment, Boolean(row?.died)));
}

// The peak of the analysis takes precedence; it covers no devices.
function asAnalysed(tensors, analysed) {
  if (tensors.gpu !== null || analysed === null) return tensors;
  const parts = (by) =>
      Object.fromEntries(Object.keys(tensors.peak).map((name) => [name, by[name] ?? 0]));
  return {
    ...tensors,
    peak: parts(analysed.peak.by),
    peak_at_ns: analysed.peak.at_ns,
    last: parts(analysed.last.by)
  };
}

function seriesOf(id) {
  return run.series.filter((series) => series.process === id);
}

function processPart(process) {
  const all = seriesOf(process.id);
  const row = rowOfProcess(process);
  const title = `${process.name} (pid ${process.pid}${
      process.rank === null ? "" : `, rank ${process.rank}`})`;
  return section(
      title, row?.died && h("p", {class: "alert"}, row.died.why), linesOf(all, row), facts([
        ...all.map(
            (series) =>
                [`Peak ${titleOf(series)}`, bytes(series.peak),
                 stepAt(series.peak_at_ns) === null ? ", " : " ", moment(series.peak_at_ns)]),
        row && row.rss_growth_per_step !== null && ["Growth", growth(row.rss_growth_per_step)],
        row?.died &&
            [
              "When it died",
              all.map((series) => `${bytes(series.last)} ${titleOf(series)}`).join(", ")
            ],
      ]));
}

function moment(ns) {
  const step = stepAt(ns);
  return step === null ? `${time(ns)} into the recording` :
                         ["in ", linkToStep(step.number), ` (${time(ns)})`];
}

function growth(perStep) {
  const slope = inLoopUnits("a step (median slope over the steady steps: jumps do not count)");
  return `${perStep === 0 ? "0 B" : signed(bytes(perStep), perStep)} ${slope}`;
}

function machinePart() {
  const all = seriesOf(null);
  return all.length > 0 && section("The machine", linesOf(all, null));
}

function linesOf(all, row) {
  const died = row?.died?.at_ns ?? null;
  const drawn =
      graph(
          {
            type: "line",
            data: {
              datasets:
                  all.map((series) => ({
                            label: titleOf(series),
                            data: series.at_ns.map((at, i) => ({x: at / 1e9, y: series.value[i]})),
                            borderColor: colorValue(COUNTERS[series.counter].color),
                            backgroundColor: colorValue(COUNTERS[series.counter].color),
                            borderWidth: 1.5,
                            pointRadius: series.value.length < 3 ? 3 : 0
                          }))
            },
            options: {
              scales: {
                x: secondsAxis(
                    died === null ?
                        "seconds into the recording" :
                        `seconds into the recording; it died at ${(died / 1e9).toPrecision(3)}`),
                y: axis("bytes", bytes, {grace: "5%"})
              },
              interaction: {mode: "nearest", axis: "x", intersect: false},
              plugins:
                  {
                    tooltip: {
                      callbacks: {
                        title: (items) => time(items[0].parsed.x * 1e9),
                        label: (item) => `${item.dataset.label} ${bytes(item.parsed.y)}`
                      }
                    }
                  }
            }
          },
          "Memory over time. " +
              all.map(
                     (series) => `${titleOf(series)}: peak ${bytes(series.peak)}, last ${
                         bytes(series.last)}`)
                  .join("; "));
  return [
    legendOf(all.map((series) => ({color: COUNTERS[series.counter].color, text: titleOf(series)}))),
    drawn.element
  ];
}
