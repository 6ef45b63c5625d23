// A flame graph, callers on top: a button for each frame, as wide as its share of the samples.
import {h} from "./dom.js";
import {count, percent} from "./text.js";

const FRAME_HEIGHT = 20;  // pixels, with the gap
const LEAST_WIDTH = 1;    // pixels, of a frame that is drawn
const LEAST_TEXT = 22;    // pixels
const MOST_CALLERS = 8;   // rows above the frame that is zoomed to
const MOST_CALLED = 40;   // rows below it

function bySize(a, b) {
  return b.total - a.total || (a.text() < b.text() ? -1 : 1);
}

function pathTo(frame) {
  const path = [];
  for (let at = frame; at !== null; at = at.caller) path.unshift(at);
  return path;
}

// The frames to draw, with their places from 0 to 1: the callers of `focus` in full width, and what
// it called in proportion. `cut`: whether there are more rows than are drawn.
function layOut(focus, width) {
  const path = pathTo(focus);
  const callers =
      path.length > MOST_CALLERS + 2 ? [path[0], ...path.slice(-MOST_CALLERS - 1)] : path;
  const placed = callers.map((frame, row) => ({frame, row, from: 0, size: 1}));
  const last = callers.length - 1 + MOST_CALLED;
  let cut = false;
  for (let i = placed.length - 1; i < placed.length; ++i) {
    const {frame, row, from, size} = placed[i];
    let at = from;
    for (const child of [...frame.children.values()].sort(bySize)) {
      const part = size * child.total / Math.max(frame.total, 1);
      if (part * width >= LEAST_WIDTH) {
        if (row < last)
          placed.push({frame: child, row: row + 1, from: at, size: part});
        else
          cut = true;
      }
      at += part;
    }
  }
  return {placed, cut};
}

// `onChoose(frame)` is called once a frame was chosen; it is then drawn in full width.
// Returns {element, show(tree), focusOn(frame), mark(frame), isCut(), search(matches)}.
export function flameGraph(onChoose) {
  const state = {tree: null, focus: null, marked: null, matches: null, width: 0, cut: false};
  let buttons = new Map();
  const holder = h("div", {
    class: "flame",
    role: "group",
    "aria-label":
        "Flame graph, callers on top. Arrow keys go from frame to frame, Enter zooms, Escape shows all.",
    onkeydown: move
  });
  new ResizeObserver(() => {
    if (state.tree !== null && holder.clientWidth !== state.width) draw();
  }).observe(holder);

  function classesOf(frame) {
    const classes = ["frame", frame.kind];
    if (frame === state.marked) classes.push("marked");
    if (state.matches !== null) classes.push(state.matches(frame) ? "match" : "faded");
    return classes.join(" ");
  }

  function buttonOf({frame, row, from, size}) {
    const share = percent(frame.total / Math.max(state.tree.root.total, 1));
    const hint = `${frame.text()} · ${share} · ${count(frame.total)} samples`;
    const wide = size * state.width >= LEAST_TEXT;
    return h(
        "button", {
          type: "button",
          class: classesOf(frame),
          title: hint,
          "aria-label": hint,
          tabindex: -1,
          "data-samples": frame.total,
          "data-row": row,
          style: {left: 100 * from + "%", width: 100 * size + "%", top: row * FRAME_HEIGHT + "px"},
          onclick: () => choose(frame)
        },
        wide && [
          h("span", null,
            frame.kind === "own" || frame.kind === "library" ? frame.name : frame.text()),
          frame.file !== null && " " + frame.place()
        ]);
  }

  function draw() {
    const focused = [...buttons].find(([, button]) => button === document.activeElement)?.[0];
    state.width = Math.max(holder.clientWidth, 240);
    const {placed, cut} = layOut(state.focus, state.width);
    state.cut = cut;
    buttons = new Map(placed.map((place) => [place.frame, buttonOf(place)]));
    holder.style.height = (1 + placed[placed.length - 1].row) * FRAME_HEIGHT + "px";
    holder.replaceChildren(...buttons.values());
    const entry = buttons.get(focused) ?? buttons.get(state.marked) ?? buttons.get(state.focus);
    entry.tabIndex = 0;
    if (focused) entry.focus({preventScroll: true});
  }

  function choose(frame) {
    Object.assign(state, {focus: frame, marked: frame});
    draw();
    onChoose(frame);
  }

  // The next frame from `frame` by an arrow key; null if there is none.
  function neighbour(frame, key) {
    const drawn = [...buttons.keys()];
    if (key === "ArrowUp") return frame.caller;
    if (key === "ArrowDown") return drawn.find((other) => other.caller === frame) ?? null;
    const row = drawn.filter((other) => other.depth === frame.depth);
    const next = row.indexOf(frame) + (key === "ArrowRight" ? 1 : -1);
    return row[next] ?? null;
  }

  function move(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      choose(state.tree.root);
      return;
    }
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const at = [...buttons].find(([, button]) => button === event.target)?.[0];
    const next = at && neighbour(at, event.key);
    if (!next) return;
    for (const button of buttons.values()) button.tabIndex = -1;
    buttons.get(next).tabIndex = 0;
    buttons.get(next).focus();
  }

  return {
    element: holder,
    show(tree) {
      Object.assign(state, {tree, focus: tree.root, marked: null});
      draw();
    },
    focusOn: choose,
    mark(frame) {
      state.marked = frame;
      draw();
    },
    isCut: () => state.cut,
    // null: nothing is searched for.
    search(matches) {
      state.matches = matches;
      draw();
    },
  };
}

// The path to `frame`: all samples, the frames of the user's own code, and itself.
export function crumbs(frame, onChoose) {
  const path = pathTo(frame);
  const shown = path.filter((at) => at.kind === "all" || at.kind === "own" || at === frame);
  return h(
      "nav", {class: "crumbs small", "aria-label": "Zoomed to"},
      shown.map(
          (at, i) =>
              [i > 0 && h("span", {"aria-hidden": "true"}, " › "),
               at === frame ?
                   h("strong", {"aria-current": "location"}, at.text()) :
                   h("button", {type: "button", class: "plain", onclick: () => onChoose(at)},
                     at.text())]));
}
