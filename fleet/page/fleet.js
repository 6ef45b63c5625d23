// The page of a lake: what its runs waste, and which ranks and hosts hold the others up.
import {append, breakable, evidence, facts, h, section} from "./dom.js";
import {count, percent, plural, time} from "./text.js";

const page = JSON.parse(document.getElementById("fleet-data").textContent);
const {fleet, heat, queries} = page;
const NS_PER_HOUR = 3.6e12;
// The darkest colour of a heat map: this share of a step, in thousandths.
const HOTTEST = 300;

function hours(value) {
  if (value >= 1) return `${value.toFixed(1)} h`;
  if (value * 60 >= 1) return `${(value * 60).toFixed(1)} min`;
  return value === 0 ? "0 s" : time(value * NS_PER_HOUR);
}
const money = (value) =>
    value.toLocaleString("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});
// The page lists only the first of them.
const slowRankCount = (run) => page.slow_ranks[fleet.runs.indexOf(run)];
const priced = fleet.price !== null;

function swatch(category) {
  return h("span", {class: "swatch", style: {background: `var(--${category})`}});
}

// columns: [{title, number, class, show: (row) => children}]
function table(columns, rows, caption) {
  return h(
      "div", {class: "scroll", tabindex: "0", role: "group", "aria-label": caption},
      h("table", null, h("caption", null, caption),
        h("thead", null,
          h("tr", null,
            columns.map(
                ({title, number}) => h("th", {scope: "col", class: number && "number"}, title)))),
        h("tbody", null,
          rows.map(
              (row) =>
                  h("tr", null,
                    columns.map(
                        (column) =>
                            h("td", {class: column.number ? "number" : column.class},
                              column.show(row))))))));
}

// Keeps our own line ends; those in names are shown as escapes.
const lines = (text) =>
    text.trim().split("\n").flatMap((line) => [line, document.createTextNode("\n")]);
const showQueries = (...names) =>
    evidence(names.map((name) => ({statement: name, query: lines(queries[name])})));

// --- all runs ------------------------------------------------------------------------------------

const LOSSES = [
  ["input", "lost_input_hours", "waiting for input"],
  ["communication", "lost_straggler_hours", "waiting for the slowest rank"],
  ["launch", "lost_launch_hours", "waiting for launches"],
];

function lossBar(run, longest) {
  return h(
      "div", {class: "bar"},
      LOSSES.map(
          ([colour, key, what]) => h("span", {
            title: `${what} ${hours(run[key])}`,
            style: {width: `${100 * run[key] / (longest || 1)}%`, background: `var(--${colour})`}
          })));
}

function runsSection() {
  const longest = Math.max(...fleet.runs.map((run) => run.lost_hours));
  const columns = [
    {
      title: "run",
      class: "run-name",
      show: (run) => heat[run.run] || run.slow_ranks.length ?
          h("a", {href: `#run-${fleet.runs.indexOf(run)}`}, breakable(run.run)) :
          breakable(run.run)
    },
    {title: "job", class: "run-name", show: (run) => breakable(run.job)},
    {title: "ranks", number: true, show: (run) => count(run.ranks)},
    {title: "rank time", number: true, show: (run) => hours(run.hours)},
    {title: "wasted", number: true, show: (run) => hours(run.lost_hours)},
    priced && {title: "costs", number: true, show: (run) => money(run.lost_cost)},
    {title: "on what", class: "lost", show: (run) => lossBar(run, longest)},
    {title: "slowdown", number: true, show: (run) => run.slowdown.toFixed(3)},
    {title: "slow ranks", number: true, show: (run) => count(slowRankCount(run))},
  ].filter(Boolean);
  return section(
      "What each run wastes",
      h("ul", {class: "legend small"},
        LOSSES.map(([colour, , what]) => h("li", null, swatch(colour), what))),
      table(columns, fleet.runs, "the most wasteful run first; hours are rank-hours"),
      page.runs_left_out > 0 &&
          h("p", {class: "soft"}, `${plural(page.runs_left_out, "run")} that wasted less `,
            page.runs_left_out === 1 ? "is" : "are", " not shown; --json has them all"),
      showQueries("run_waste.sql", "rank_cost.sql"));
}

function hostsSection() {
  if (fleet.slow_hosts.length === 0) return null;
  return section(
      "Hosts that are slow in several runs",
      table(
          [
            {title: "host", class: "where", show: (host) => breakable(host.host)},
            {title: "runs", class: "where", show: (host) => breakable(host.runs.join(", "))},
            {
              title: "the others waited",
              number: true,
              show: (host) => hours(host.costs_others_hours)
            },
          ],
          fleet.slow_hosts, "these machines are worth a look"),
      showQueries("rank_cost.sql"));
}

function lineOf({line}) {
  return line && h("code", null, breakable(`${line.file}:${line.line} ${line.function}`));
}

function regressionsSection() {
  if (fleet.regressions.length === 0) return null;
  return section(
      "Slower than the run before",
      table(
          [
            {title: "job", class: "run-name", show: (one) => breakable(one.job)},
            {title: "run", class: "run-name", show: (one) => breakable(one.run)},
            {title: "run before", class: "run-name", show: (one) => breakable(one.before_run)},
            {title: "a step", number: true, show: (one) => time(one.step_ns)},
            {title: "before", number: true, show: (one) => time(one.before_step_ns)},
            {title: "change", number: true, show: (one) => `+${percent(one.change_share)}`},
            {
              title: "mostly in",
              class: "where",
              show: (one) =>
                  [swatch(one.category), `${one.category} +${time(one.category_change_ns)} `,
                   one.rank !== null && `of rank ${one.rank} `, lineOf(one)]
            },
          ],
          fleet.regressions, "runs of the same job with the same number of ranks"),
      showQueries("run_profile.sql"));
}

// --- one run -------------------------------------------------------------------------------------

const ranksText = (map, row) => map.first_ranks[row] === map.last_ranks[row] ?
    `rank ${map.first_ranks[row]}` :
    `ranks ${map.first_ranks[row]} to ${map.last_ranks[row]}`;

function colour(name) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  probe.fillRect(0, 0, 1, 1);
  return probe.getImageData(0, 0, 1, 1).data;
}

