"use strict";
const form = document.querySelector(".tools");
const box = document.getElementById("q");
const said = form.querySelector("output");
const messages = [...document.querySelectorAll("article")];
let texts = null;
let timer = 0;
form.hidden = false;

function mark(article, query, ranges) {
	const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
	for (let node = walk.nextNode(); node && ranges.length < 2000; node = walk.nextNode()) {
		const text = node.data.toLowerCase();
		for (let at = text.indexOf(query); at >= 0 && ranges.length < 2000; at = text.indexOf(query, at + query.length)) {
			const range = new Range();
			try {
				range.setStart(node, at);
				range.setEnd(node, at + query.length);
			} catch {
				break; // lower case is longer than what stands there
			}
			ranges.push(range);
			const fold = node.parentElement.closest("details");
			if (fold) fold.open = true;
		}
	}
}

function search() {
	const query = box.value.trim().toLowerCase();
	texts ??= messages.map(m => m.textContent.toLowerCase());
	const ranges = [];
	let found = 0;
	messages.forEach((m, i) => {
		const fits = !query || texts[i].includes(query);
		m.hidden = !fits;
		if (fits && query) {
			found++;
			if (CSS.highlights) mark(m, query, ranges);
		}
	});
	if (CSS.highlights) CSS.highlights.set("found", new Highlight(...ranges));
	const where = "others" in form.dataset ? " on this page; the other pages are not searched" : "";
	said.textContent = query ? (found === 1 ? "1 message" : found + " messages") + where : "";
}
box.addEventListener("input", () => {
	clearTimeout(timer);
	timer = setTimeout(search, 150);
});
form.addEventListener("submit", event => {
	event.preventDefault();
	search();
});
document.getElementById("unfold").addEventListener("click", event => {
	const open = event.target.textContent === "Unfold all";
	for (const d of document.querySelectorAll("main details")) d.open = open;
	event.target.textContent = open ? "Fold all" : "Unfold all";
});

// A line that stands on another page, or between two messages of this one.
function follow() {
	const wanted = /^#L(\d+)$/.exec(location.hash);
	if (!wanted || document.getElementById("L" + wanted[1])) return;
	const line = Number(wanted[1]);
	const pages = [...document.querySelectorAll("a[data-line]")].filter(a => Number(a.dataset.line) <= line);
	const page = pages.at(-1);
	if (page && pages.length > 1) location.replace(page.href + location.hash);
	else messages.findLast(m => m.id && Number(m.id.slice(1)) <= line)?.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
addEventListener("beforeprint", () => {
	for (const d of document.querySelectorAll("details")) d.open = true;
});
