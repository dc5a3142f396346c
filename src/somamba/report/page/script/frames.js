// What a panel is to draw, and the numbers in words.

const STEPS = 65535;

/** A number with about three digits that say something. */
function brief(value) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size >= 4 || size < -3 ? value.toExponential(2) : value.toFixed(Math.max(0, 2 - Math.max(size, -1)));
}

function signed(text) {
  return text.replace("-", "−");
}

/** Share of the case's white (magnitude, error) or of the decibels shown (k-space) of every pixel; null while unpacking. */
function sharesOf(viewer, image, mode) {
  const { case: one, slice, store } = viewer;
  const size = one.width * one.height;
  const offset = slice * size;
  if (mode === "k-space") {
    const bytes = store.get(image, "spectrum", one.width);
    return bytes && ((i) => bytes[offset + i] / 255);
  }
  const steps = store.get(image, "magnitude", one.width);
  const unit = one.peak / STEPS / one.white;
  if (mode === "magnitude") return steps && ((i) => steps[offset + i] * unit);
  const wanted = store.get(one.images[0], "magnitude", one.width);
  return steps && wanted && ((i) => Math.abs(steps[offset + i] - wanted[offset + i]) * unit);
}

function scoresOf(image, slice) {
  const parts = [];
  if (image.psnr && image.psnr[slice] !== null) parts.push(`${image.psnr[slice].toFixed(2)} dB`);
  if (image.ssim && image.ssim[slice] !== null) parts.push(`SSIM ${image.ssim[slice].toFixed(3)}`);
  return parts.join("  ·  ");
}

/** The reference has no error: among errors it shows what they are errors of. */
function modeOf(viewer, index) {
  return viewer.mode === "error" && index === 0 ? "magnitude" : viewer.mode;
}

function frameOf(viewer, index) {
  const { case: one, slice } = viewer;
  const image = one.images[index];
  const mode = modeOf(viewer, index);
  const window = viewer.view.windows[mode];
  const scores = scoresOf(image, slice);
  return {
    label: mode === viewer.mode ? image.label : `${image.label}, ${MODES[mode].label.toLowerCase()}`,
    scores,
    spoken: `${image.label}, ${MODES[mode].label}, slice ${slice + 1} of ${one.slices.length}${scores && `, ${scores}`}`,
    width: one.width,
    height: one.height,
    window,
    colours: MODES[mode].colours,
    // Coefficients are points, not a picture: they are never smoothed.
    smooth: mode !== "k-space",
    shares: sharesOf(viewer, image, mode),
    key: [viewer.cases.indexOf(one), index, slice, mode, window.low, window.high].join(" "),
  };
}

/** The ends of the colour bar, and what they mean. */
function rangeOf(viewer) {
  const { case: one, mode } = viewer;
  const { low, high } = viewer.view.windows[mode];
  if (mode === "k-space") {
    const decibels = (share) => signed(`${(viewer.floor * (1 - share)).toFixed(0)} dB`);
    return { low: decibels(low), high: decibels(high), note: "of the largest coefficient" };
  }
  const note = mode === "error" ? `|image − reference|, ×${Number(brief(1 / high))}` : "window";
  return { low: signed(brief(low * one.white)), high: signed(brief(high * one.white)), note };
}

/** Place and value of a pixel of an image. */
function readoutOf(viewer, index, pixel) {
  const { case: one, slice, mode, store } = viewer;
  const i = slice * one.width * one.height + pixel.y * one.width + pixel.x;
  const image = one.images[index];
  if (mode === "k-space") {
    const bytes = store.get(image, "spectrum", one.width);
    const place = `kx ${pixel.x - Math.floor(one.width / 2)}, ky ${pixel.y - Math.floor(one.height / 2)}`;
    return bytes ? signed(`${place}:  ${(viewer.floor * (1 - bytes[i] / 255)).toFixed(1)} dB`) : "";
  }
  const steps = store.get(image, "magnitude", one.width);
  if (!steps) return "";
  const value = (steps[i] * one.peak) / STEPS;
  const text = `x ${pixel.x}, y ${pixel.y}:  ${brief(value)}`;
  const wanted = one.reference ? store.get(one.images[0], "magnitude", one.width) : null;
  if (!wanted || index === 0) return text;
  const error = ((steps[i] - wanted[i]) * one.peak) / STEPS;
  return signed(`${text}  (${error < 0 ? "" : "+"}${brief(error)})`);
}
