// A frame of the flame graph in words, and the source around its line.
import {nameOf, run} from "./data.js";
import {absent, breakable, facts, h} from "./dom.js";
import {lineText, outermost, sumOfSamples} from "./stacks.js";
import {count, percent} from "./text.js";

const AROUND = 8;  // lines of source above and below

function sourceOf(frame) {
  return run.code.sources.find(
      (one) => nameOf(one.file) === frame.file && frame.line >= one.first &&
          frame.line < one.first + one.lines.length);
}

// For each line of a file, the share of the drawn samples that were in it or in what it called.
function sharesOfLines(tree, file) {
  const shares = new Map();
  const lines = new Set(tree.frames.filter((frame) => frame.file === file && frame.kind === "own")
                            .map((frame) => frame.line));
  for (const line of lines) {
    const own = outermost(
        tree, (frame) => frame.file === file && frame.line === line && frame.kind === "own");
    shares.set(line, sumOfSamples(own) / Math.max(tree.root.total, 1));
  }
  return shares;
}

function sourcePart(frame, tree) {
  if (frame.file === null) return null;
  const source = sourceOf(frame);
  if (source === undefined)
    return absent(
        "Its source is not in this report: the file was missing, or the line is not among those with the most samples.");
  const shares = sharesOfLines(tree, frame.file);
  const rows = source.lines.map((text, i) => {
    const line = source.first + i;
    if (Math.abs(line - frame.line) > AROUND) return null;
    const here = line === frame.line;
    return h(
        "tr", {class: here ? "here" : null, "aria-current": here ? "true" : null},
        h("td", {class: "number soft"}, shares.has(line) ? percent(shares.get(line)) : ""),
        h("td", {class: "number soft"}, here ? "▸ " : "", line),
        h("td", null, h("code", null, nameOf(text).replaceAll("\t", "    "))));
  });
  return [
    source.changed &&
        h("p", {class: "alert small"},
          "This file has changed since the recording began; its lines may have moved."),
    h("div", {class: "scroll"}, h("table", {class: "source"}, h("tbody", null, rows)))
  ];
}

export function detailOf(frame, tree) {
  if (frame.kind === "all") return absent("Choose a frame to see its source.");
  const whole = Math.max(tree.root.total, 1);
  const kinds = {
    own: "your code",
    library: "a library",
    blocked: "the operating system: what the line was blocked in"
  };
  const inner = frame.kind === "blocked" ? frame.caller : frame;
  return [
    h("h3", null, breakable(frame.kind === "blocked" ? frame.text() : frame.name)), facts([
      [
        "place", breakable(lineText(inner.file ?? "", inner.line)),
        inner.lines.size > 1 && inner.kind === "library" && " and other lines"
      ],
      ["part of", kinds[frame.kind]],
      ["samples", `${count(frame.total)}, ${percent(frame.total / whole)}`],
      frame.kind !== "blocked" && ["itself", percent(frame.self / whole)],
    ]),
    sourcePart(inner, tree)
  ];
}
