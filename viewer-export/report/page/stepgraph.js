// Steps on x, their time by category on y; a click or Enter opens a step.
import {CATEGORIES, colorValue, legend, legendOf, SEGMENTS} from "./categories.js";
import {axis, chartsMissing, graph} from "./charts.js";
import {inLoopUnits, loop, segments, steps, stepsInGroup} from "./data.js";
import {capital, h, visible} from "./dom.js";
import {count, plural, time} from "./text.js";

const MOST_BARS = 320;
const MOST_SEGMENTS = 120;  // that have a bar of their own

// Neighbours share a bar if there are more steps than a screen can show.
function barsOf(list) {
  const size = Math.max(1, Math.ceil(list.length / MOST_BARS));
  const bars = [];
  for (let i = 0; i < list.length; i += size) {
    const members = list.slice(i, i + size);
    bars.push({
      members,
      slowest: members.reduce((a, b) => b.wall > a.wall ? b : a),
      analysed: members.some((step) => step.population > 0),
      mean: (category) =>
          members.reduce((sum, step) => sum + (step.times[category] ?? 0), 0) / members.length
    });
  }
  return {bars, size};
}

// Adds what the loop did between the steps of each bar and those of the next: a bar for each kind,
// as high as the time it took. If there are very many, only the longest have bars.
function withSegments(bars, all) {
  const before = {members: [{number: -Infinity}]};
  const places = [before, ...bars].map((bar) => ({bar, kinds: new Map()}));
  for (const {kind, step, start, dur} of all) {
    const {bar, kinds} = places.findLast(({bar}) => bar.members[0].number <= step);
    const around = bar.members.find(({number}) => number === step);
    const inside = around !== undefined && start < around.start + around.wall;
    kinds.set(kind, {segment: kind, step, inside, dur: dur + (kinds.get(kind)?.dur ?? 0)});
  }
  const longest = places.flatMap(({kinds}) => [...kinds.values()])
                      .sort((a, b) => b.dur - a.dur)
                      .slice(0, MOST_SEGMENTS);
  const drawn = new Set(longest);
  return places.flatMap(({bar, kinds}) => [bar, ...kinds.values()])
      .filter((bar) => bar.segment ? drawn.has(bar) : bar !== before);
}

// Stripes, so that no segment looks like a category.
function stripes(color) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.fillStyle = colorValue(color);
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = colorValue("card");
  pen.lineWidth = 1.5;
  for (const x of [-8, 0, 8]) {
    pen.moveTo(x, 8);
    pen.lineTo(x + 8, 0);
  }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
}

function heightOfBar(bar) {
  return bar.segment ? bar.dur : bar.slowest.wall;
}

// Labels each bar that is higher than the graph with its height, as far as there is room.
function clipMarks(bars) {
  return {
    id: "marks",
    afterDraw({canvas, chartArea, scales}) {
      const {parentElement} = canvas;
      let end = chartArea.left;
      const marks = [];
      bars.forEach((bar, i) => {
        if (heightOfBar(bar) <= scales.y.max) return;
        const x = scales.x.getPixelForValue(i);
        const full = `↑ ${time(heightOfBar(bar))}`;
        const half = 3.2 * full.length + 3;
        const at = Math.min(Math.max(x, chartArea.left + half), chartArea.right - half);
        const fits = at - half >= end;
        if (!fits && x - 6 < end) return;
        end = fits ? at + half : x + 6;
        marks.push(
            h("span", {
              class: "mark",
              "aria-hidden": "true",
              style: {left: `${fits ? at : x}px`, top: `${chartArea.top}px`}
            },
              fits ? full : "↑"));
      });
      parentElement.querySelectorAll(".mark").forEach((mark) => mark.remove());
      parentElement.append(...marks);
    }
  };
}

function segmentLegend(all) {
  const kinds = Object.keys(SEGMENTS).filter((kind) => all.some((each) => each.kind === kind));
  return kinds.length > 0 && legendOf(kinds.map((kind) => ({
                                                  color: SEGMENTS[kind].color,
                                                  text: SEGMENTS[kind].title,
                                                  title: SEGMENTS[kind].meaning,
                                                  look: "hatched"
                                                })));
}

