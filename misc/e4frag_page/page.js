/* SPDX-License-Identifier: GPL-2.0-or-later */
"use strict";
/*
 * Draws the page of e4frag --html from the data in the page.  The data contain
 * untrusted names.  Text is therefore put only into text nodes and attributes,
 * never into markup.
 */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const now = data.now, before = data.before;
const sides = before ? [before, now] : [now];
const STATES = ["other", "contiguous", "fragmented", "split", "unwritten",
		"free"];
const restricted = sides.some(r => r.paths);
const MEANING = {
	other: restricted ? "in use by files that are not shown, or by metadata" :
	       "metadata",
	contiguous: "files without excess fragments and splits",
	fragmented: "files with more fragments than they need",
	split: "contiguous files that are split by written/unwritten state",
	unwritten: "preallocated, unwritten",
	free: "free",
};

/* -------------------------------------------------------------------- text */

const number = v => Number.isFinite(v) && v >= 0 ? v : 0;
const list = v => Array.isArray(v) ? v : [];
const count = n => number(n).toLocaleString("en-US");
const things = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
const percent = (part, whole) =>
	whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "-";

const range = (min, max) => min === max ? count(min) :
	`${count(min)} to ${count(max)}`;

function size(bytes) {
	let value = number(bytes), unit = -1;

	for (; value >= 1023.5 && unit < 5; unit++)
		value /= 1024;
	if (unit < 0)
		return `${value} B`;
	return value.toFixed(value >= 9.95 || Number.isInteger(value) ? 0 : 1) +
		` ${"KMGTPE"[unit]}iB`;
}

/* Control characters are written as \xNN, as in the text report. */
const CONTROL =
/[\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
function safe(name) {
	const bytes = new TextEncoder();

	return String(name).replace(CONTROL,
		c => Array.from(bytes.encode(c),
			b => "\\x" + b.toString(16).padStart(2, "0")).join(""));
}

const nameOf = file => typeof file.path === "string" ? safe(file.path) :
	`(inode ${count(file.inode)})`;

/* ---------------------------------------------------------------- elements */

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {}))
		node.setAttribute(key, value);
	node.append(...children);
	return node;
}
const make = (tag, attributes, ...children) =>
	fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
	fill(document.createElementNS(SVG, tag), attributes, children);
const section = id => document.getElementById(id);

function cell(value) {
	if (value instanceof HTMLDivElement)
		return make("td", { class: "bars" }, value);
	if (value instanceof Node)
		return make("td", { class: "left" }, value);
	return make("td", {}, String(value));
}

/* Makes a table. The first cell of each row is the heading of the row. */
function table(caption, titles, rows) {
	return make("div", { class: "wide" }, make("table", {},
		make("caption", {}, caption),
		make("thead", {}, make("tr", {}, ...titles.map((t, i) =>
			make("th", { scope: "col",
				     class: i && t !== "meaning" ? "" :
					    "left" }, t)))),
		make("tbody", {}, ...rows.map(row => make("tr", {},
			make("th", { scope: "row", class: "left" }, row[0]),
			...row.slice(1).map(cell))))));
}

function omit(sentence) {
	section("omitted").append(make("li", {}, sentence));
}

const sideName = side => !before ? "" : side === before ?
	`Before: ${safe(data.before_name)}` : "Now";

/* -------------------------------------------------------------------- sums */

const bytesPerBlock = r => number(r.filesystem.block_size_bytes);
const longest = r => size(r.free_space.largest_blocks * bytesPerBlock(r));
const SUMS = [
	["Files", r => r.files.count],
	["fragmented files", r => r.files.fragmented],
	["Extents", r => r.files.extents],
	["fragments", r => r.files.fragments],
	["ideal", r => r.files.ideal_extents],
	["excess", r => r.files.excess_extents],
	["splits", r => r.files.splits],
	["Tree blocks", r => r.files.tree_blocks],
	["Directories", r => r.directories.count],
	["itable blocks", r => r.directories.itable_blocks],
	["Free blocks", r => r.free_space.blocks],
	["free extents", r => r.free_space.extents],
];

