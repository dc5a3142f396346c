// One image on one canvas, with its name and its scores.

function made(tag, className, parent) {
  const node = document.createElement(tag);
  node.className = className;
  if (parent) parent.append(node);
  return node;
}

class Panel {
  constructor(parent) {
    this.root = made("figure", "panel", parent);
    this.canvas = made("canvas", "", this.root);
    this.canvas.setAttribute("role", "img");
    const caption = made("figcaption", "", this.root);
    this.name = made("b", "", caption);
    this.scores = made("span", "scores", caption);
    this.slice = document.createElement("canvas");
    this.shown = "";
  }

  /** Draw what a frame says: the image's numbers as colours, then those at the place the view asks for. */
  draw(frame, view, ratio) {
    const { clientWidth, clientHeight } = this.canvas;
    const width = Math.max(1, Math.round(clientWidth * ratio));
    const height = Math.max(1, Math.round(clientHeight * ratio));
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.name.textContent = frame.label;
    this.scores.textContent = frame.scores;
    this.canvas.setAttribute("aria-label", frame.spoken);
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    this.root.classList.toggle("waiting", frame.shares === null);
    if (frame.shares === null) return;
    if (this.shown !== frame.key) this.colour(frame);
    const place = view.placement(width, height, frame.width, frame.height);
    // Close by, pixels are to be seen as what they are.
    context.imageSmoothingEnabled = frame.smooth && place.scale < 8 * ratio;
    context.imageSmoothingQuality = "high";
    context.drawImage(this.slice, place.left, place.top, frame.width * place.scale, frame.height * place.scale);
  }

  colour(frame) {
    this.slice.width = frame.width;
    this.slice.height = frame.height;
    const context = this.slice.getContext("2d");
    const picture = context.createImageData(frame.width, frame.height);
    const packed = new Uint32Array(picture.data.buffer);
    const { low, high } = frame.window;
    const gain = 255 / (high - low);
    for (let i = 0; i < packed.length; i += 1) {
      const place = (frame.shares(i) - low) * gain;
      packed[i] = frame.colours[place <= 0 ? 0 : place >= 255 ? 255 : Math.round(place)];
    }
    context.putImageData(picture, 0, 0);
    this.shown = frame.key;
  }

  /** The pixel of the image under a point of the screen, or null outside; u and v are shares of the image. */
  pixelAt(event, view, width, height) {
    const box = this.canvas.getBoundingClientRect();
    const place = view.placement(box.width, box.height, width, height);
    const x = (event.clientX - box.left - place.left) / place.scale;
    const y = (event.clientY - box.top - place.top) / place.scale;
    const inside = x >= 0 && y >= 0 && x < width && y < height;
    return { x: Math.floor(x), y: Math.floor(y), u: x / width, v: y / height, inside, scale: place.scale };
  }
}
