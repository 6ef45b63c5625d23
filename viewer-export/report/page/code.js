// The page of the program's own code: the lines that took a loop's time, and all samples of call
// stacks as a flame graph, with the source beside it.
import {figure, inLoopUnits, loop, run, trains} from "./data.js";
import {absent, breakable, h, section} from "./dom.js";
import {crumbs, flameGraph} from "./flame.js";
import {detailOf} from "./source.js";
import {isLibrary, lineText, MOMENTS, outermost, sumOfSamples, threadsOfLoop, threadText, treeOf} from "./stacks.js";
import {table} from "./table.js";
import {percent, plural} from "./text.js";

const IN_STEPS = ["input", "forward", "backward", "optimizer", "other"];
const FIRST_LINES = 10;

export function hasCode() {
  return run.code !== null;
}

// --- the lines that matter

function topicOf(line) {
  if (line.where === "worker") return "making the awaited batch";
  if (line.category === "host") return "between the phases";
  return MOMENTS[line.category] ?? line.category;
}

// Those that the verdict rests on come first: if a loop waits for input, the lines that make the
// batches.
function linesByWeight() {
  const lines = (loop().lines ?? []).map((line, index) => ({...line, index}));
  const rank = (line) =>
      Number((loop().verdict?.kind === "input-bound") !== (line.where === "worker"));
  return lines.sort((a, b) => rank(a) - rank(b) || b.step_ns - a.step_ns);
}

function bound(share) {
  return (share * 100).toFixed(0);
}

function insideText(line) {
  return [
    line.inside && ["→ ", breakable(line.inside)], line.inside && line.blocked && ", ",
    line.blocked && ["blocked in ", breakable(line.blocked)]
  ];
}

function linesTable(rows, onChoose) {
  return table(
      [
        {
          title: "line",
          value: (row) => lineText(row.file, row.line),
          show: (row) =>
              h("button",
                {type: "button", class: "plain", title: row.file, onclick: () => onChoose(row)},
                h("strong", null, breakable(lineText(row.file, row.line))), " ",
                breakable(row.function)),
          name: true
        },
        {
          title: "share (95 % interval)",
          value: (row) => row.share,
          show: (row) =>
              [figure(`lines.${row.index}.share`, "percent"),
               ` (${bound(row.ci95[0])}–${bound(row.ci95[1])})`],
          number: true
        },
        {
          title: inLoopUnits("time a step"),
          value: (row) => row.step_ns,
          show: (row) => figure(`lines.${row.index}.step_ns`, "time"),
          number: true
        },
        {title: "in", value: topicOf, words: true},
        {
          title: "mostly in",
          value: (row) => row.inside ?? row.blocked ?? "",
          show: insideText,
          words: true
        },
      ],
      rows, {
        search:
            (row) => [row.file, row.line, row.function, row.inside, row.blocked, topicOf(row)].join(
                " "),
        first: FIRST_LINES,
        caption: inLoopUnits(
            "A line includes what it calls in libraries. The time is that in a mean step. Choose a line to find it in the graph below.")
      });
}

function linesPart(onChoose) {
  const lines = linesByWeight();
  const title = "The lines of your code that matter";
  if (lines.length > 0) return section(title, linesTable(lines, onChoose));
  return section(
      title,
      absent(
          loop().line_use?.withheld ?
              "Not shown: Stepscope did not get a core in time to sample the lines." :
              "None of your own lines was seen often enough."));
}

// --- what is drawn

// The choices of threads: the loop, each other thread, and all others together.
function threadChoices() {
  const threads = threadsOfLoop();
  const choices = threads.map((thread) => ({
                                id: String(thread.index),
                                text: threadText(thread),
                                threads: [thread.index],
                                loop: thread.loop
                              }));
  choices.sort((a, b) => Number(b.loop) - Number(a.loop));
  for (const choice of choices.filter((one) => one.loop))
    choice.text = (trains() ? "training loop · " : "inference loop · ") + choice.text;
  const others = choices.filter((one) => !one.loop);
  if (others.length > 1) {
    choices.push({
      id: "others",
      text: `all others together · ${plural(others.length, "thread")}`,
      threads: others.flatMap((one) => one.threads),
      loop: false
    });
  }
  return choices;
}