function showSums() {
	const rows = SUMS.map(([title, of]) =>
		[title, ...sides.map(r => count(of(r)))]);

	rows.push(["largest free extent", ...sides.map(longest)]);
	section("sums").append(make("div", { class: "sides fit" },
		table(before ? `Compared with ${safe(data.before_name)}.` :
			"e4frag(8) explains the terms.",
			["", ...(before ? ["before", "now"] : ["now"])], rows),
		stateTable()));
	if (before && before.filesystem.uuid !== now.filesystem.uuid)
		section("sums").append(make("p", {},
			"The two reports are of different filesystems: " +
			`${safe(before.filesystem.uuid)} and ` +
			`${safe(now.filesystem.uuid)}.`));
}

/* --------------------------------------------------------------- block map */

/*
 * Returns the squares of a map: one for each group if byGroup is true, otherwise
 * one for each cell.
 */
function squaresOf(report, byGroup) {
	const m = report.map;
	const per = byGroup ? m.cells_per_group : 1;
	const squares = [];

	for (let i = 0; i < m.cells; i += per) {
		const of = STATES.map(s => {
			let sum = 0;

			for (let k = i; k < Math.min(i + per, m.cells); k++)
				sum += number(m.blocks[s][k]);
			return sum;
		});
		squares.push({ first: i, of, all: of.reduce((a, b) => a + b) });
	}
	return { squares, per, m };
}

/* Returns the first block of cell i, or the end of the filesystem. */
function firstBlock(report, i) {
	const m = report.map, k = m.cells_per_group;

	if (i >= m.cells)
		return number(report.filesystem.blocks);
	return m.first_block +
		Math.floor(i / k) * m.groups_per_cell * m.group_blocks +
		Math.ceil(i % k * m.group_blocks / k);
}

function groupsOf(report, i) {
	const m = report.map;
	const first = Math.floor(i / m.cells_per_group) * m.groups_per_cell;
	const last = Math.min(m.groups, first + m.groups_per_cell) - 1;

	return `${first === last ? "group" : "groups"} ${range(first, last)}`;
}

function describe(report, grid, i) {
	const square = grid.squares[i];
	const begin = firstBlock(report, square.first);
	const end = firstBlock(report, square.first + grid.per);
	const parts = STATES.map((s, k) => [square.of[k], s])
		.filter(p => p[0]).sort((a, b) => b[0] - a[0])
		.map(p => `${p[1]} ${percent(p[0], square.all)}`);

	return `${groupsOf(report, square.first)}, blocks ` +
		`${range(begin, end - 1)} ` +
		`(${size(begin * bytesPerBlock(report))} up): ` +
		parts.join(", ");
}

const colours = () => {
	const style = getComputedStyle(document.documentElement);

	return name => style.getPropertyValue("--" + name).trim();
};

const HEIGHT = 448, WIDTH = 896;

