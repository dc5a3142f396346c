// Mouse, pen and fingers on the stage: drag for window and level, with shift or another button to move, wheel or
// pinch to zoom.

class Pointer {
  constructor(viewer) {
    this.viewer = viewer;
    this.down = new Map();
    const stage = viewer.stage;
    stage.addEventListener("pointerdown", (event) => this.press(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, (event) => this.release(event));
    stage.addEventListener("pointerleave", () => viewer.point(null, null));
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("contextmenu", (event) => event.preventDefault());
    stage.addEventListener("dblclick", () => viewer.reset());
  }

  panel(event) {
    return this.viewer.panels.find((panel) => panel.root.contains(event.target)) || null;
  }

  at(panel, event) {
    const { width, height } = this.viewer.case;
    return panel.pixelAt(event, this.viewer.view, width, height);
  }

  press(event) {
    const panel = this.panel(event);
    if (!panel) return;
    event.preventDefault();
    this.viewer.stage.focus({ preventScroll: true });
    this.viewer.choosePanel(panel);
    panel.canvas.setPointerCapture(event.pointerId);
    const moves = event.shiftKey || event.button !== 0;
    this.down.set(event.pointerId, { panel, x: event.clientX, y: event.clientY, moves });
  }

  release(event) {
    this.down.delete(event.pointerId);
  }

  move(event) {
    const held = this.down.get(event.pointerId);
    const panel = held ? held.panel : this.panel(event);
    if (!panel) return;
    this.viewer.point(panel, this.at(panel, event));
    if (!held) return;
    const dx = event.clientX - held.x;
    const dy = event.clientY - held.y;
    if (this.down.size === 2) this.pinch(event, held);
    else if (held.moves) this.shift(panel, event, dx, dy);
    else this.viewer.view.drag(this.viewer.mode, dx, dy);
    held.x = event.clientX;
    held.y = event.clientY;
    this.viewer.refresh();
  }

  shift(panel, event, dx, dy) {
    const { width, height } = this.viewer.case;
    const { scale } = this.at(panel, event);
    this.viewer.view.pan(dx / (width * scale), dy / (height * scale));
  }

  /** Two fingers: the distance between them zooms, their middle moves. */
  pinch(event, held) {
    const other = [...this.down.values()].find((one) => one !== held);
    const before = Math.hypot(held.x - other.x, held.y - other.y);
    const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    const middle = { clientX: (event.clientX + other.x) / 2, clientY: (event.clientY + other.y) / 2 };
    const { u, v } = this.at(held.panel, middle);
    if (before > 0) this.viewer.view.zoomAt(after / before, u, v);
    this.shift(held.panel, event, (event.clientX - held.x) / 2, (event.clientY - held.y) / 2);
  }

  wheel(event) {
    const panel = this.panel(event);
    if (!panel) return;
    event.preventDefault();
    const { u, v } = this.at(panel, event);
    this.viewer.view.zoomAt(Math.exp(-event.deltaY / 400), u, v);
    this.viewer.refresh();
  }
}
