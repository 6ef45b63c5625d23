// Shows above the overview what a recording is doing right now: `stepscope view --live` answers
// with the frames that `stepscope top --json` prints. When the recording ends, the page reloads and
// then shows the whole run.
import {bar, colorVariable, present, swatch} from "./categories.js";
import {analysis} from "./data.js";
import {append, capital, h, svg} from "./dom.js";
import {bytes, count, inUnits, percent, plural, rate, time} from "./text.js";

const EVERY_MS = 1000;
const AGAIN_MS = 3000;  // after a request without an answer
const LIVE_OPS = 8;

const panel = h("section", {id: "live", "aria-label": "The run right now"});
let seenRecording = analysis?.run.being_recorded ?? false;  // a sweep has no analysis

export function followRun() {
  document.getElementById("content").before(panel);
  window.addEventListener("hashchange", showPanel);
  panel.hidden = true;
  poll();
}

// On the overview only, and only during the recording.
function showPanel() {
  const page = location.hash.slice(1).split("=")[0];
  panel.hidden = panel.childElementCount === 0 || !["", "overview"].includes(page);
}

async function poll() {
  let again = EVERY_MS;
  if (!document.hidden) {
    try {
      const response = await fetch("live.json");
      if (!response.ok) throw new Error(await response.text());
      const frame = await response.json();
      if (!frame.being_recorded) return ended();
      seenRecording = true;
      drawFrameOf(frame);
    } catch (error) {
      panel.replaceChildren(h("p", {class: "alert"}, `No update from the run: ${error.message}`));
      again = AGAIN_MS;
    }
    showPanel();
  }
  setTimeout(poll, again);
}

function ended() {
  if (seenRecording) location.reload();
}

function drawFrameOf(frame) {
  const main = frame.loops[0];
  const losses = frame.losses.events + frame.losses.kernels + frame.losses.samples;
  const parts = [
    h("h2", null, "Right now",
      h("span", {class: "soft small"}, "recording for ", time(frame.at_ns),
        ` · ${count(frame.run.ops)} ops`, losses > 0 && ` · ${plural(losses, "event")} lost`)),
    frame.deaths.map((death) => h("p", {class: "alert"}, death)),
  ];
  if (main === undefined)
    parts.push(h("p", null, "No step yet: ", frame.no_steps));
  else
    parts.push(
        stepsNow(main), trendOf(main), sharesNow(main), inputNow(main), loopsNow(frame.loops),
        opsNow(main));
  parts.push(
      memoryNow(frame),
      h("p", {class: "soft small"},
        "The sections below show the run as it was when this page was loaded. ",
        h("a", {href: location.pathname}, "Reload")));
  panel.replaceChildren();
  append(panel, parts);
}

function stepsNow(main) {
  const {verdict, steps} = main;
  return h(
      "p", {class: "lead"},
      steps.analysed > 0 &&
          h("strong", {class: verdict.kind === "compute-bound" ? "degree good" : "degree"},
            capital([verdict.degree, verdict.kind].filter(Boolean).join(" "))),
      verdict.kind === "no-verdict" ? " · " : ` ${percent(verdict.share)} · `,
      main.steps_so_far !== null && `${steps.unit} ${count(main.steps_so_far)} · `,
      `${time(steps.wall_ns.mean)} a ${steps.unit}, ${rate(1e9 / steps.wall_ns.mean)} a second`,
      main.last_step_ns !== null && ` · last ${time(main.last_step_ns)}`,
      h("span", {class: "soft small"}, ` (of the latest ${plural(steps.analysed, steps.unit)})`));
}

// The step time until now: a bar for each interval.
function trendOf({trend: points, steps}) {
  if (points.length < 2) return null;
  const most = Math.max(...points.map(([, ns]) => ns));
  const width = 100 / points.length;
  return h(
      "div", {class: "trend"},
      svg("svg", {
        viewBox: "0 0 100 40",
        preserveAspectRatio: "none",
        height: "100%",
        role: "img",
        "aria-label": inUnits(`Step time until now, at most ${time(most)}`, steps.unit)
      },
          points.map(
              ([, ns], i) =>
                  svg("rect", {
                    x: (i * width).toFixed(3),
                    y: (40 - 40 * ns / most).toFixed(2),
                    width: (width * 0.9).toFixed(3),
                    height: (40 * ns / most).toFixed(2),
                    style: {fill: colorVariable("compute")}
                  },
                      svg("title", null, time(ns))))));
}

function sharesNow({shares, steps}) {
  const names = present(shares);
  return [
    bar(names.map(
            (name) => ({name, value: shares[name], title: `${name} ${percent(shares[name])}`})),
        1, true),
    h("ul", {class: "legend small"},
      names.map(
          (name) =>
              h("li", null, swatch(name),
                `${name} ${time(shares[name] * steps.wall_ns.mean)} · ${percent(shares[name])}`))),
  ];
}

function inputNow({input, steps}) {
  if (input.waits === 0) return null;
  return h(
      "p", null, "Input wait ",
      h("strong", null, time(input.wait_ns / Math.max(steps.analysed, 1))), ` a ${steps.unit}`,
      input.busy_share !== null && `, busy ${percent(input.busy_share)} of it`,
      input.loader && ` · ${input.loader}`);
}

function loopsNow(loops) {
  if (loops.length < 2) return null;
  return h(
      "ul", {class: "plain small"},
      loops.map(
          (entry) =>
              h("li", null, entry.rank !== null ? `rank ${entry.rank}` : `pid ${entry.process}`,
                `: ${time(entry.steps.wall_ns.mean)} a ${entry.steps.unit}, ${entry.verdict.kind} ${
                    percent(entry.verdict.share)}`)));
}

function opsNow({ops, steps}) {
  if (ops.length === 0) return null;
  return h(
      "div", {class: "scroll"},
      h("table", null,
        h("thead", null,
          h("tr", null, h("th", {scope: "col"}, "op"), h("th", {scope: "col"}, "phase"),
            h("th", {scope: "col", class: "number"}, `own time a ${steps.unit}`))),
        h("tbody", null,
          ops.slice(0, LIVE_OPS)
              .map(
                  (op) =>
                      h("tr", null, h("td", {class: "name"}, op.name), h("td", null, op.phase),
                        h("td", {class: "number"},
                          time(op.self_ns / Math.max(steps.analysed, 1))))))));
}

function memoryNow({memory, memory_available_bytes: available}) {
  if (memory.length === 0) return null;
  return h(
      "p", null, "Memory: ",
      memory.map(
          (entry) =>
              [`${entry.process} ${entry.pid}`,
               entry.rss_bytes !== null && ` ${bytes(entry.rss_bytes)}`,
               entry.tensor_bytes !== null && `, ${bytes(entry.tensor_bytes)} in tensors`,
               entry.device_allocated_bytes !== null &&
                   `, ${bytes(entry.device_allocated_bytes)} on devices`,
               " · "]),
      available !== null && `${bytes(available)} available on the machine`);
}
