// A searchable, sortable table.
import {breakable, h, scrolled} from "./dom.js";
import {count} from "./text.js";

const FIRST_ROWS = 50;

// columns: {title, value(row): the value to sort by, show(row): what is shown, number:
// right-aligned, name: wide, words: may wrap}. rows: in their initial order. options: caption,
// first: how many are shown at first, search(row): the text that is searched, query.
export function table(columns, rows, options = {}) {
  const first = options.first ?? FIRST_ROWS;
  const state = {sorted: null, up: false, query: options.query ?? "", all: false};
  const body = h("tbody");
  const heads = columns.map(
      (column, i) =>
          h("th", {scope: "col", class: column.number ? "number" : null},
            column.value ? h("button", {type: "button", onclick: () => sortBy(i)}, column.title) :
                           column.title));
  const more = h("p", {class: "small soft", "aria-live": "polite"});
  const all =
      h("button", {
        type: "button",
        onclick: () => {
          state.all = true;
          draw();
        }
      },
        "Show all");

  function sortBy(i) {
    state.up = state.sorted === i ? !state.up : !columns[i].number;
    state.sorted = i;
    heads.forEach(
        (head, k) => k === i ?
            head.setAttribute("aria-sort", state.up ? "ascending" : "descending") :
            head.removeAttribute("aria-sort"));
    draw();
  }

  function chosen() {
    const wanted = state.query.toLowerCase();
    const found = wanted ?
        rows.filter((row) => options.search(row).toLowerCase().includes(wanted)) :
        [...rows];
    if (state.sorted === null) return found;
    const {value} = columns[state.sorted];
    const sign = state.up ? 1 : -1;
    return found.sort((a, b) => sign * compare(value(a), value(b)));
  }

  function draw() {
    const found = chosen();
    const shown = state.all ? found : found.slice(0, first);
    body.replaceChildren(
        ...shown.map((row) => h("tr", null, columns.map((column, i) => cell(column, row, i)))));
    more.replaceChildren(
        found.length === 0 ? "Nothing matches. " :
                             `${count(shown.length)} of ${count(rows.length)} rows. `);
    if (shown.length < found.length) more.append(all);
  }

  const search = options.search && rows.length > 8 && h("label", null, "Search ", h("input", {
                                                          type: "search",
                                                          value: state.query,
                                                          oninput: (event) => {
                                                            state.query = event.target.value;
                                                            draw();
                                                          }
                                                        }));
  draw();
  return h(
      "div", null, search && h("div", {class: "controls"}, search),
      scrolled(
          h("table", {class: columns.length < 5 ? "few" : null},
            h("thead", null, h("tr", null, heads)), body),
          options.caption),
      rows.length > first || search ? more : null);
}

function cell(column, row, index) {
  const shown = column.show ? column.show(row) : String(column.value(row));
  const kind = column.number ? "number" : column.name ? "name" : column.words ? "words" : null;
  const inner = column.name && typeof shown === "string" ?
      h("span",
        {class: "clamp", title: shown, onclick: (event) => event.target.classList.toggle("clamp")},
        breakable(shown)) :
      shown;
  return index === 0 ? h("th", {scope: "row", class: kind}, inner) : h("td", {class: kind}, inner);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}
