// Colours for numbers between 0 and 1, as tables of 256 packed RGBA values.

/** Straight lines between the colours given, each [red, green, blue]. */
function colourTable(anchors) {
  const table = new Uint8ClampedArray(4 * 256);
  for (let i = 0; i < 256; i += 1) {
    const place = (i / 255) * (anchors.length - 1);
    const left = Math.min(Math.floor(place), anchors.length - 2);
    const share = place - left;
    for (let c = 0; c < 3; c += 1) table[4 * i + c] = (1 - share) * anchors[left][c] + share * anchors[left + 1][c];
    table[4 * i + 3] = 255;
  }
  return new Uint32Array(table.buffer);
}

const GREY = colourTable([[0, 0, 0], [255, 255, 255]]);
// Dark to bright with steady lightness, so that it also reads in grey: no error is black.
const HEAT = colourTable([[0, 0, 6], [50, 12, 92], [130, 32, 110], [205, 62, 78], [246, 128, 36], [250, 202, 70], [254, 254, 224]]);
const DEPTH = colourTable([[6, 10, 26], [20, 54, 104], [34, 122, 150], [108, 188, 164], [226, 236, 200]]);

const MODES = {
  magnitude: { label: "Magnitude", key: "m", colours: GREY },
  error: { label: "Error", key: "e", colours: HEAT },
  "k-space": { label: "k-space", key: "k", colours: DEPTH },
};
