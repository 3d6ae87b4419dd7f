"use strict";
for (const table of document.querySelectorAll("table.sort")) {
	const heads = [...table.tHead.rows[0].cells];
	heads.forEach((head, column) => {
		if (!head.textContent) return;
		const button = document.createElement("button");
		button.type = "button";
		button.textContent = head.textContent;
		head.replaceChildren(button);
		button.addEventListener("click", () => {
			const number = head.classList.contains("n");
			const up = head.ariaSort ? head.ariaSort === "descending" : !number;
			const key = row => {
				const cell = row.cells[column];
				return number ? Number(cell.dataset.v || 0) : cell.dataset.v || cell.textContent;
			};
			const body = table.tBodies[0];
			const rows = [...body.rows].map(row => [key(row), row]);
			rows.sort((a, b) => (number ? a[0] - b[0] : a[0].localeCompare(b[0])) * (up ? 1 : -1));
			body.append(...rows.map(r => r[1]));
			for (const other of heads) other.ariaSort = other === head ? (up ? "ascending" : "descending") : null;
		});
	});
}
addEventListener("beforeprint", () => {
	for (const d of document.querySelectorAll("details")) d.open = true;
});
