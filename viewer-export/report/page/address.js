// What stands behind the # of the page's address: "#steps=507" is a page, and what of it. Our own
// links stand there, and whatever anybody types or mails.

// Of any page and text; what is no text (half of a surrogate pair) becomes U+FFFD.
export function addressOf(page, what) {
  return `#${page}=${encodeURIComponent(String(what).replace(/\p{Cs}/gu, "\ufffd"))}`;
}

// {id, what}; `what` is null without one. What is no escape is taken as it stands.
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
      return escapes;  // no UTF-8
    }
  });
}
