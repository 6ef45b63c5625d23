// The modules of the loop's model as a tree: which layers take the time and the memory.
import {inLoopUnits, loop} from "./data.js";
import {breakable, h, section} from "./dom.js";
import {bytes, count, percent, time} from "./text.js";

const OPEN_LEVELS = 2;  // the deeper ones are shown on demand

export function hasModules() {
  return (loop()?.modules?.length ?? 0) > 0;
}

function depthOf(module) {
  return module.name === "" ? 0 : module.name.split(".").length;
}

function moduleTitle(module) {
  return module.name === "" ? module.root : module.name.slice(module.name.lastIndexOf(".") + 1);
}

function isInside(module, around) {
  return module.root === around.root && module !== around &&
      (around.name === "" || module.name.startsWith(around.name + "."));
}

function cellOfTime(ns) {
  return h("td", {class: "number"}, ns > 0 ? time(ns) : "");
}

export function modulesPage() {
  const modules = loop().modules;
  const closed = new Set(modules.filter(
      (module) =>
          depthOf(module) >= OPEN_LEVELS && modules.some((other) => isInside(other, module))));
  const rows = modules.map((module, i) => rowOf(module, i));

  function rowOf(module, i) {
    const inner = modules.some((other) => isInside(other, module));
    const total = module.forward_ns + module.backward_ns;
    const indent = {paddingLeft: `${1.1 * depthOf(module)}rem`};
    const button = inner &&
        h("button", {type: "button", "aria-expanded": "true", onclick: () => toggle(module)}, "▾");
    const kind = module.class !== null && module.class !== moduleTitle(module) &&
        h("span", {class: "soft"}, " ", module.class);
    return {
      module,
      button,
      row:
          h("tr", {"data-module": module.name},
            h("td", {style: indent, title: module.name}, button, inner ? " " : "",
              breakable(moduleTitle(module)), kind),
            h("td", {class: "number"}, module.calls > 0 ? count(module.calls) : ""),
            cellOfTime(module.forward_ns), cellOfTime(module.backward_ns),
            h("td", {class: "number"}, percent(total / loop().steps.wall_ns.mean)),
            h("td", {class: "number"}, module.held_bytes ? bytes(module.held_bytes) : ""))
    };
  }

  function toggle(module) {
    if (!closed.delete(module)) closed.add(module);
    draw();
  }

  function draw() {
    for (const {module, button, row} of rows) {
      row.hidden = [...closed].some((around) => isInside(module, around));
      if (!button) continue;
      const open = !closed.has(module);
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "▾" : "▸";
    }
  }
  draw();

  const heads = ["module", "calls", "forward", "backward", inLoopUnits("of step"), "memory left"];
  return [
    h("h1", null, "Modules"),
    section(
        null,
        h("p", {class: "soft"},
          inLoopUnits(
              "The time of each module of the model in a mean step, including the modules inside it. Memory: of tensors that its forward pass allocated and did not free.")),
        h("div", {class: "scroll"},
          h("table", {class: "modules"},
            h("thead", null,
              h("tr", null,
                heads.map((head, i) => h("th", {class: i > 0 ? "number" : null}, head)))),
            h("tbody", null, rows.map(({row}) => row)))))
  ];
}
