// Search runs in a worker, and browsers refuse workers to pages that are opened from disk. There, a hidden frame does the work.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.deliver(this, data);
      this.ready = new Promise((done) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = done;
        inside.document.body.append(script);
      });
    }
    deliver(receiver, data) {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      setTimeout(() => {
        receiver.dispatchEvent(event);
        if (receiver === this && this.onmessage) this.onmessage(event);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.deliver(this.frame.contentWindow, data));
    }
    terminate() {
      this.frame.remove();
    }
  };