function momentChoices(choice) {
  const seen = new Set(run.code.groups.filter((group) => choice.threads.includes(group.thread))
                           .map((group) => group.moment));
  const single = Object.keys(MOMENTS)
                     .filter((moment) => seen.has(moment))
                     .map((moment) => ({id: moment, text: MOMENTS[moment], moments: [moment]}));
  const choices = [];
  if (IN_STEPS.some((moment) => seen.has(moment)))
    choices.push({id: "steps", text: inLoopUnits("in the steps"), moments: IN_STEPS});
  choices.push(...single.map((one) => ({...one, text: inLoopUnits(one.text)})));
  if (single.length > 1) choices.push({id: "always", text: "always", moments: [...seen]});
  return choices;
}

const STATES = {
  any: {text: "running or blocked", takes: () => true},
  running: {text: "running", takes: (group) => !group.blocked},
  blocked: {text: "blocked", takes: (group) => group.blocked},
};

// The threads that may make the batches.
function makersIn(choices) {
  return choices.find((one) => one.id === "others") ?? choices.find((one) => !one.loop);
}

// Where the verdict's first line was seen.
function firstChoice(choices) {
  const makers = makersIn(choices);
  if (linesByWeight()[0]?.where === "worker" && makers) return makers;
  return choices.find((one) => one.loop) ??
      choices.reduce(
          (a, b) =>
              run.code.threads[b.threads[0]].samples > run.code.threads[a.threads[0]].samples ? b :
                                                                                                a);
}

function momentOf(line) {
  if (line.where === "worker") return "awaited";
  return line.category === "host" ? "other" : line.category;
}

// --- the graph

class CodeView {
  constructor(query) {
    this.query = query;
    this.folded = true;
    this.state = "any";
    this.choices = threadChoices();
    this.choice = firstChoice(this.choices);
    this.graph = flameGraph((frame) => this.choose(frame));
    this.path = h("div");
    this.detail = h("div", {class: "beside", "aria-live": "polite"});
    this.matched = h("span", {class: "small", id: "matched", "aria-live": "polite"});
    this.found = h("p", {class: "small soft"});
    this.controls = h("div", {class: "controls"});
    this.searchBox = h("input", {
      type: "search",
      id: "code-search",
      value: query,
      placeholder: "function or file:line",
      oninput: (event) => this.search(event.target.value)
    });
    this.setMoments(this.choice.loop ? "steps" : "awaited");
  }

  setMoments(wanted) {
    const moments = momentChoices(this.choice);
    this.moment = moments.find((one) => one.id === wanted) ?? moments[0];
  }

  selectThread(id, moment) {
    this.choice = this.choices.find((one) => one.id === id);
    this.setMoments(moment);
  }

  select(id, label, options, chosen, onChange) {
    return h(
        "label", null, label + " ",
        h("select", {
          id,
          onchange: (event) => {
            onChange(event.target.value);
            this.draw();
          }
        },
          options.map(
              (one) => h("option", {value: one.id, selected: one.id === chosen}, one.text))));
  }

  drawControls() {
    const states = Object.entries(STATES).map(([id, state]) => ({id, text: state.text}));
    this.controls.replaceChildren(
        this.select(
            "code-thread", "Thread", this.choices, this.choice.id,
            (id) => this.selectThread(id, this.moment.id)),
        this.select(
            "code-moment", "When", momentChoices(this.choice), this.moment.id,
            (id) => this.setMoments(id)),
        this.select(
            "code-state", "State", states, this.state,
            (id) => {
              this.state = id;
            }),
        h("label", null, h("input", {
            type: "checkbox",
            id: "code-fold",
            checked: this.folded,
            onchange: (event) => {
              this.folded = event.target.checked;
              this.draw();
            }
          }),
          " fold what libraries call"),
        h("label", null, "Search ", this.searchBox), this.matched);
  }

