/* Search without a server: a page opened from a folder may start no worker, so the worker's script runs in a hidden frame. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      const load = source => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: source, onload: done, onerror: failed });
        inside.document.body.append(script);
      });
      inside.importScripts = (...sources) => sources.reduce((before, each) => before.then(() => load(each)), Promise.resolve());
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
