// One step as a small timeline: a row per thread or stream, from the start of the step to its end.
import {colorVariable} from "./categories.js";
import {inLoopUnits, nameOf, trains} from "./data.js";
import {h, svg, visible} from "./dom.js";
import {count, plural, time} from "./text.js";

const LANE = 15;       // pixels
const MOST_LANES = 7;  // of nested ops in a row
const LETTER = 6.2;    // pixels, about

const PHASE_COLORS = {
  input: "input",
  input_end: "input",
  forward: "forward",
  backward: "backward",
  optimizer: "optimizer",
  zero_grad: "optimizer",
  scope: "other"
};

// Ranges that PyTorch's Python code opens, as opposed to the program's own labels.
const FRAMEWORK_SCOPE = /^(ProfilerStep#|Optimizer\.|enumerate\()/;

const COLLECTIVE = /^(c10d::|nccl:|gloo:|mpi:|ucc:)|nccl(Dev)?Kernel/i;

// The colour of a slice, by the categories of attribution.
export function colorOf(slice) {
  if (COLLECTIVE.test(slice.name)) return "communication";
  if (slice.track === "phase") return PHASE_COLORS[slice.phase] ?? "host";
  if (slice.track === "scope")
    return PHASE_COLORS[slice.phase] ?? (FRAMEWORK_SCOPE.test(slice.name) ? "host" : "other");
  if (slice.track === "op") return PHASE_COLORS[slice.phase] ?? "compute";
  if (slice.track === "call") return /synchronize/i.test(slice.name) ? "sync" : "launch";
  if (slice.track === "kernel") return "compute";
  return "copy";
}

export function slicesOf(picture) {
  return picture.slices.map(
      ([track, row, depth, start, dur, name, phase, count]) => ({
        track,
        row,
        depth,
        start,
        dur,
        name: count > 1 ? `${count} short events, first ${nameOf(name)}` : nameOf(name),
        phase,
        count
      }));
}

export function timeline(picture) {
  const detail =
      h("p", {class: "small", "aria-live": "polite"}, "Choose a bar to see its details.");
  const slices = slicesOf(picture);
  const holder = h("div");
  const draw = () => {
    const width = Math.max(holder.clientWidth, 240);
    holder.replaceChildren(
        ...picture.rows.flatMap((row) => rowOf(picture, row, slices, width, detail)),
        scale(picture, width));
  };
  new ResizeObserver(draw).observe(holder);
  const notes = [];
  if (picture.left_out > 0)
    notes.push(`${count(picture.left_out)} more events overlap these and are not drawn.`);
  if (picture.resolution_ns > 0)
    notes.push(`Neighbours shorter than ${time(picture.resolution_ns)} are drawn as one.`);
  if (!picture.ops_recorded) notes.push(inLoopUnits("Ops were not recorded in this step."));
  return h(
      "div", {class: "timeline"}, holder, detail,
      notes.length > 0 && h("p", {class: "small soft"}, notes.join(" ")));
}

function rowOf(picture, row, slices, width, detail) {
  const own = slices.filter((slice) => slice.row === row.row && isDevice(slice) === row.device);
  const deepest = Math.min(MOST_LANES, Math.max(0, ...own.filter(isHost).map((s) => s.depth + 1)));
  const lanes = lanesOf(own, deepest);
  const image = svg("svg", {
    height: lanes.count * LANE + 2,
    viewBox: `0 0 ${width} ${lanes.count * LANE + 2}`,
    role: "img",
    "aria-label": `${row.name}: ${plural(own.length, "event")}`
  });
  for (const slice of own) {
    const lane = lanes.of(slice);
    if (lane !== null) drawSlice(image, slice, lane, picture.span_ns, width, detail);
  }
  return [
    h("p", {class: "row-title"}, row.name,
      row.loop && (trains() ? " (training loop)" : " (inference loop)")),
    image
  ];
}

function isHost(slice) {
  return slice.track === "op" || slice.track === "scope";
}
function isDevice(slice) {
  return ["kernel", "copy", "memset"].includes(slice.track);
}

// Phases above, ops by depth below them, calls of the device's API at the bottom.
function lanesOf(slices, deepest) {
  const phases = slices.some((slice) => slice.track === "phase") ? 1 : 0;
  const calls = slices.some((slice) => slice.track === "call") ? 1 : 0;
  return {
    count: Math.max(1, phases + deepest + calls),
    of(slice) {
      if (slice.track === "call") return phases + deepest;
      if (isHost(slice)) return slice.depth < deepest ? phases + slice.depth : null;
      return 0;
    },
  };
}

function drawSlice(image, slice, lane, wall, width, detail) {
  const from = Math.max(0, slice.start) / wall * width;
  const to = Math.min(wall, slice.start + slice.dur) / wall * width;
  const size = Math.max(to - from, 0.7);
  const beyond =
      [slice.start < 0 && "began before", slice.start + slice.dur > wall && "goes on after"]
          .filter(Boolean)
          .map((what) => inLoopUnits(` · ${what} this step`))
          .join("");
  const text = `${slice.name} · ${time(slice.dur)}${beyond}`;
  const say = () => {
    detail.replaceChildren(
        h("strong", null, slice.name),
        ` · ${time(slice.dur)}, begins ${time(Math.max(0, slice.start))} into the ${
            inLoopUnits("step")}`,
        slice.phase !== "none" && ` · ${slice.phase}`, beyond);
  };
  image.append(
      svg("rect", {
        class: size > 3 ? "slice wide" : "slice",
        x: from.toFixed(2),
        y: lane * LANE + 1,
        width: size.toFixed(2),
        height: LANE - 1,
        style: {fill: colorVariable(colorOf(slice))},
        onclick: say,
        onmouseenter: say
      },
          svg("title", null, text)));
  if (slice.start < 0) image.append(tornEdge(0, lane, 1));
  if (slice.start + slice.dur > wall) image.append(tornEdge(width, lane, -1));
  const letters = Math.floor((size - 6) / LETTER);
  if (letters < 4) return;
  const name = visible(slice.name);
  image.append(
      svg("text", {
        x: (from + 3).toFixed(2),
        y: lane * LANE + 12,
        "aria-hidden": "true",
        style: {fill: "var(--back)"}
      },
          name.length > letters ? name.slice(0, letters - 1) + "…" : name));
}

// The edge of an event that continues outside the step. `inwards`: 1 from the left edge, -1 from
// the right.
function tornEdge(x, lane, inwards) {
  const tooth = 3 * inwards, half = (LANE - 1) / 4;
  return svg("path", {
    class: "torn",
    d: `M${x} ${lane * LANE + 1}l${tooth} ${half}l${- tooth} ${half}l${tooth} ${half}l${- tooth} ${
        half}z`,
    style: {fill: "var(--card)"}
  });
}

function scale(picture, width) {
  const image = svg("svg", {height: 18, viewBox: `0 0 ${width} 18`, "aria-hidden": "true"});
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    image.append(
        svg("text", {
          x: part * width,
          y: 13,
          style: {fill: "var(--soft)"},
          "text-anchor": part === 0 ? "start" :
              part === 1            ? "end" :
                                      "middle"
        },
            time(picture.span_ns * part)));
  }
  return image;
}