  takes(group) {
    return this.choice.threads.includes(group.thread) &&
        this.moment.moments.includes(group.moment) && STATES[this.state].takes(group);
  }

  draw() {
    this.drawControls();
    this.tree = treeOf((group) => this.takes(group), this.folded);
    this.graph.show(this.tree);
    this.choose(this.tree.root);
    this.search(this.query);
  }

  choose(frame) {
    this.found.textContent = this.tree.root.total === 0 ?
        "No samples match these choices." :
        `${plural(this.tree.root.total, "sample")}.` +
            (this.graph.isCut() ? " Deeper calls are drawn once you zoom in." : "");
    this.path.replaceChildren(crumbs(frame, (at) => this.graph.focusOn(at)));
    this.detail.replaceChildren(...[detailOf(frame, this.tree)].flat(Infinity).filter(Boolean));
  }

  search(query) {
    this.query = query;
    const wanted = query.trim().toLowerCase();
    const matches = (frame) => frame.kind !== "all" && frame.text().toLowerCase().includes(wanted);
    this.graph.search(wanted ? matches : null);
    const share =
        wanted && sumOfSamples(outermost(this.tree, matches)) / Math.max(this.tree.root.total, 1);
    this.matched.textContent = wanted ? `${percent(share)} of the samples match` : "";
  }

  // Goes to a line of the table.
  showLine(line) {
    const choice =
        line.where === "worker" ? makersIn(this.choices) : this.choices.find((one) => one.loop);
    if (choice) this.selectThread(choice.id, momentOf(line));
    this.state = "any";
    if (isLibrary(line.file)) this.folded = false;
    this.query = this.searchBox.value =
        `${line.function} ${lineText(line.file, isLibrary(line.file) ? 0 : line.line)}`;
    this.draw();
    const own = outermost(
        this.tree,
        (frame) => frame.file === line.file && frame.name === line.function &&
            (frame.kind === "library" || frame.line === (line.line ?? 0)));
    if (own.length > 0) {
      const most = own.reduce((a, b) => b.total > a.total ? b : a);
      this.choose(most);
      this.graph.mark(most);
    }
    this.controls.scrollIntoView({block: "start"});
  }
}

function notes() {
  const {left_out} = run.code;
  return [
    "A frame is as wide as its share of the samples. Threads are sampled more often while another thread waits for them, so compare shares only within one thread and phase. The shares in the table are more exact: they divide measured times, and only those of the analysed steps.",
    left_out.frames > 0 &&
        `Left out: ${plural(left_out.frames, "frame")} below ${
            (100 * left_out.least)
                .toPrecision(1)} % of a thread's samples, which count for their callers.`,
    left_out.threads > 0 &&
        `Left out: ${plural(left_out.threads, "thread")} with the fewest samples.`,
  ].filter(Boolean)
      .join(" ");
}

export function codePage(what) {
  if (threadsOfLoop().length === 0)
    return [h("h1", null, "Code"), section(null, absent("No thread of this loop was sampled."))];
  const view = new CodeView(what ?? "");
  const part = section(
      "Where the samples were", view.controls,
      h("ul", {class: "legend small"},
        [["own", "your code (bold)"], ["library", "libraries"], ["blocked", "blocked in"]].map(
            ([kind, text]) => h(
                "li", null, h("span", {class: `key frame ${kind}`, "aria-hidden": "true"}), text))),
      view.path,
      h("div", {class: "code-view"}, h("div", null, view.graph.element, view.found), view.detail),
      h("p", {class: "small soft"}, notes()));
  const page = [h("h1", null, "Code"), linesPart((line) => view.showLine(line)), part];
  view.draw();
  return page;
}
