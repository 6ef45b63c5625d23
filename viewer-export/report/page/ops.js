// Tables of what ran: ops on the host and what they launched, kernels, copies.
import {addressOf} from "./address.js";
import {swatch} from "./categories.js";
import {callsTitle, inLoopUnits, linkToStep, loop, loopData, nameOf, run, stepAt} from "./data.js";
import {absent, breakable, h, section} from "./dom.js";
import {table} from "./table.js";
import {bytes, count, percent, plural, time} from "./text.js";

const OP = {
  process: 0,
  name: 1,
  phase: 2,
  calls: 3,
  total: 4,
  self: 5,
  device: 6,
  longest: 7,
  at: 8
};
const GROUPS = {
  op: {title: "op", key: (op) => op.name},
  "op and phase": {title: "op and phase", key: (op) => op.name + "\n" + op.phase},
  phase: {title: "phase", key: (op) => op.phase},
};

function inStep(ns) {
  const step = stepAt(ns);
  return step && [" in ", linkToStep(step.number)];
}

function mine(row) {
  return row[OP.process] === loopData()?.process;
}

function opsOfLoop() {
  return run.ops.filter(mine).map((row) => ({
                                    name: nameOf(row[OP.name]),
                                    phase: row[OP.phase],
                                    calls: row[OP.calls],
                                    total: row[OP.total],
                                    self: row[OP.self],
                                    device: row[OP.device],
                                    longest: row[OP.longest],
                                    at: row[OP.at]
                                  }));
}

function grouped(ops, key) {
  const groups = new Map();
  for (const op of ops) {
    const known = groups.get(key(op));
    if (known === undefined) {
      groups.set(key(op), {...op});
      continue;
    }
    for (const sum of ["calls", "total", "self", "device"]) known[sum] += op[sum];
    if (op.longest > known.longest) Object.assign(known, {longest: op.longest, at: op.at});
  }
  return [...groups.values()].sort((a, b) => b.self + b.device - a.self - a.device);
}

const PHASE_TEXT = {
  none: "outside",
  zero_grad: "optimizer (zero_grad)"
};
export function phaseText(phase) {
  return PHASE_TEXT[phase] ?? phase;
}

function opTable(ops, grouping, query) {
  const {analysed} = loop().steps;
  const anyDevice = ops.some((op) => op.device > 0);
  const whole = ops.reduce((sum, op) => sum + op.self, 0);
  const columns = [
    grouping !== "phase" && {title: "op", value: (op) => op.name, name: true},
    grouping !== "op" && {title: "phase", value: (op) => phaseText(op.phase)},
    {
      title: callsTitle(),
      value: (op) => op.calls,
      show: (op) => (op.calls / analysed).toFixed(1),
      number: true
    },
    {
      title: inLoopUnits("self a step"),
      value: (op) => op.self,
      show: (op) => time(op.self / analysed),
      number: true
    },
    {
      title: "of all",
      value: (op) => op.self,
      show: (op) => percent(whole > 0 ? op.self / whole : 0),
      number: true
    },
    {
      title: inLoopUnits("total a step"),
      value: (op) => op.total,
      show: (op) => time(op.total / analysed),
      number: true
    },
    anyDevice && {
      title: inLoopUnits("on the device a step"),
      value: (op) => op.device,
      show: (op) => op.device > 0 ? time(op.device / analysed) : "",
      number: true
    },
    {
      title: "each",
      value: (op) => op.total / op.calls,
      show: (op) => time(op.total / op.calls),
      number: true
    },
    {
      title: "longest",
      value: (op) => op.longest,
      show: (op) => [time(op.longest), inStep(op.at)],
      number: true
    },
  ].filter(Boolean);
  return table(
      columns, grouped(ops, GROUPS[grouping].key),
      {search: (op) => op.name + " " + phaseText(op.phase), query});
}

export function opsPage(what) {
  const ops = opsOfLoop();
  const holder = h("div");
  const draw = (grouping) =>
      holder.replaceChildren(opTable(ops, grouping, grouping === "phase" ? "" : what ?? ""));
  const choice =
      h("select", {id: "grouping", onchange: (event) => draw(event.target.value)},
        Object.keys(GROUPS).map(
            (name) => h("option", {value: name, selected: name === "op and phase"}, name)));
  draw("op and phase");
  return [
    h("h1", null, "Ops"),
    section(
        null,
        h("p", null,
          `Ops that began in the ${
              plural(
                  loop().steps.analysed,
                  inLoopUnits(
                      "analysed step"))}, on all threads of the process. Self time excludes the ops that an op calls. `,
          "The self time of an op that only waits (a scope, a data loader's next) is its wait; the overview separates waiting from working."),
        h("p", {class: "controls"}, h("label", null, "One row for each ", choice)), holder,
        run.ops.length >= 2000 &&
            absent("The page shows the 2,000 costliest; for the rest: select * from op_stats.")),
    shapesPart()
  ];
}

