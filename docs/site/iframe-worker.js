// Browsers start no worker from a page that was opened as a file. There the search runs in a frame
// instead: a stand-in for Worker, with what the theme uses of it.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      // What the script in the frame posts is a message of this worker.
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      const script = inside.document.createElement("script");
      script.src = url;
      this.loaded = new Promise((done, failed) => {
        script.onload = done;
        script.onerror = failed;
      });
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.loaded
          .then(() => {
            const inside = this.frame.contentWindow;
            inside.dispatchEvent(new inside.MessageEvent("message", {data}));
          })
          .catch(() => this.dispatchEvent(new Event("error")));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
