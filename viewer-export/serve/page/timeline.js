// Opens the Perfetto UI at UI in a window, and passes it the trace once it answers. A browser opens
// windows only on a click; hence the button.
const PING_EVERY_MS = 50;
const PATIENCE_MS = 60_000;

const button = document.getElementById("open");
const state = document.getElementById("state");
document.getElementById("site").textContent = new URL(UI).host;

function say(text, wrong = false) {
  state.textContent = text;
  state.className = wrong ? "wrong" : "";
}

// The whole trace, as it arrives; the server generates it while sending, so its size is unknown.
async function readTrace() {
  const response = await fetch("trace.json.gz");
  if (!response.ok) throw new Error(await response.text());
  const parts = [];
  let size = 0;
  for (const reader = response.body.getReader();;) {
    const {done, value} = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    say(`Reading the trace: ${(size / 1e6).toFixed(1)} MB`);
  }
  return new Blob(parts).arrayBuffer();
}

// Resolves when the window has answered: messages to a page that is not listening yet are lost.
function whenReady(target) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const ping = setInterval(() => {
      if (target.closed) return finish(() => reject(new Error("The window was closed.")));
      if (performance.now() - begun > PATIENCE_MS)
        return finish(() => reject(new Error(`${UI} does not answer. Is there a network?`)));
      target.postMessage("PING", UI);
    }, PING_EVERY_MS);
    const listen = (event) => {
      if (event.source === target && event.origin === UI && event.data === "PONG") finish(resolve);
    };
    const finish = (settle) => {
      clearInterval(ping);
      removeEventListener("message", listen);
      settle();
    };
    addEventListener("message", listen);
  });
}

async function open() {
  const target = window.open(UI);
  if (target === null)
    return say("The browser did not open a window: allow this page to, and try again.", true);
  button.disabled = true;
  try {
    const [buffer] = await Promise.all([readTrace(), whenReady(target)]);
    target.postMessage({perfetto: {buffer, title: TITLE, fileName: "trace.json.gz"}}, UI, [buffer]);
    say("The trace is now open in the other window.");
  } catch (error) {
    say(`The timeline could not be opened: ${error.message}`, true);
  } finally {
    button.disabled = false;
  }
}

button.addEventListener("click", open);
