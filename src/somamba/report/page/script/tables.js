// Tables whose columns sort, and views of which one is shown at a time.

/** What a cell sorts by: its number where it says one, else its text. */
function sortValue(row, column) {
  const cell = row.cells[column];
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
}

function compareValues(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

/** Sort by a column; again by the same turns the order. Numbers begin with the best, as the heading says. */
function sortBy(heading) {
  const table = heading.closest("table");
  const headings = [...heading.parentElement.cells];
  const column = headings.indexOf(heading);
  const first = heading.dataset.first || "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const order = heading.getAttribute("aria-sort") === first ? other : first;
  const sign = order === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  // A cell without a number stays below the others in either order.
  const known = rows.filter((row) => !("missing" in row.cells[column].dataset));
  const missing = rows.filter((row) => "missing" in row.cells[column].dataset);
  known.sort((a, b) => sign * compareValues(sortValue(a, column), sortValue(b, column)));
  body.append(...known, ...missing);
  for (const one of headings) one.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
}

for (const button of document.querySelectorAll("table.sortable th > button")) {
  button.addEventListener("click", () => sortBy(button.parentElement));
}

/** Buttons that show one of several parts, named by data-shows. */
for (const group of document.querySelectorAll(".choices[data-choose]")) {
  const buttons = [...group.querySelectorAll("button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const one of buttons) {
        one.setAttribute("aria-pressed", String(one === button));
        document.getElementById(one.dataset.shows).hidden = one !== button;
      }
    });
  }
}

/** Below a box that hides something on its right: how many columns, and a click that brings them. */
for (const box of document.querySelectorAll(".scroll, figure.wide, figure.direct")) {
  const cue = document.createElement("button");
  cue.type = "button";
  cue.className = "more";
  box.after(cue);
  const update = () => {
    const end = box.scrollLeft + box.clientWidth;
    const left = box.getBoundingClientRect().left;
    const headings = [...box.querySelectorAll("thead th")];
    const hidden = headings.filter((one) => one.getBoundingClientRect().right - left > box.clientWidth + 1).length;
    cue.hidden = box.scrollWidth - end <= 1;
    cue.textContent = headings.length ? `${hidden} more column${hidden === 1 ? "" : "s"} \u2192` : "more \u2192";
  };
  cue.addEventListener("click", () => box.scrollBy({ left: 0.8 * box.clientWidth, behavior: "smooth" }));
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
}