class BlockMap {
	constructor(report) {
		this.report = report;
		this.canvas = make("canvas", {
			tabindex: "0", role: "application",
			"aria-roledescription": "block map",
			"aria-label": `Block map ${sideName(report)}: arrow ` +
				"keys move, plus and minus zoom, Home and " +
				"End go to the ends",
		});
		this.place = make("figcaption", {});
		this.figure = make("figure", {}, this.canvas, this.place);
		this.context = this.canvas.getContext("2d");
	}
	get length() { return this.grid.squares.length; }
	arrange(byGroup) {
		this.grid = squaresOf(this.report, byGroup);
	}
	/*
	 * Shows the squares around a position, where 0 is the start of the map
	 * and 1 is its end.  A zoom level shows a quarter of the squares of the
	 * previous level.
	 */
	look(at, zoom) {
		const n = Math.max(1, Math.ceil(this.length / 4 ** zoom));

		this.cursor = Math.min(this.length - 1,
				       Math.floor(at * this.length));
		/*
		 * The number of columns is a power of two, like the number of
		 * cells in a group, and about twice the number of rows.
		 */
		this.columns = Math.min(n,
			2 ** Math.ceil(Math.log2(2 * n) / 2));
		const row = this.columns;
		this.from = Math.max(0, Math.min(
			this.cursor - this.cursor % row -
				row * Math.floor(n / row / 2),
			Math.ceil((this.length - n) / row) * row));
		this.shown = Math.min(n, this.length - this.from);
		this.rows = Math.ceil(n / row);
	}
	paint(heat) {
		const c = this.context, colour = colours();
		const ratio = window.devicePixelRatio || 1;
		const w = WIDTH / this.columns;
		const h = Math.min(w * 2, HEIGHT / this.rows);

		this.canvas.width = WIDTH * ratio;
		this.canvas.height = Math.ceil(h * this.rows * ratio);
		c.scale(ratio, ratio);
		c.fillStyle = colour("page");
		c.fillRect(0, 0, WIDTH, h * this.rows);
		for (let k = 0; k < this.shown; k++)
			this.square(c, colour, heat, this.from + k,
				    k % this.columns * w,
				    Math.floor(k / this.columns) * h, w, h);
		this.borders(c, colour, w, h);
		const k = this.cursor - this.from;
		c.strokeStyle = colour("cursor");
		c.lineWidth = 2;
		c.strokeRect(k % this.columns * w + 1,
			     Math.floor(k / this.columns) * h + 1,
			     Math.max(w - 2, 2), Math.max(h - 2, 2));
		const first = this.grid.squares[this.from].first;
		this.place.textContent = `${sideName(this.report)}${before ?
			", " : ""}${count(this.shown)} of ` +
			`${things(this.length, "square", "squares")}, from ` +
			groupsOf(this.report, first);
	}
	square(c, colour, heat, i, x, y, w, h) {
		const s = this.grid.squares[i], gap = w > 10 ? 1 : 0;

		w -= gap;
		h -= gap;
		if (heat >= 0) {
			const share = s.all ? s.of[heat] / s.all : 0;

			c.fillStyle = colour("panel");
			c.fillRect(x, y, w, h);
			c.globalAlpha = share ? .15 + .85 * share : 0;
			c.fillStyle = heat === STATES.length - 1 ?
				colour("contiguous") : colour(STATES[heat]);
			c.fillRect(x, y, w, h);
			c.globalAlpha = 1;
			return;
		}
		for (let k = 0, left = x; k < STATES.length && s.all; k++) {
			const part = w * s.of[k] / s.all;

			c.fillStyle = colour(STATES[k]);
			c.fillRect(left, y, part, h);
			left += part;
		}
	}
	/* Draws lines between groups, unless the squares are too small. */
	borders(c, colour, w, h) {
		const per = this.report.map.cells_per_group / this.grid.per;

		if (per < 2 || (per < this.columns && w < 5))
			return;
		c.fillStyle = colour("text");
		c.globalAlpha = .4;
		for (let k = 1; k < this.shown; k++) {
			if ((this.from + k) % per)
				continue;
			const x = k % this.columns * w;
			const y = Math.floor(k / this.columns) * h;

			if (k % this.columns)
				c.fillRect(x - .5, y, 1, h);
			else
				c.fillRect(0, y - .5, WIDTH, 1);
		}
		c.globalAlpha = 1;
	}
	at(event) {
		const box = this.canvas.getBoundingClientRect();
		const x = (event.clientX - box.left) / box.width;
		const y = (event.clientY - box.top) / box.height;
		const i = this.from + Math.floor(y * this.rows) * this.columns +
			Math.floor(x * this.columns);

		return Math.max(0, Math.min(this.length - 1, i));
	}
}

