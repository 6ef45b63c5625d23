// Steps on x, their time by category on y; a click or Enter opens a step.
import {CATEGORIES, colorValue, legend, legendOf, SEGMENTS} from "./categories.js";
import {axis, chartsMissing, graph} from "./charts.js";
import {inLoopUnits, loop, segments, steps, stepsInGroup} from "./data.js";
import {h, visible} from "./dom.js";
import {count, plural, time} from "./text.js";

const MOST_BARS = 320;

// Neighbours share a bar where there are more steps than a screen can show.
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

// What the loop did after the steps of each bar, before those of the next.
function addSegments(bars, all) {
  for (const bar of bars) bar.segments = [];
  for (const segment of all) {
    const after = bars.findLast((bar) => bar.members[0].number <= segment.step);
    (after ?? bars[0]).segments.push(segment);
  }
}

function nameOfSegments(bar) {
  const sums = new Map();
  for (const {kind, dur} of bar.segments) sums.set(kind, (sums.get(kind) ?? 0) + dur);
  return [...sums].map(([kind, dur]) => `${SEGMENTS[kind].title} ${time(dur)}`).join(", ");
}

// A line at the right edge of a bar for each kind of segment that follows it.
function segmentLines(bars) {
  return {
    id: "segments",
    afterDatasetsDraw({ctx, chartArea, scales}) {
      const width = bars.length > 1 ? scales.x.getPixelForValue(1) - scales.x.getPixelForValue(0) :
                                      chartArea.width;
      ctx.save();
      ctx.lineWidth = 2;
      bars.forEach((bar, i) => {
        const kinds = [...new Set(bar.segments.map((segment) => segment.kind))];
        kinds.forEach((kind, place) => {
          const x = scales.x.getPixelForValue(i) + width / 2 - 3 * place;
          ctx.strokeStyle = colorValue(SEGMENTS[kind].color);
          ctx.beginPath();
          ctx.moveTo(x, chartArea.top);
          ctx.lineTo(x, chartArea.bottom);
          ctx.stroke();
        });
      });
      ctx.restore();
    }
  };
}

function segmentLegend(all) {
  const kinds = Object.keys(SEGMENTS).filter((kind) => all.some((each) => each.kind === kind));
  return kinds.length > 0 && legendOf(kinds.map((kind) => ({
                                                  color: SEGMENTS[kind].color,
                                                  text: `${SEGMENTS[kind].title} (line)`,
                                                  title: SEGMENTS[kind].meaning
                                                })));
}

function nameOfBar(bar) {
  const first = bar.members[0].number, last = bar.members[bar.members.length - 1].number;
  return inLoopUnits(first === last ? `step ${first}` : `steps ${first}–${last}`);
}

// The first step of the warm-up, or one in a hundred, may take many times as long and must not
// flatten all others. A kind of step is always shown in full.
function heightOf(bars) {
  const up = (list) => list.map((bar) => bar.slowest.wall).sort((a, b) => a - b);
  const part = (sorted, share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const all = up(bars), usual = up(bars.filter((bar) => bar.analysed));
  const lone = part(usual, 1) > 4 * part(usual, 0.98);
  const top = lone ? part(usual, 0.98) : Math.max(part(usual, 1), part(all, 0.95));
  return part(all, 1) > 2 * top ? 1.15 * top : null;
}

function datasets(bars, size, names) {
  const sets =
      names.map((name) => ({
                  label: name,
                  stack: "step",
                  data: bars.map((bar) => bar.mean(name)),
                  backgroundColor: bars.map((bar) => colorValue(name) + (bar.analysed ? "" : "55")),
                  categoryPercentage: 1,
                  barPercentage: bars.length > 120 ? 1 : 0.92
                }));
  if (size > 1) {
    sets.push({
      type: "line",
      label: "slowest of them",
      data: bars.map((bar) => bar.slowest.wall),
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
    onClick: (event, hit) => hit.length > 0 && open(bars[hit[0].index]),
    plugins: {
      tooltip: {
        callbacks: {
          title: (items) => nameOfBar(bars[items[0].dataIndex]),
          label: (item) => item.raw > 0 ? `${item.dataset.label} ${time(item.raw)}` : null,
          footer: (items) => {
            const bar = bars[items[0].dataIndex];
            const slowest =
                `slowest: ${inLoopUnits("step")} ${bar.slowest.number}, ${time(bar.slowest.wall)}`;
            return bar.segments.length > 0 ? [slowest, `then ${nameOfSegments(bar)}`] : slowest;
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
  const {bars, size} = barsOf(list);
  addSegments(bars, segments());
  const names = Object.keys(CATEGORIES).filter((name) => list.some((step) => step.times[name] > 0));
  const top = heightOf(bars);
  const {wall_ns: wall} = loop().steps;
  const label = inLoopUnits(`Time of ${plural(list.length, "step")}, from ${time(wall.min)} to ${
      time(wall.max)}, median ${time(wall.p50)}. Arrow keys choose a step, Enter opens it.`);
  const drawn = graph(
      {
        type: "bar",
        data: {
          labels: bars.map((bar) => bar.members[0].number),
          datasets: datasets(bars, size, names)
        },
        options: optionsOf(bars, top, (bar) => openStep(bar.slowest.number)),
        plugins: [segmentLines(bars)]
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
  if (bars.some((bar) => !bar.analysed))
    parts.push("Pale steps are not part of the verdict: warm-up, or outside the recorded window.");
  const cut =
      top === null ? [] : bars.filter((bar) => bar.slowest.wall > top).map((bar) => bar.slowest);
  if (cut.length > 0) {
    parts.push(
        `${plural(cut.length, "bar")} ${cut.length === 1 ? "is" : "are"} higher than the graph: ` +
        cut.slice(0, 3).map((step) => `step ${step.number} (${time(step.wall)})`).join(", ") +
        (cut.length > 3 ? " and others." : "."));
  }
  parts.push("Choose a bar to open its slowest step.");
  return inLoopUnits(parts.join(" "));
}

function addKeys(drawn, bars, said) {
  let at = -1;
  drawn.canvas.addEventListener("keydown", (event) => {
    const move = {ArrowRight: 1, ArrowLeft: -1, Home: -bars.length, End: bars.length}[event.key];
    if (event.key === "Enter" && at >= 0) openStep(bars[at].slowest.number);
    if (move === undefined) return;
    event.preventDefault();
    at = Math.min(bars.length - 1, Math.max(0, at + move));
    const active = drawn.chart.data.datasets.map((_, datasetIndex) => ({datasetIndex, index: at}));
    drawn.chart.setActiveElements(active);
    drawn.chart.tooltip.setActiveElements(active, {x: 0, y: 0});
    drawn.chart.update();
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
