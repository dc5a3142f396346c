/* Browsers start no workers for pages that are opened from disk. There the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.room = frame.contentWindow
      this.room.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.room.document.createElement("script")
      script.src = address
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve))
      this.room.document.body.append(script)
    }

    async postMessage(data) {
      await this.ready
      this.room.dispatchEvent(new this.room.MessageEvent("message", { data }))
    }
  }
}