// One pixel for each row and column; the page scales the canvas.
function paint(canvas, map) {
  const context = canvas.getContext("2d");
  const [cool, hot, none] = [colour("--tint"), colour("--input"), colour("--line")];
  const image = context.createImageData(canvas.width, canvas.height);
  map.rows.forEach((row, y) => row.forEach((value, x) => {
    const share = Math.min((value ?? 0) / HOTTEST, 1);
    for (let part = 0; part < 3; ++part)
      image.data[4 * (y * canvas.width + x) + part] =
          value === null ? none[part] : cool[part] + (hot[part] - cool[part]) * share;
    image.data[4 * (y * canvas.width + x) + 3] = 255;
  }));
  context.putImageData(image, 0, 0);
}

function pointedAt(map, canvas, event) {
  const box = canvas.getBoundingClientRect();
  const at = (position, size, cells) =>
      Math.max(0, Math.min(cells - 1, Math.floor(position / size * cells)));
  const y = at(event.clientY - box.top, box.height, map.rows.length);
  const x = at(event.clientX - box.left, box.width, map.first_steps.length);
  const value = map.rows[y][x];
  const from = map.first_steps[x], to = map.first_steps[x + 1];
  const steps = to === undefined ? `from step ${from} on` : `steps ${from} to ${to - 1}`;
  return `${ranksText(map, y)}, ${steps}: ` +
      (value === null ? "no steps" :
                        `${(value / 10).toFixed(1)} % of a step beyond the usual rank`);
}