function shapesPart() {
  const rows = run.shapes.filter(mine);
  if (rows.length === 0)
    return section("By shape", absent("Shapes were not recorded (stepscope run --shapes)."));
  const {analysed} = loop().steps;
  const anyDevice = rows.some((row) => row[6] > 0);
  return section(
      "By shape",
      table(
          [
            {title: "op", value: (row) => nameOf(row[1]), name: true},
            {title: "shapes of its inputs", value: (row) => nameOf(row[2]), name: true},
            {
              title: callsTitle(),
              value: (row) => row[3],
              show: (row) => (row[3] / analysed).toFixed(1),
              number: true
            },
            {
              title: inLoopUnits("self a step"),
              value: (row) => row[5],
              show: (row) => time(row[5] / analysed),
              number: true
            },
            {
              title: "each",
              value: (row) => row[4] / row[3],
              show: (row) => time(row[4] / row[3]),
              number: true
            },
            anyDevice && {
              title: inLoopUnits("on the device a step"),
              value: (row) => row[6],
              show: (row) => row[6] > 0 ? time(row[6] / analysed) : "",
              number: true
            },
          ].filter(Boolean),
          rows, {search: (row) => nameOf(row[1]) + " " + nameOf(row[2])}));
}

// --- devices ------------------------------------------------------------------------------------

function ofDevice(rows, process) {
  const number = loop().device?.number;
  return rows.filter(
      (row) => row[process] === loopData()?.process && (number === undefined || row[0] === number));
}

export function kernelsPage() {
  const rows = ofDevice(run.kernels, 7);
  if (rows.length === 0) return [h("h1", null, "Kernels"), absent("No kernel ran for this loop.")];
  const {analysed} = loop().steps;
  const whole = rows.reduce((sum, row) => sum + row[3], 0);
  return [
    h("h1", null, "Kernels"),
    section(
        null,
        h("p", null,
          `${plural(rows.length, "kernel")} took ${time(whole / analysed)} ${
              inLoopUnits("a step")}; concurrent kernels each count in full. `,
          rows.some((row) => row[8] !== null) &&
              "Occupancy is theoretical: resident warps as a share of what a multiprocessor can hold, averaged over the kernel's time."),
        table(
            [
              {title: "kernel", value: (row) => nameOf(row[1]).replace(/^void /, ""), name: true},
              {
                title: callsTitle(),
                value: (row) => row[2],
                show: (row) => (row[2] / analysed).toFixed(1),
                number: true
              },
              {
                title: inLoopUnits("a step"),
                value: (row) => row[3],
                show: (row) => time(row[3] / analysed),
                number: true
              },
              {
                title: "of all",
                value: (row) => row[3],
                show: (row) => percent(whole > 0 ? row[3] / whole : 0),
                number: true
              },
              {
                title: "each",
                value: (row) => row[3] / row[2],
                show: (row) => time(row[3] / row[2]),
                number: true
              },
              {
                title: "longest",
                value: (row) => row[4],
                show: (row) => [time(row[4]), inStep(row[5])],
                number: true
              },
              rows.some((row) => row[8] !== null) && {
                title: "occupancy",
                value: (row) => row[8],
                show: (row) => row[8] === null ? "" : percent(row[8]),
                number: true
              },
              rows.some((row) => row[9]) && {
                title: "tensor cores",
                value: (row) => row[9] ? 1 : 0,
                show: (row) => row[9] ? "yes" : ""
              },
              {
                title: "longest launched by",
                value: (row) => row[6] === null ? "" : nameOf(row[6]),
                show: (row) => row[6] === null ?
                    "not known" :
                    h("a", {href: addressOf("ops", nameOf(row[6]))}, breakable(nameOf(row[6]))),
                name: true
              },
            ].filter(Boolean),
            rows, {search: (row) => nameOf(row[1])}))
  ];
}

export function copiesPage() {
  const rows = ofDevice(run.copies, 9);
  if (rows.length === 0)
    return [h("h1", null, "Copies"), absent("Nothing was copied for this loop.")];
  const {analysed} = loop().steps;
  const pageable = rows.some((row) => row[2] === "pageable" || row[3] === "pageable");
  return [
    h("h1", null, "Copies"),
    section(
        null,
        pageable &&
            h("p", null,
              "Copies from or to pageable memory are slow and block the calling thread: pin the memory (pin_memory=True) and copy with non_blocking=True."),
        table(
            [
              {title: "copy", value: (row) => row[1]},
              {title: "from", value: (row) => row[2]},
              {title: "to", value: (row) => row[3]},
              {
                title: inLoopUnits("copies a step"),
                value: (row) => row[4],
                show: (row) => (row[4] / analysed).toFixed(1),
                number: true
              },
              {
                title: inLoopUnits("a step"),
                value: (row) => row[5],
                show: (row) => time(row[5] / analysed),
                number: true
              },
              {
                title: inLoopUnits("bytes a step"),
                value: (row) => row[6],
                show: (row) => bytes(row[6] / analysed),
                number: true
              },
              {
                title: "rate",
                value: (row) => row[6] / row[5],
                show: (row) => row[5] > 0 ? `${bytes(row[6] / row[5] * 1e9)}/s` : "",
                number: true
              },
              {
                title: "beside kernels",
                value: (row) => row[10] / row[5],
                show: (row) => row[5] > 0 ? percent(row[10] / row[5]) : "",
                number: true
              },
              {
                title: "longest",
                value: (row) => row[7],
                show: (row) => [time(row[7]), inStep(row[8])],
                number: true
              },
            ],
            rows))
  ];
}