function stateTable() {
	const rows = STATES.map(s => {
		const row = [make("span", { class: "state" }, swatch(s), s)];

		for (const r of sides) {
			const sum = r.map ? r.map.blocks[s].reduce(
				(a, b) => a + number(b), 0) : NaN;
			row.push(...(r.map ? [size(sum * bytesPerBlock(r)),
				percent(sum, r.filesystem.blocks)] :
				["?", "?"]));
		}
		row.push(make("span", {}, MEANING[s]));
		return row;
	});
	const titles = before ? ["before", "share", "now", "share"] :
		["size", "share"];

	return table("Blocks by state", ["state", ...titles, "meaning"],
		     rows);
}

function swatch(state) {
	const box = make("span", { class: "swatch", "aria-hidden": "true" });

	box.style.background = `var(--${state})`;
	return box;
}

/*
 * Returns a table with at most 64 rows, which have the same number of groups.
 * Consecutive rows with equal shares are merged.
 */
function groupTable(report) {
	const grid = squaresOf(report, true), m = report.map;
	const per = Math.ceil(grid.squares.length / 64);
	const parts = [];

	for (let i = 0; i < grid.squares.length; i += per) {
		const part = grid.squares.slice(i, i + per);
		const all = part.reduce((a, s) => a + s.all, 0);
		const shares = STATES.map((s, k) => percent(part.reduce(
			(a, q) => a + q.of[k], 0), all));
		const end = Math.min(m.groups, (i + per) * m.groups_per_cell);
		const last = parts[parts.length - 1];

		if (last && last.shares.join() === shares.join())
			last.end = end;
		else
			parts.push({ first: i * m.groups_per_cell, end,
				     shares });
	}
	const rows = parts.map(p => [range(p.first, p.end - 1), ...p.shares]);

	return make("details", {}, make("summary", {},
		`The map as a table of block groups ${sideName(report)}`),
		table("Share of each state", ["groups", ...STATES], rows));
}

function showMap() {
	const maps = sides.filter(r => r.map).map(r => new BlockMap(r));
	const home = section("map");
	const told = make("output", { "aria-live": "polite" });
	const heat = make("select", { id: "heat" },
		make("option", { value: "-1" }, "all states"),
		...STATES.map((s, i) => make("option", { value: i },
					      `only ${s}, by its share`)));
	const unit = make("select", { id: "unit" },
		make("option", { value: "" }, now.map.groups_per_cell > 1 ?
			`${count(now.map.groups_per_cell)} groups` :
			"a part of a group"),
		make("option", { value: "group" }, "a whole group"));
	const button = (text, label, act) => {
		const b = make("button", { type: "button",
					   "aria-label": label }, text);

		b.addEventListener("click", act);
		return b;
	};
	let at = 0, zoom = 0;

	function tell() {
		told.replaceChildren(...maps.map(m => make("div", {},
			(before ? sideName(m.report) + ": " : "") +
			describe(m.report, m.grid, m.cursor))));
	}
	function show() {
		for (const m of maps) {
			m.arrange(unit.value === "group");
			m.look(at, zoom);
			m.paint(Number(heat.value));
		}
		tell();
	}
	function deepest() {
		const most = Math.max(...maps.map(m => m.length));

		return Math.max(0, Math.ceil(Math.log2(most / 32) / 2));
	}
	function setZoom(level) {
		zoom = Math.max(0, Math.min(deepest(), level));
		show();
	}
	function go(map, i) {
		i = Math.max(0, Math.min(map.length - 1, i));
		at = (i + .5) / map.length;
		show();
	}
	function key(map, event) {
		const moves = {
			ArrowLeft: -1, ArrowRight: 1, ArrowUp: -map.columns,
			ArrowDown: map.columns, Home: -map.length,
			End: map.length, PageUp: -map.columns * 8,
			PageDown: map.columns * 8,
		};
		const zooms = { "+": zoom + 1, "=": zoom + 1, "-": zoom - 1,
				0: 0 };

		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key in moves)
			go(map, map.cursor + moves[event.key]);
		else if (event.key in zooms)
			setZoom(zooms[event.key]);
		else
			return;
		event.preventDefault();
	}

	if (before && !before.map)
		home.append(make("p", {}, `${safe(data.before_name)} has no ` +
			"map: make that report with --json --map."));
	unit.disabled = !maps.some(m => m.report.map.cells_per_group > 1);
	home.append(make("div", { class: "controls" },
		make("label", {}, "Show ", heat),
		make("label", {}, "Each square is ", unit),
		button("+", "Zoom in", () => setZoom(zoom + 1)),
		button("\u2212", "Zoom out", () => setZoom(zoom - 1)),
		button("whole", "Show the whole filesystem",
		       () => setZoom(0))), told,
		make("div", { class: "sides" }, ...maps.map(m => m.figure)),
		make("p", { class: "soft" }, "Squares are in disk order, row " +
			"by row. Each square shows its states side by side, as " +
			"wide as their share of the blocks. If only one state " +
			"is shown, a stronger colour means a larger share. " +
			"Lines separate block groups. With the map in focus, " +
			"arrow keys move, + and \u2212 zoom."),
		...maps.map(m => groupTable(m.report)));
	for (const select of [heat, unit])
		select.addEventListener("change", () => setZoom(zoom));
	for (const m of maps) {
		m.canvas.addEventListener("keydown", e => key(m, e));
		m.canvas.addEventListener("click", e => go(m, m.at(e)));
		m.canvas.addEventListener("dblclick", () => setZoom(zoom + 1));
	}
	matchMedia("(prefers-color-scheme: dark)")
		.addEventListener("change", show);
	show();
	if (now.map.groups_per_cell > 1)
		omit("A square of the map has " +
		     `${count(now.map.groups_per_cell)} block groups: ` +
		     "each square shows the sum of its block groups.");
	else
		omit("The map's smallest square is 1/" +
		     `${count(now.map.cells_per_group)} of a block group: ` +
		     "each square shows the sum of its blocks.");
}

