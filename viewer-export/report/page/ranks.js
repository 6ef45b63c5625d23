// A distributed run: which rank the others wait for.
import {bar, swatch} from "./categories.js";
import {analysis, figure, inLoopUnits} from "./data.js";
import {h, section} from "./dom.js";
import {table} from "./table.js";
import {count, time} from "./text.js";

export function ranksPage() {
  const {ranks} = analysis;
  const longest = Math.max(...ranks.each.map((rank) => rank.step_ns));
  return [
    h("h1", null, "Ranks"),
    section(
        null, h("p", {class: "lead"}, ranks.why),
        h("p", null, "The ranks spend ", figure("ranks.wait_share", "percent"),
          " of their time waiting for the last one.")),
    section(
        inLoopUnits("A step of each rank"),
        h("p", {class: "small soft"}, swatch("compute"), "its own work ", swatch("communication"),
          "communication, including waiting for the others"),
        table(
            [
              {
                title: "rank",
                value: (row) => row.rank,
                show: (row) => row.rank === ranks.straggler ?
                    h("strong", null, `${row.rank} (slowest)`) :
                    String(row.rank)
              },
              {
                title: inLoopUnits("a step"),
                value: (row) => row.step_ns,
                show: (row) => bar(
                    [
                      {name: "compute", value: row.work_ns, title: `own work ${time(row.work_ns)}`},
                      {
                        name: "communication",
                        value: row.communication_ns,
                        title: `communication ${time(row.communication_ns)}`
                      }
                    ],
                    longest)
              },
              {
                title: "own work",
                value: (row) => row.work_ns,
                show: (row) => time(row.work_ns),
                number: true
              },
              {
                title: "communication",
                value: (row) => row.communication_ns,
                show: (row) => time(row.communication_ns),
                number: true
              },
              {
                title: "waits for others",
                value: (row) => row.waits_ns,
                show: (row) => time(row.waits_ns),
                number: true
              },
              {
                title: "costs each other rank",
                value: (row) => row.costs_ns,
                show: (row) => time(row.costs_ns),
                number: true
              },
              {
                title: "came last in",
                value: (row) => row.last_in,
                show: (row) => inLoopUnits(`${count(row.last_in)} steps`),
                number: true
              },
            ],
            ranks.each))
  ];
}