function heatMap(run, map) {
  const last = map.rows.length - 1;
  const canvas = h("canvas", {
    width: map.first_steps.length,
    height: map.rows.length,
    role: "img",
    "aria-label": `How far each rank is above the usual rank over the run; ${
        slowRankCount(run)} slow ranks, listed below`
  });
  canvas.style.height = `${Math.max(48, Math.min(384, map.rows.length * 10))}px`;
  const pointed = h("p", {class: "small soft pointed"}, "Point at a place to read it.");
  canvas.addEventListener("pointermove", (event) => {
    pointed.textContent = pointedAt(map, canvas, event);
  });
  paint(canvas, map);
  for (const query of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(query).addEventListener("change", () => paint(canvas, map));
  const together = map.last_ranks[0] - map.first_ranks[0] + 1;
  return [
    h("div", {class: "heat-map"},
      h("div", {class: "ranks"}, h("span", null, `rank ${map.first_ranks[0]}`),
        last > 0 && h("span", null, `rank ${map.last_ranks[last]}`)),
      canvas,
      h("div", {class: "steps"}, h("span", null, `step ${map.first_steps[0]}`),
        h("span", null, `step ${run.last_step}`))),
    pointed,
    h("p", {class: "small soft"}, "beyond the usual rank: 0 ", h("span", {class: "heat-key"}),
      ` ${HOTTEST / 10} % of a step or more`,
      together > 1 ? `; a row is the slowest of ${together} neighbouring ranks` : ""),
  ];
}

const opsOf = ({rank, ops}) => ops &&
    h("code", null,
      breakable(`stepscope analyze ${ops.store} --rank ${rank} --steps ${ops.first_step}-${
          ops.last_step}`));

function inStage({stage, excess_ns: excess, whole_stage: whole}) {
  if (excess !== null) return `${stage}: +${time(excess)}`;
  return `${stage}: ${whole ? "all its ranks are slow" : "not slow within it"}`;
}

const apartClock = ({node, offset_ns: offset, error_ns: error}) =>
    `node ${node} ${time(Math.abs(offset))} ${offset > 0 ? "ahead" : "behind"} (± ${time(error)})`;

// Those that `fleet` prints too.
const apartClocks = (run) => run.node_clocks.filter(
    ({offset_ns: offset, error_ns: error}) => Math.abs(offset) > Math.max(1e6, 2 * error));

function slowRanks(run) {
  if (run.slow_ranks.length === 0)
    return h("p", null, run.ranks > 1 ? "No rank holds the others up." : "");
  const all = slowRankCount(run);
  const columns = [
    {title: "rank", number: true, show: (rank) => String(rank.rank)},
    {title: "host", class: "where", show: (rank) => breakable(rank.host)},
    run.slow_ranks.some((rank) => rank.gpu_uuid) &&
        {title: "GPU", class: "where", show: (rank) => breakable(rank.gpu_uuid ?? "")},
    run.slow_ranks.some((rank) => rank.within_stage) && {
      title: "in its pipeline stage",
      show: ({within_stage: within}) => within && inStage(within)
    },
    {title: "in", class: "kind", show: (rank) => [swatch(rank.category), rank.category]},
    {
      title: "adds to a step",
      number: true,
      show: (rank) => `${time(rank.excess_ns)} (${percent(rank.step_share)})`
    },
    {
      title: "since",
      show: (rank) =>
          rank.since_step === null ? "the start" : `about step ${count(rank.since_step)}`
    },
    {title: "line", class: "where", show: lineOf},
    {title: "slowdown", number: true, show: (rank) => rank.slowdown.toFixed(3)},
    {title: "the others waited", number: true, show: (rank) => hours(rank.costs_others_hours)},
    run.slow_ranks.some((rank) => rank.ops) && {title: "its ops", class: "where", show: opsOf},
    priced && {
      title: "costs",
      number: true,
      show: (rank) => money(rank.costs_others_hours * fleet.price)
    },
  ].filter(Boolean);
  return [
    table(columns, run.slow_ranks, "ranks that the others wait for"),
    run.slow_ranks.length < all &&
        h("p", {class: "soft"}, `and ${all - run.slow_ranks.length} more; --json has them all`)
  ];
}

// The categories in which differences between ranks make a step at least 1 % longer.
function kinds(run) {
  const shown = Object.entries(run.slowdown_by_kind).filter(([, factor]) => factor >= 1.01);
  return shown.map(([kind, factor]) => `${kind} ${factor.toFixed(3)}`).join(", ");
}

const verdicts = (run) =>
    run.verdicts
        .map(
            ({kind, ranks, share}) =>
                `${kind} ${plural(ranks, "rank")} (${percent(share)} of the step)`)
        .join(", ");

function aboutRun(run) {
  const missing = run.missing_ranks.slice(0, 20).join(", ");
  return facts([
    ["job", breakable(run.job)],
    ["program", breakable(run.program ?? "")],
    ["ranks", `${count(run.ranks)} on ${plural(run.hosts, "host")}`],
    run.step_ns !== null && ["a step", time(run.step_ns)],
    [
      "wasted",
      `${hours(run.lost_hours)} of ${hours(run.hours)}: ` +
          LOSSES.map(([, key, what]) => `${hours(run[key])} ${what}`).join(", ")
    ],
    run.verdicts.length > 0 && ["verdicts", verdicts(run)],
    run.slow_ranks.length > 0 && kinds(run) !== "" && ["slowdown by kind", kinds(run)],
    priced && ["costs", money(run.lost_cost)],
    run.missing_ranks.length > 0 &&
        [
          "missing",
          `rank ${missing}${
              run.missing_ranks.length > 20 ? `, … (${count(run.missing_rank_count)} in all)` : ""}`
        ],
    run.unfinished_nodes.length > 0 &&
        ["still being written, or cut off", breakable(`node ${run.unfinished_nodes.join(", ")}`)],
    run.restarts > 0 && ["restarted", plural(run.restarts, "time")],
    run.clocks_apart_ns !== null &&
        [
          "clocks",
          `${hours(run.clocks_apart_ns / NS_PER_HOUR)} apart; steps are compared by number`
        ],
    apartClocks(run).length > 0 &&
        ["clocks of nodes", breakable(apartClocks(run).slice(0, 8).map(apartClock).join(", "))],
  ]);
}

function runSection(run, index) {
  const map = heat[run.run];
  if (!map && run.slow_ranks.length === 0) return null;
  return h(
      "section", {id: `run-${index}`}, h("h2", null, breakable(run.run)), aboutRun(run),
      map && heatMap(run, map), slowRanks(run),
      showQueries(
          "rank_cost.sql", "kind_cost.sql", "rank_category.sql", "rank_series.sql", "slow_line.sql",
          "rank_ops.sql", "rank_verdict.sql"));
}

// --- the page ------------------------------------------------------------------------------------

function leftOutSection() {
  if (fleet.left_out.length === 0) return null;
  return section(
      "Left out",
      h("ul", {class: "plain"}, fleet.left_out.map((line) => h("li", null, breakable(line)))));
}

function checkSection() {
  return section(
      "To check a figure",
      h("p", null, "Each figure comes from the queries below it. They read the lake's tables; in ",
        h("code", null, "duckdb"), ":"),
      h("pre", null, lines(page.views)));
}

function show() {
  const wasted = fleet.runs.reduce((sum, run) => sum + run.lost_hours, 0);
  const all = fleet.runs.reduce((sum, run) => sum + run.hours, 0);
  document.title = `Fleet ${page.lake} – Stepscope`;
  append(
      document.getElementById("run-title"),
      [h("strong", null, page.lake), ` · ${plural(fleet.runs.length, "run")}`]);
  append(document.getElementById("content"), [
    h("h1", null, `${percent(all ? wasted / all : 0)} of the rank time is wasted`),
    h("p", {class: "lead"},
      `${hours(wasted)} of ${hours(all)} of rank time went to waiting for input, for the slowest `,
      "rank and for launches",
      priced ? `: ${money(wasted * fleet.price)} at ${money(fleet.price)} an hour.` : "."),
    runsSection(), hostsSection(), regressionsSection(), fleet.runs.map(runSection),
    leftOutSection(), checkSection()
  ]);
  append(document.getElementById("footer"), [h("p", null, `Stepscope · ${page.lake}`)]);
}

show();
