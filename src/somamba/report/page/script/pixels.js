// Pixels from the text in the page; see pixels.py for the other direction.

/** Base64 and deflate undone. */
async function inflated(text) {
  const packed = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Magnitudes of all slices in steps of peak / 65535. */
async function magnitudes(text, width) {
  const bytes = await inflated(text);
  const count = bytes.length / 2;
  const steps = new Uint16Array(count);
  for (let i = 0; i < count; i += 1) {
    const before = i % width === 0 ? 0 : steps[i - 1];
    steps[i] = before + ((bytes[i] << 8) | bytes[count + i]);
  }
  return steps;
}

/** What was unpacked stays: an image is unpacked when it is first looked at. */
class PixelStore {
  constructor(onReady) {
    this.found = new Map();
    this.onReady = onReady;
  }

  /** Pixels of a kind ("magnitude" or "spectrum"), or null while they are on their way. */
  get(image, kind, width) {
    if (!this.found.has(image)) this.found.set(image, {});
    const kinds = this.found.get(image);
    if (kinds[kind] === undefined) {
      kinds[kind] = null;
      const unpack = kind === "magnitude" ? magnitudes(image.magnitude, width) : inflated(image.spectrum);
      unpack.then((pixels) => {
        kinds[kind] = pixels;
        this.onReady();
      });
    }
    return kinds[kind];
  }
}
