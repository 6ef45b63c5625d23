// The stack samples of a run as trees of frames, and how frames are named.
import {loopData, nameOf, run} from "./data.js";
import {plural} from "./text.js";

// Installed files belong to libraries; the analyzer uses the same rule.
const LIBRARY_FILE = /^<frozen |^<__|\/(site|dist)-packages\/|\/lib\/python3[^/]*\//;
const INSTALLED = /^.*\/(site|dist)-packages\//;
const MOST_PARTS = 3;  // of the path of a file outside the run's folder

export const MOMENTS = {
  input: "input wait",
  forward: "forward",
  backward: "backward",
  optimizer: "optimizer",
  other: "other",
  outside: "outside of the steps",
  awaited: "while awaited",
  not_awaited: "not awaited",
};

export function isLibrary(file) {
  return LIBRARY_FILE.test(file);
}

function lastParts(file, most) {
  const parts = file.split("/");
  return parts.length <= most ? file : parts.slice(-most).join("/");
}

// A path as people know it: from the run's folder, or from where packages are installed.
export function shortPath(file) {
  if (isLibrary(file))
    return INSTALLED.test(file) ? file.replace(INSTALLED, "") : lastParts(file, 2);
  const folder = run.code?.folder ?? "";
  if (folder && file.startsWith(folder + "/")) return file.slice(folder.length + 1);
  const short = lastParts(file, MOST_PARTS);
  return short === file ? file : "…/" + short;
}

export function lineText(file, line) {
  return shortPath(file) + (line > 0 ? ":" + line : "");
}

// The threads that work for the loop shown: its process's, and those of processes it started.
export function threadsOfLoop() {
  const threads = run.code.threads.map((thread, index) => ({...thread, index}));
  const own = loopData()?.process;
  if (own === undefined) return threads;
  const byPid = new Map(run.processes.map((process) => [process.pid, process]));
  const byId = new Map(run.processes.map((process) => [process.id, process]));
  const belongs = (id) => {
    for (let steps = 0, at = byId.get(id); at && steps < byId.size; ++steps) {
      if (at.id === own) return true;
      at = byPid.get(at.parent);
    }
    return id === own;
  };
  return threads.filter((thread) => belongs(thread.process));
}

export function threadText(thread) {
  const tid = thread.tid === thread.pid ? "" : `, thread ${thread.tid}`;
  return `${nameOf(thread.name)} · pid ${thread.pid}${tid} · ${plural(thread.samples, "sample")}`;
}

class Frame {
  constructor(caller, kind, name, file) {
    Object.assign(this, {caller, kind, name, file, line: 0, total: 0, self: 0});
    this.depth = caller === null ? -1 : caller.depth + 1;
    this.children = new Map();
    this.lines = new Map();  // samples of each
  }

  // A library's frame is one function; the line is where most of its samples were.
  addLine(line, samples) {
    const sum = (this.lines.get(line) ?? 0) + samples;
    this.lines.set(line, sum);
    if (sum >= (this.lines.get(this.line) ?? 0)) this.line = line;
  }

  place() {
    return this.file === null ? "" : lineText(this.file, this.kind === "own" ? this.line : 0);
  }

  text() {
    if (this.kind === "all") return "all samples";
    if (this.kind === "blocked") return "blocked: " + this.name;
    return `${this.name} ${this.place()}`;
  }
}

function kindOf(file) {
  if (file === null) return "blocked";
  return isLibrary(file) ? "library" : "own";
}

function childOf(caller, kind, name, file, line) {
  const key = [kind, name, file, kind === "own" ? line : ""].join("\n");
  if (!caller.children.has(key)) caller.children.set(key, new Frame(caller, kind, name, file));
  return caller.children.get(key);
}

// Builds the tree of the groups that `wanted` accepts. `folded`: calls from library to library are
// one frame. Returns the root frame, and all frames including it, callers first.
export function treeOf(wanted, folded) {
  const {caller, function: names, file: files, line: lines} = run.code.frames;
  const root = new Frame(null, "all", "", null);
  const totals = new Array(caller.length).fill(0);
  for (const group of run.code.groups.filter(wanted)) {
    group.frame.forEach((frame, i) => {
      if (frame >= 0) totals[frame] += group.samples[i];
      root.total += group.samples[i];
    });
  }
  const selfs = [...totals];
  for (let i = caller.length - 1; i >= 0; --i)
    if (caller[i] >= 0) totals[caller[i]] += totals[i];
  const frames = new Set([root]);
  const placed = [];
  for (let i = 0; i < caller.length; ++i) {
    if (totals[i] === 0) continue;
    const parent = caller[i] < 0 ? root : placed[caller[i]];
    const file = files[i] < 0 ? null : nameOf(files[i]);
    const kind = kindOf(file);
    const joins = folded && kind === "library" && parent.kind === "library";
    placed[i] = joins ? parent : childOf(parent, kind, nameOf(names[i]), file, lines[i]);
    placed[i].self += selfs[i];
    if (joins) continue;
    placed[i].total += totals[i];
    placed[i].addLine(lines[i], totals[i]);
    frames.add(placed[i]);
  }
  return {root, frames: [...frames]};
}

// The frames that `matches` accepts and that no other such frame called: no sample counts twice.
export function outermost(tree, matches) {
  const inside = new Set();
  return tree.frames.filter((frame) => {
    const found = matches(frame);
    const nested = inside.has(frame.caller);
    if (found || nested) inside.add(frame);
    return found && !nested;
  });
}

export function sumOfSamples(frames) {
  return frames.reduce((sum, frame) => sum + frame.total, 0);
}
