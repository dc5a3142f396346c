// The keyboard of the viewer.

/** The keyboard, while the viewer has the focus or nothing has it. */
class Keys {
  constructor(viewer) {
    this.viewer = viewer;
    document.addEventListener("keydown", (event) => this.press(event));
  }

  meant(event) {
    const { target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
    if (this.viewer.find("help").open || target.matches("select, textarea, input:not([type=range])")) return false;
    if (target.matches("button") && event.key === " ") return false;
    if (target.matches("input[type=range]") && event.key.startsWith("Arrow")) return false;
    if (this.viewer.root.contains(target)) return true;
    // Without the focus only while the images are what one looks at: else the same keys scroll the page.
    const box = this.viewer.stage.getBoundingClientRect();
    const middle = (box.top + box.bottom) / 2;
    return target === document.body && middle > 0 && middle < window.innerHeight;
  }

  press(event) {
    const { viewer } = this;
    const actions = {
      ArrowUp: () => viewer.chooseSlice(viewer.slice + 1),
      ArrowDown: () => viewer.chooseSlice(viewer.slice - 1),
      ArrowRight: () => viewer.chooseImage(viewer.image + 1),
      ArrowLeft: () => viewer.chooseImage(viewer.image - 1),
      " ": () => viewer.flip(),
      m: () => viewer.chooseMode("magnitude"),
      e: () => viewer.chooseMode("error"),
      k: () => viewer.chooseMode("k-space"),
      s: () => viewer.toggleTogether(),
      r: () => viewer.reset(),
      "+": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      "?": () => viewer.find("help").showModal(),
    };
    const chosen = viewer.case.images.findIndex((_image, i) => viewer.keyOf(i) === event.key);
    const digit = chosen < 0 ? null : () => viewer.chooseImage(chosen);
    const action = digit || actions[event.key];
    if (!action || !this.meant(event)) return;
    event.preventDefault();
    action();
  }

  zoom(factor) {
    const { view } = this.viewer;
    view.zoomAt(factor, view.x, view.y);
    this.viewer.refresh();
  }
}