/* ------------------------------------------------------------- worst files */

const VIEW = 1000;

/*
 * Draws the position of each extent in the file (above), connected with its
 * position on the disk (below).
 */
function fragments(report, file, drawn) {
	const x = drawn.extents;
	const begin = Math.min(...x.map(e => e[1]));
	const end = Math.max(...x.map(e => e[1] + e[2]));
	const top = Math.min(...x.map(e => e[0]));
	const bottom = Math.max(...x.map(e => e[0] + e[2]));
	const across = (v, from, to) => (VIEW * (v - from) / (to - from))
		.toFixed(2);
	const picture = draw("svg", { viewBox: `0 0 ${VIEW} 88`,
		preserveAspectRatio: "none", role: "img" },
		draw("title", {}, `${things(x.length, "extent", "extents")} ` +
			`of ${nameOf(file)}: above, their places in the file; ` +
			`below, their places on the disk, in blocks ` +
			`${count(begin)} to ${count(end - 1)}`));

	for (const [lblk, pblk, len, unwritten] of x) {
		const a = across(lblk, top, bottom);
		const b = across(lblk + len, top, bottom);
		const c = across(pblk, begin, end);
		const d = across(pblk + len, begin, end);
		const kind = unwritten ? "unwritten" : "written";

		picture.append(
			draw("polygon", { class: "link",
				points: `${a},20 ${b},20 ${d},68 ${c},68` }),
			draw("rect", { class: kind + (x.length < 200 ?
					" edge" : ""), x: a, y: 4,
				width: Math.max(b - a, .5), height: 16 }),
			draw("rect", { class: kind, x: c, y: 68,
				width: Math.max(d - c, .5), height: 16 }));
	}
	return make("figure", { class: "wide" }, picture,
		make("figcaption", {},
			`Above: the file; below: blocks ${count(begin)} to ` +
			`${count(end - 1)}, ` +
			`${size((end - begin) * bytesPerBlock(report))} of ` +
			`the disk.` + (drawn.more > 0 ?
			` The first ${count(x.length)} of ` +
			`${count(x.length + drawn.more)} extents are drawn.` :
			"")));
}

