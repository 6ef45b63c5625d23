// The categories of attribution: their order, colours and meaning, for every page.
import {h} from "./dom.js";

export const CATEGORIES = {
  compute: "useful work: kernels on a device, ops on the CPU",
  input: "waiting for the next batch",
  copy: "copies to and from a device",
  communication: "exchanging data with other ranks",
  sync: "the host waits for a device",
  launch: "framework overhead of ops and launches",
  allocation: "allocating memory",
  host: "the program's own code outside any op",
  other: "scopes named by the program: checkpoints, evaluation, logging",
};

// What a training loop does besides its steps.
export const SEGMENTS = {
  evaluation:
      {title: "evaluation", color: "sync", meaning: "batches that the loop does not train on"},
  checkpoint: {title: "checkpoint", color: "copy", meaning: "saving the model"},
  between_epochs: {
    title: "between epochs",
    color: "soft",
    meaning: "from the end of the loader to its next batch"
  },
};

// Maps the kind of a verdict ("input-bound") to the category that causes it.
export const CATEGORY_OF_KIND = {
  "input-bound": "input",
  "compute-bound": "compute",
  "transfer-bound": "copy",
  "launch-bound": "launch",
  "sync-bound": "sync",
  "communication-bound": "communication",
  "straggler-bound": "communication",
  "allocation-bound": "allocation",
  "host-bound": "host",
};

export function colorVariable(name) {
  return `var(--${name})`;
}

// For canvases, which cannot use CSS variables.
export function colorValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

export function swatch(name, look = "") {
  return h("span", {
    class: `swatch ${look}`.trim(),
    "aria-hidden": "true",
    style: {backgroundColor: colorVariable(name)}
  });
}

// The categories that occur in a run, in the order above.
export function present(shares) {
  return Object.keys(CATEGORIES).filter((name) => (shares[name] ?? 0) > 0);
}

export function legend(names) {
  return legendOf(names.map((name) => ({color: name, text: name, title: CATEGORIES[name]})));
}

// A legend for anything with colours.
export function legendOf(entries) {
  return h(
      "ul", {class: "legend small"},
      entries.map(({color, text, title, look}) => h("li", {title}, swatch(color, look), text)));
}

// A bar of parts [{name, value, title, look: a class}]; `whole` is its full width. A longer bar
// ends in a mark.
export function bar(parts, whole, tall = false) {
  const label = parts.map((part) => part.title).join(", ");
  const clipped = parts.reduce((sum, part) => sum + part.value, 0) > 1.001 * whole;
  const looks = ["bar", tall && "tall", clipped && "clipped"].filter(Boolean).join(" ");
  return h(
      "div", {class: looks, role: "img", "aria-label": label},
      parts.map(
          (part) => h("span", {
            title: part.title,
            class: part.look ?? (part.name === "predicted" ? "predicted" : null),
            style:
                {width: 100 * part.value / whole + "%", backgroundColor: colorVariable(part.name)}
          })));
}
