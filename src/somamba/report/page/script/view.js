// What part of an image is seen, and which numbers are dark and bright. One view serves all panels.

const LARGEST_ZOOM = 32;

class View {
  constructor() {
    this.reset();
  }

  reset() {
    this.zoom = 1;
    this.x = 0.5; // Centre of the view, in shares of the image.
    this.y = 0.5;
    // In shares of what the mode shows when it is opened: white of the case, largest error, 0 dB.
    this.windows = {
      magnitude: { low: 0, high: 1 },
      error: { low: 0, high: 0.2 },
      "k-space": { low: 0, high: 1 },
    };
  }

  /** Where the image lies on a canvas: scale and left upper corner, in canvas pixels. */
  placement(canvasWidth, canvasHeight, width, height) {
    const scale = this.zoom * Math.min(canvasWidth / width, canvasHeight / height);
    return {
      scale,
      left: canvasWidth / 2 - this.x * width * scale,
      top: canvasHeight / 2 - this.y * height * scale,
    };
  }

  /** Zoom so that the point (u, v) of the image, in shares of it, stays where it is. */
  zoomAt(factor, u, v) {
    const zoom = Math.min(LARGEST_ZOOM, Math.max(1, this.zoom * factor));
    this.x = u + ((this.x - u) * this.zoom) / zoom;
    this.y = v + ((this.y - v) * this.zoom) / zoom;
    this.zoom = zoom;
    this.keepInside();
  }

  /** Move the image by shares of itself. */
  pan(u, v) {
    this.x -= u;
    this.y -= v;
    this.keepInside();
  }

  keepInside() {
    const half = 0.5 / this.zoom;
    this.x = Math.min(1 - half, Math.max(half, this.x));
    this.y = Math.min(1 - half, Math.max(half, this.y));
  }

  /** Drag by (dx, dy) pixels: right widens the window, up makes the image brighter. Error keeps its 0. */
  drag(mode, dx, dy) {
    const window = this.windows[mode];
    if (mode === "error") {
      window.high = Math.min(1, Math.max(0.005, window.high * Math.exp((dx + dy) / 200)));
      return;
    }
    const width = Math.min(4, Math.max(0.02, (window.high - window.low) * Math.exp(dx / 200)));
    const level = Math.min(2, Math.max(-1, (window.high + window.low) / 2 + dy / 400));
    window.low = level - width / 2;
    window.high = level + width / 2;
  }
}
