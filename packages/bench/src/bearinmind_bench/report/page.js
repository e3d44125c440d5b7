// Filters and sorts the table of queries. The page works without it.
(() => {
  const table = document.querySelector("#query-table table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const words = rows.map((row) => {
    const id = row.cells[0];
    return `${id.title} ${id.textContent} ${row.cells[1].textContent}`.toLowerCase();
  });
  const box = document.getElementById("query-filter");
  const count = document.getElementById("query-count");
  const filter = () => {
    const wanted = box.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !words[place].includes(wanted);
      shown += !row.hidden;
    });
    count.textContent = `${shown} of ${rows.length}`;
  };
  box.addEventListener("input", filter);
  box.closest("p").hidden = false;
  filter();

  const key = (row, column) => {
    const text = row.cells[column].textContent;
    const number = Number.parseFloat(text);
    return column < 2 ? text : Number.isNaN(number) ? Number.MAX_VALUE : number;
  };
  const sort = (column, direction) => {
    const sign = direction === "ascending" ? 1 : -1;
    const sorted = [...rows].sort((one, other) => {
      const [a, b] = [key(one, column), key(other, column)];
      return sign * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    });
    body.append(...sorted);
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(column, up ? "ascending" : "descending");
    });
  });
})();
