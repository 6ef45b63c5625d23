// The run: its command, source, host, versions, processes, and what was lost.
import {analysis, figure, inLoopUnits, loop, lost, run, stepsInGroup} from "./data.js";
import {facts, h, section} from "./dom.js";
import {bytes, plural} from "./text.js";

function sourceText({root, commit, dirty}) {
  const state = dirty === null ? ", unknown whether modified" : dirty ? ", modified" : "";
  return [
    commit === null ? "no commit" : h("code", {title: commit}, commit.slice(0, 7)), state, " in ",
    h("code", null, root)
  ];
}

function versionsText({torch_version, python_version, numpy_version}) {
  return [
    torch_version && `libtorch ${torch_version}`, python_version && `Python ${python_version}`,
    numpy_version && `NumPy ${numpy_version}`
  ].filter(Boolean)
      .join(", ");
}

export function runPart() {
  const {command, working_folder, git, hosts, cpu_count, processes, being_recorded} = analysis.run;
  const variables = Object.entries(analysis.run.environment);
  const versions = versionsText(analysis.run);
  const growing = processes.filter((process) => process.rss_growth_per_step > 0);
  return section(
      "The run", facts([
        command && ["Command", h("code", null, command)],
        working_folder && ["In", h("code", null, working_folder)],
        git && ["Source", ...sourceText(git)],
        run.imported_from && ["Imported from", run.imported_from],
        ["Recorded for", figure("run.duration_ns", "time"), being_recorded && ", still going"],
        run.wall_start_unix_ns > 0 &&
            [
              "Started",
              new Date(run.wall_start_unix_ns / 1e6).toISOString().replace("T", " ").slice(0, 19) +
                  " UTC"
            ],
        versions && ["Versions", versions],
        variables.length > 0 &&
            [
              "Environment",
              h("ul", {class: "plain"},
                variables.map(
                    ([name, value]) => h("li", null, h("code", null, `${name}=${value}`))))
            ],
        hosts.length > 0 &&
            ["Host", hosts.join(", "), cpu_count && ` (${plural(cpu_count, "core")})`],
        ["Ops recorded", figure("run.ops", "count")],
        loop().steps.marker &&
            [
              inLoopUnits("Steps found by"), markerText(loop().steps.marker),
              loop().steps.batches_per_step > 1 &&
                  `; ${loop().steps.batches_per_step} batches a step`,
              stepsInGroup() > 1 && `; the page shows means of ${stepsInGroup()} neighbours`
            ],
        ["Processes", h("ul", {class: "plain"}, processes.map(processText))],
        ["Lost", lossText()],
      ]),
      growing.length > 0 &&
          h("p", {class: "small"}, h("a", {href: "#memory"}, "Memory over time")));
}

function markerText(marker) {
  return {
    user: "the program's own mark",
    loader: "the loader",
    optimizer: "the optimizer",
    closure: "the optimizer's closure",
    inferred: "repeating ops (inferred)"
  }[marker] ??
      marker;
}

function processText(process) {
  const parts = [`${process.name} (pid ${process.pid})`];
  if (process.rank !== null) parts.push(`rank ${process.rank}`);
  if (process.exit !== null) parts.push(`ended with ${process.exit}`);
  if (process.died?.signal)
    parts.push(`killed by ${process.died.how}`);
  else if (process.died !== null && process.exit === null)
    parts.push("was killed");
  if (process.rss_bytes !== null) parts.push(`held ${bytes(process.rss_bytes)}`);
  return h("li", null, parts.join(", "));
}

function lossText() {
  return lost.replace(/^lost: /, "").replace(/ lost$/, "");
}