function worstTable(report) {
	const rows = list(report.worst).map(w => [
		make("span", {}, nameOf(w)), count(w.extents - w.ideal_extents),
		count(w.extents), count(w.fragments), count(w.ideal_extents),
		count(w.splits), size(w.size_bytes),
	]);

	if (!rows.length)
		return make("p", {}, (before ? sideName(report) + ": " : "") +
			"No file is listed.");
	return table(before ? sideName(report) : `By ${data.sort}`,
		["path", "excess", "extents", "fragments", "ideal", "splits",
		 "size"], rows);
}

function showWorst() {
	const home = section("worst");

	home.append(...sides.map(worstTable));
	list(now.worst).forEach((file, i) => {
		const drawn = list(data.drawn)[i];

		if (drawn && drawn.extents.length)
			home.append(make("h3", {},
				make("bdi", {}, nameOf(file))),
				fragments(now, file, drawn));
	});
	if (data.more_worst > 0)
		omit(`${things(data.more_worst, "more of the worst files is",
			"more of the worst files are")} not shown.`);
	omit(`At most ${count(data.max_extents)} extents of a file are drawn` +
	     (before ? ", and no extents of the earlier report." : "."));
}

/* -------------------------------------------------------------- histograms */

/*
 * Draws counts as bars.  The scale is logarithmic, because counts range from 1
 * to a million.
 */
function histogram(caption, title, unit, of, key) {
	const keys = new Map();
	let most = 1;

	sides.forEach((r, i) => list(of(r)).forEach(b => {
		const [name, value] = key(r, b);
		const row = keys.get(name) || sides.map(() => 0);

		row[i] = number(value);
		most = Math.max(most, row[i]);
		keys.set(name, row);
	}));
	const rows = [...keys].filter(([, row]) => row.some(n => n)).map(
		([name, row]) => [name, ...row.map(count),
			make("div", {}, ...row.map((n, i) => {
				const bar = make("div", { class: before && !i ?
					"bar before" : "bar" });

				bar.style.width = `${100 * Math.log1p(n) /
					Math.log1p(most)}%`;
				return bar;
			}))]);
	return table(caption, [title, ...(before ? ["before", "now"] : [unit]),
			       ""], rows);
}

function showHistograms() {
	section("histograms").append(
		make("div", { class: "sides" },
		histogram("Free extents by size", "size", "extents",
			r => r.free_space.histogram,
			(r, b) => [`${size(b.min_blocks * bytesPerBlock(r))} ` +
				   "or more", b.extents]),
		histogram("Files by number of extents", "extents",
			"files", r => r.extents_per_file,
			(r, b) => [range(b.min_extents, b.max_extents),
				   b.files])),
		make("p", { class: "soft" },
			"The bars have a logarithmic scale."));
}

/* ------------------------------------------------------------- directories */

function showDirectories() {
	const home = section("directories");
	const rows = list(data.directories).map(d => [
		make("span", {}, nameOf(d)), count(d.inodes),
		count(d.itable_blocks), count(d.itable_blocks_ideal)]);

	home.append(histogram("Directories by excess inode-table blocks",
		"excess blocks", "directories", r => r.locality,
		(r, b) => [range(b.min_blocks, b.max_blocks), b.directories]));
	if (rows.length)
		home.append(table("Directories with the most itable blocks",
			["path", "inodes", "itable blocks", "minimum"], rows));
	omit(`At most ${count(data.max_directories)} directories are listed.`);
}

/* --------------------------------------------------------------------- all */

section("head").textContent =
	section("text").textContent.trim().split("\n")[0];
showSums();
showMap();
showWorst();
showHistograms();
showDirectories();
if (data.text_cut)
	omit("The report is truncated to fit into the page.");
if (data.paths_cut)
	omit("Of very long paths, only the end is shown.");
omit("e4frag --json and e4frag --files have all details.");
})();
