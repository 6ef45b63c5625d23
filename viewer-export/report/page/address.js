// The part of the page's address after #: "#steps=507" is a page, and what to show of it. It comes
// from our own links, and from whatever people type or mail.

// The address for any page and text. Invalid text (half of a surrogate pair) becomes U+FFFD.
export function addressOf(page, what) {
  return `#${page}=${encodeURIComponent(String(what).replace(/\p{Cs}/gu, "\ufffd"))}`;
}

// {id, what}; `what` is null if there is none. Invalid escapes are kept as they are.
export function readAddress(hash) {
  const text = hash.replace(/^#/, "");
  const end = text.indexOf("=");
  if (end < 0) return {id: text, what: null};
  return {id: text.slice(0, end), what: unescaped(text.slice(end + 1))};
}

function unescaped(text) {
  return text.replace(/(%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;  // not UTF-8
    }
  });
}
