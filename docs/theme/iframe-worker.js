// A worker in a hidden frame, where a page is read from the disk: browsers start no other from there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.tell(data);
      const script = this.frame.contentDocument.createElement("script");
      script.onload = () => { this.ready = true; this.waiting.splice(0).forEach((data) => this.pass(data)); };
      script.src = new URL(url, document.baseURI).href;
      this.frame.contentDocument.body.append(script);
    }
    tell(data) {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      setTimeout(() => { this.dispatchEvent(event); if (this.onmessage) this.onmessage(event); });
    }
    pass(data) {
      const inside = this.frame.contentWindow;
      const event = new inside.MessageEvent("message", { data: inside.structuredClone(data) });
      setTimeout(() => inside.dispatchEvent(event));
    }
    postMessage(data) { if (this.ready) this.pass(data); else this.waiting.push(data); }
    terminate() { this.frame.remove(); }
  };
}