function placeOf({step, inside}) {
  if (step < 1) return inLoopUnits(" before the first step");
  return inLoopUnits(inside ? ` in step ${step}` : ` after step ${step}`);
}

function nameOfBar(bar) {
  if (bar.segment) return SEGMENTS[bar.segment].title + placeOf(bar);
  const first = bar.members[0].number, last = bar.members[bar.members.length - 1].number;
  return inLoopUnits(first === last ? `step ${first}` : `steps ${first}–${last}`);
}

// The first step of the warm-up, or one in a hundred, may take many times as long and must not
// flatten all others. A kind of step is always shown in full.
function heightOf(bars, segments) {
  const up = (list) => list.map((bar) => bar.slowest.wall).sort((a, b) => a - b);
  const part = (sorted, share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const all = up(bars), usual = up(bars.filter((bar) => bar.analysed));
  const lone = part(usual, 1) > 4 * part(usual, 0.98);
  const top = lone ? part(usual, 0.98) : Math.max(part(usual, 1), part(all, 0.95));
  const highest = part(all, 1) > 2 * top ? 1.15 * top : null;
  // Nor must an evaluation that takes as long as many steps.
  const tallest = part(all, 1);
  return highest ?? (segments.some(({dur}) => dur > 1.5 * tallest) ? 1.15 * tallest : null);
}

function datasets(bars, size, names) {
  const sets =
      names.map((name) => ({
                  label: name,
                  stack: "step",
                  data: bars.map((bar) => bar.segment ? null : bar.mean(name)),
                  backgroundColor: bars.map((bar) => colorValue(name) + (bar.analysed ? "" : "55")),
                  categoryPercentage: 1,
                  barPercentage: bars.length > 120 ? 1 : 0.92
                }));
  for (const [kind, {title, color}] of Object.entries(SEGMENTS)) {
    if (!bars.some((bar) => bar.segment === kind)) continue;
    sets.push({
      label: title,
      stack: "step",
      data: bars.map((bar) => bar.segment === kind ? bar.dur : null),
      backgroundColor: stripes(color),
      categoryPercentage: 1,
      barPercentage: bars.length > 120 ? 1 : 0.92
    });
  }
  if (size > 1) {
    sets.push({
      type: "line",
      label: "slowest of them",
      data: bars.map((bar) => bar.segment ? null : bar.slowest.wall),
      spanGaps: true,
      stack: "slowest",
      borderColor: colorValue("soft"),
      borderWidth: 1,
      pointRadius: 0,
      order: -1
    });
  }
  return sets;
}

function optionsOf(bars, top, open) {
  return {
    scales: {
      x: {
        stacked: true,
        grid: {display: false},
        title: {display: true, text: inLoopUnits("step of the run")},
        ticks: {maxRotation: 0, autoSkipPadding: 24}
      },
      y: {...axis(inLoopUnits("time of a step"), time), stacked: true, max: top ?? undefined},
    },
    interaction: {mode: "index", intersect: false},
    onClick: (event, hit) =>
        hit.length > 0 && !bars[hit[0].index].segment && open(bars[hit[0].index]),
    plugins: {
      tooltip: {
        callbacks: {
          title: (items) => nameOfBar(bars[items[0].dataIndex]),
          label: (item) => item.raw > 0 ? `${item.dataset.label} ${time(item.raw)}` : null,
          footer: (items) => {
            const {segment, slowest} = bars[items[0].dataIndex];
            return segment ?
                SEGMENTS[segment].meaning :
                `slowest: ${inLoopUnits("step")} ${slowest.number}, ${time(slowest.wall)}`;
          },
        },
        filter: (item) => item.raw > 0
      }
    },
  };
}

function openStep(number) {
  location.hash = `steps=${number}`;
}

export function stepGraph() {
  const list = steps();
  const {bars: ofSteps, size} = barsOf(list);
  const top = heightOf(ofSteps, segments());
  const bars = withSegments(ofSteps, segments());
  const names = Object.keys(CATEGORIES).filter((name) => list.some((step) => step.times[name] > 0));
  const {wall_ns: wall} = loop().steps;
  const label = inLoopUnits(`Time of ${plural(list.length, "step")}, from ${time(wall.min)} to ${
      time(wall.max)}, median ${time(wall.p50)}. Arrow keys choose a step, Enter opens it.`);
  const drawn = graph(
      {
        type: "bar",
        data: {
          labels: bars.map((bar) => bar.segment ? bar.step || "" : bar.members[0].number),
          datasets: datasets(bars, size, names)
        },
        options: optionsOf(bars, top, (bar) => openStep(bar.slowest.number)),
        plugins: [clipMarks(bars)]
      },
      label, {keys: true});
  const said = h("p", {class: "small soft", "aria-live": "polite"}, explain(bars, size, top));
  if (!chartsMissing()) addKeys(drawn, bars, said);
  return [legend(names), segmentLegend(segments()), drawn.element, said, stepForm(list)];
}

function explain(bars, size, top) {
  const parts = [];
  const perBar = size * stepsInGroup();
  if (perBar > 1)
    parts.push(`Each bar is the mean of ${perBar} steps; the line is the slowest of them.`);
  if (bars.some((bar) => !bar.segment && !bar.analysed))
    parts.push("Pale steps are not part of the verdict: warm-up, or outside the recorded window.");
  const cut = top === null ? [] : bars.filter((bar) => heightOfBar(bar) > top);
  if (cut.length > 0) {
    const textOf = (bar) => `${bar.segment ? nameOfBar(bar) : `step ${bar.slowest.number}`} (${
        time(heightOfBar(bar))})`;
    parts.push(
        `${plural(cut.length, "bar")} ${
            cut.length === 1 ? "is" : "are"} higher than the graph and marked ↑: ` +
        cut.slice(0, 3).map(textOf).join(", ") + (cut.length > 3 ? " and others." : "."));
  }
  parts.push("Choose a bar to open its slowest step.");
  return inLoopUnits(parts.join(" "));
}

function addKeys(drawn, bars, said) {
  let at = -1;
  drawn.canvas.addEventListener("keydown", (event) => {
    const move = {ArrowRight: 1, ArrowLeft: -1, Home: -bars.length, End: bars.length}[event.key];
    if (event.key === "Enter" && at >= 0 && !bars[at].segment) openStep(bars[at].slowest.number);
    if (move === undefined) return;
    event.preventDefault();
    at = Math.min(bars.length - 1, Math.max(0, at + move));
    const active = drawn.chart.data.datasets.map((_, datasetIndex) => ({datasetIndex, index: at}));
    drawn.chart.setActiveElements(active);
    drawn.chart.tooltip.setActiveElements(active, {x: 0, y: 0});
    drawn.chart.update();
    if (bars[at].segment) {
      said.textContent = `${capital(nameOfBar(bars[at]))}: ${time(bars[at].dur)}.`;
      return;
    }
    const {number, wall, kind} = bars[at].slowest;
    said.textContent = visible(inLoopUnits(
        `Step ${number}: ${time(wall)}${kind === null ? "" : ", " + kind}. Enter opens it.`));
  });
}

function stepForm(list) {
  const first = list[0].number, last = list[list.length - 1].number;
  const input = h("input", {
    type: "number",
    min: first,
    max: last,
    value: loop().slowest[0]?.number ?? first,
    "aria-label": inLoopUnits("Number of a step")
  });
  return h(
      "form", {
        class: "controls",
        onsubmit: (event) => {
          event.preventDefault();
          openStep(input.value);
        }
      },
      h("label", null, inLoopUnits("Step "), input), h("button", {type: "submit"}, "Open"),
      h("span", {class: "soft small"}, `of ${count(first)} to ${count(last)}`));
}
