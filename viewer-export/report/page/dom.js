// Makes elements from plain values. Whatever comes from a run is inserted as text, never as markup.

// Characters that are invisible or reorder the text around them, which are shown as escapes. The
// commands keep the same ones from terminals (analyzer/printable.h).
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

export function visible(text) {
  return String(text).replace(UNSEEN, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    const code = character.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : "\\u" + code.padStart(4, "0");
  });
}

// h("a", {href: "#x", onclick: f, style: {width: "3px"}}, "text", node, [nodes], null)
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style")
      Object.assign(element.style, value);
    else if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else
      element.setAttribute(name, value === true ? "" : visible(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
}

// Long names of ops and kernels may break between their parts.
export function breakable(text) {
  return String(text).split(/(?<=::|[_<,./])/).flatMap((part, i) => i === 0 ? [part] : [
    document.createElement("wbr"), part
  ]);
}

// A sentence, in which no line ends between a number and its unit.
export function sentence(text) {
  return String(text)
      .split(/([+−-]?\d[\d.,–]* (?:%|ns|µs|ms|s|×|B|kB|MB|GB|TB)(?![\w]))/)
      .map((part, i) => i % 2 === 1 ? h("span", {class: "whole"}, part) : part);
}

// A table that scrolls sideways if it is wider than the page; the caption stays.
export function scrolled(table, caption = null) {
  if (caption) table.setAttribute("aria-label", visible(caption));
  return [caption && h("p", {class: "soft caption"}, caption), h("div", {class: "scroll"}, table)];
}

export function section(title, ...children) {
  return h("section", null, title && h("h2", null, title), children);
}

// One line about something that a run does not have.
export function absent(text) {
  return h("p", {class: "soft"}, text);
}

export function facts(entries) {
  const list = h("dl", {class: "facts"});
  for (const [term, ...what] of entries.filter(Boolean)) {
    list.append(h("dt", null, term), h("dd", null, what));
  }
  return list;
}

// The SQL that shows where figures come from.
export function evidence(rows) {
  if (rows.length === 0) return null;
  return h(
      "details", null,
      h("summary", null,
        rows.length === 1 ? `Evidence: ${rows[0].statement}` : `Evidence: ${rows.length} queries`),
      rows.map(
          (row) =>
              [rows.length > 1 && h("p", null, capital(row.statement), "."),
               h("pre", null, row.query)]));
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
