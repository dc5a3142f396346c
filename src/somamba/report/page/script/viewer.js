// The slice viewer: what is shown, and the controls that change it. Its state can be read from data attributes.

const HINT = "drag: window and level   wheel: zoom   space: flip";

class Viewer {
  constructor(root) {
    const data = JSON.parse(document.getElementById(root.dataset.source).textContent);
    this.root = root;
    this.cases = data.cases;
    this.floor = data.floor;
    this.find = (name) => root.querySelector(`.viewer-${name}`);
    this.stage = this.find("stage");
    this.store = new PixelStore(() => this.refresh());
    this.view = new View();
    this.panels = [];
    this.mode = "magnitude";
    this.together = false;
    this.slice = 0;
    this.pointed = null;
    this.waiting = false;
    this.makeControls();
    this.chooseCase(0);
    new Pointer(this);
    new Keys(this);
    new ResizeObserver(() => this.refresh()).observe(this.stage);
  }

  makeControls() {
    const cases = this.find("case");
    for (const one of this.cases) cases.add(new Option(one.name));
    cases.addEventListener("change", () => this.chooseCase(cases.selectedIndex));
    this.find("case-label").hidden = this.cases.length < 2;
    const slider = this.find("slider");
    slider.addEventListener("input", () => this.chooseSlice(Number(slider.value)));
    for (const [mode, { label, key }] of Object.entries(MODES)) {
      this.button(this.find("modes"), label, key, () => this.chooseMode(mode)).dataset.mode = mode;
    }
    this.find("together").addEventListener("click", (event) => this.act(event, () => this.toggleTogether()));
    this.find("reset").addEventListener("click", (event) => this.act(event, () => this.reset()));
    this.find("help-button").addEventListener("click", () => this.find("help").showModal());
  }

  button(parent, label, key, action) {
    const button = made("button", "", parent);
    button.type = "button";
    made("span", "", button).textContent = label;
    if (key) made("kbd", "", button).textContent = key;
    if (key) button.setAttribute("aria-keyshortcuts", key);
    button.addEventListener("click", (event) => this.act(event, action));
    return button;
  }

  /** A button pressed with the mouse hands the keyboard back to the stage, so that space flips and does not press again. */
  act(event, action) {
    action();
    if (event.detail > 0) this.stage.focus({ preventScroll: true });
  }

  chooseCase(index) {
    this.case = this.cases[index];
    this.find("case").selectedIndex = index;
    const methods = this.find("methods");
    methods.replaceChildren();
    this.case.images.forEach((image, i) => {
      this.button(methods, image.label, this.keyOf(i), () => this.chooseImage(i));
    });
    this.image = this.case.images.length - 1;
    this.other = 0;
    const count = this.case.slices.length;
    this.find("slider").max = count - 1;
    this.find("slice-row").hidden = count < 2;
    if (this.mode === "error" && !this.case.reference) this.mode = "magnitude";
    this.stage.style.setProperty("--aspect", `${this.case.width} / ${this.case.height}`);
    this.makePanels();
    this.chooseSlice(this.slice < count && this.drawn ? this.slice : Math.floor(count / 2));
  }

  /** 1 to 9, and 0 for the last where there are more. */
  keyOf(index) {
    if (index < 9) return String(index + 1);
    return index === this.case.images.length - 1 ? "0" : "";
  }

  makePanels() {
    this.pointed = null; // The panel under the pointer is gone.
    this.stage.replaceChildren();
    const count = this.together ? this.case.images.length : 1;
    this.panels = Array.from({ length: count }, () => new Panel(this.stage));
    this.stage.classList.toggle("together", this.together);
    this.refresh();
  }

  chooseSlice(slice) {
    this.slice = Math.min(this.case.slices.length - 1, Math.max(0, slice));
    this.find("slider").value = this.slice;
    this.refresh();
  }

  chooseImage(index) {
    if (index < 0 || index >= this.case.images.length || index === this.image) return;
    this.other = this.image;
    this.image = index;
    this.refresh();
  }

  /** The image before this one, and back. */
  flip() {
    this.chooseImage(this.other);
  }

  chooseMode(mode) {
    if (mode === "error" && !this.case.reference) return;
    this.mode = mode;
    this.refresh();
  }

  toggleTogether() {
    this.together = !this.together;
    this.makePanels();
  }

  choosePanel(panel) {
    if (this.together) this.chooseImage(this.panels.indexOf(panel));
  }

  reset() {
    this.view.reset();
    this.refresh();
  }

  /** What the pointer is at: a pixel of a panel, or nothing. */
  point(panel, pixel) {
    this.pointed = panel && pixel.inside ? { panel, pixel } : null;
    this.tell();
  }

  /** Draw soon, once, however much has changed. */
  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const frames = this.panels.map((_panel, i) => frameOf(this, this.together ? i : this.image));
    this.panels.forEach((panel, i) => {
      panel.draw(frames[i], this.view, ratio);
      panel.root.classList.toggle("chosen", this.together && i === this.image);
    });
    this.drawn = true;
    this.drawBar();
    this.tell();
    const ready = frames.every((frame) => frame.shares !== null);
    this.root.dataset.ready = String(ready);
    if (ready) this.unpackAhead();
  }

  /** A flip must not wait: once something is seen, the other images of the case are unpacked as well. */
  unpackAhead() {
    const kind = this.mode === "k-space" ? "spectrum" : "magnitude";
    for (const image of this.case.images) this.store.get(image, kind, this.case.width);
  }

  drawBar() {
    const bar = this.find("bar");
    bar.width = 256;
    bar.height = 1;
    const picture = new ImageData(256, 1);
    new Uint32Array(picture.data.buffer).set(MODES[this.mode].colours);
    bar.getContext("2d").putImageData(picture, 0, 0);
    const range = rangeOf(this);
    this.find("low").textContent = range.low;
    this.find("high").textContent = range.high;
    this.find("range-note").textContent = range.note;
  }

  /** Put the state into words, pressed buttons and data attributes. */
  tell() {
    const { case: one, root } = this;
    const [low, high] = [this.view.windows[this.mode].low, this.view.windows[this.mode].high];
    const state = { case: one.name, slice: this.slice, image: this.image, mode: this.mode, low, high };
    Object.assign(root.dataset, state, { zoom: this.view.zoom, x: this.view.x, y: this.view.y, together: this.together });
    const number = one.slices[this.slice];
    this.find("slice").textContent = `${this.slice + 1} / ${one.slices.length}, no. ${number}`;
    this.find("slider").setAttribute("aria-valuetext", `slice ${this.slice + 1} of ${one.slices.length}, number ${number}`);
    const press = (group, test) => {
      [...this.find(group).children].forEach((node, i) => node.setAttribute("aria-pressed", String(test(node, i))));
    };
    press("methods", (_node, i) => i === this.image);
    press("modes", (node) => node.dataset.mode === this.mode);
    this.find("modes").querySelector("[data-mode=error]").disabled = !one.reference;
    this.find("together").setAttribute("aria-pressed", String(this.together));
    const index = this.together && this.pointed ? this.panels.indexOf(this.pointed.panel) : this.image;
    this.find("readout").textContent = this.pointed ? readoutOf(this, index, this.pointed.pixel) : HINT;
    this.find("zoom").textContent = this.view.zoom > 1.005 ? `zoom ${this.view.zoom.toFixed(1)}×` : "";
    const spoken = `${one.images[this.image].label}, slice ${this.slice + 1}, ${MODES[this.mode].label}`;
    if (this.find("spoken").textContent !== spoken) this.find("spoken").textContent = spoken;
  }
}
