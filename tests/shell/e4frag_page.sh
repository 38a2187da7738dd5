#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The page of e4frag --html works in a browser for empty, small, repacked and
# sparse filesystems of up to 16 TiB, by keyboard, in light and dark mode, and
# for any names. The picture of README.md can be made.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs python3
chromium=$(command -v chromium || command -v chromium-browser) ||
	skip "no chromium"

img=$work/img

# browse PAGE EXPRESSION [OPTION...]: writes the value of the JavaScript
# expression to $work/result; q() is querySelectorAll() as an array, and
# press() presses keys on a map.
browse() {
	page=$1 expression=$2
	shift 2
	sed 's,^<head>$,&<script>const errors = [];\
		onerror = (...e) => errors.push(e.slice(0\, 4).join(" "))\;\
		addEventListener("securitypolicyviolation"\,\
			e => errors.push(e.violatedDirective))\;\
		</script>,' "$page" >"$work/probe.html"
	cat >>"$work/probe.html" <<-END
		<script>
		const q = s => [...document.querySelectorAll(s)];
		const told = () => q("output")[0].innerText;
		const press = (...keys) => keys.map(key =>
			q("canvas")[0].dispatchEvent(new KeyboardEvent("keydown",
				{ key, bubbles: true, cancelable: true })));
		const colours = i => {
			const c = q("canvas")[i];
			return new Set(new Uint32Array(c.getContext("2d")
				.getImageData(0, 0, c.width, c.height)
				.data.buffer)).size;
		};
		const luminance = c => c.match(/\d+/g).slice(0, 3)
			.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 :
				((v + .055) / 1.055) ** 2.4)
			.reduce((a, v, i) => a + v * [.2126, .7152, .0722][i], 0);
		const contrast = (a, b) => (Math.max(a, b) + .05) /
			(Math.min(a, b) + .05);
		let result;
		try { result = ($expression); } catch (e) { errors.push(String(e)); }
		document.documentElement.dataset.result =
			encodeURIComponent(JSON.stringify({ errors, result }));
		</script>
	END
	HOME=$work timeout -k 5 60 "$chromium" --headless --no-sandbox \
		--disable-gpu --user-data-dir="$work/profile" --no-first-run \
		--disable-background-networking --window-size=1200,900 "$@" \
		--dump-dom "file://$work/probe.html" \
		>"$work/dom" 2>"$work/chromium.log" || {
		cat "$work/chromium.log" >&2
		fail "chromium fails"
	}
	/usr/bin/python3 -c '
import re, sys, urllib.parse
print(urllib.parse.unquote(re.search("data-result=\"([^\"]*)\"",
	open(sys.argv[1]).read())[1]))' "$work/dom" >"$work/result"
	same "errors in the page" "$(json "$work/result" 'd["errors"]')" '[]'
}

# holds WHAT EXPRESSION: fails unless the Python expression about the result r
# is true.
holds() {
	same "$1" "$(json "$work/result" \
		"(lambda r: ($2))(d['result'])")" True || {
		cat "$work/result" >&2
		exit 1
	}
}

# common: JavaScript for the properties of a page that is_page checks.
# shellcheck disable=SC2016
common='{
	strange: q("img, iframe, object, embed, link, base, form, [onerror]").length,
	scripts: q("script").length, resources:
		performance.getEntriesByType("resource").length,
	empty: q("main section").filter(s => s.children.length < 2 ||
		!s.querySelector("h2")).map(s => s.id),
	nameless: q("button, select, canvas, svg").filter(e =>
		!e.getAttribute("aria-label") && !e.closest("label") &&
		!e.querySelector("title")).map(e => e.outerHTML),
	headings: q("th").filter(t => !t.scope).length,
	canvas: q("canvas").map((c, i) => [c.tabIndex, colours(i)]),
	drawn: q("svg").length, wide: document.documentElement.scrollWidth -
		innerWidth,
	told: told(), text: document.body.innerText,
	worst: q("#worst")[0].innerText,
	odd: /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e]/.test(
		document.documentElement.outerHTML.replace(
			/<script[^]*?<\/script>/g, "")),
	contrasts: ["body", "caption", "a", "output", "h2"].map(s => {
		const e = q(s)[0];
		const of = n => getComputedStyle(n).backgroundColor;
		return contrast(luminance(getComputedStyle(e).color),
			luminance(s === "output" ? of(e) : of(document.body)));
	}),
	light: luminance(getComputedStyle(document.body).backgroundColor) > .5
}'
is_page() {
	holds "no markup but its own" 'r["strange"] == 0 and r["scripts"] == 4'
	holds "nothing is loaded" 'r["resources"] == 0'
	holds "everything is there" 'r["empty"] == []'
	holds "everything has a name" 'r["nameless"] == [] and r["headings"] == 0'
	holds "text can be read" 'min(r["contrasts"]) >= 4.5'
	holds "no control characters" 'not r["odd"]'
	holds "maps can be reached" 'all(c[0] == 0 for c in r["canvas"])'
	holds "no sum is broken" 'not any(w in r["text"] for w in
		("NaN", "undefined", "[object", "Infinity"))'
	holds "it is as wide as the window" 'r["wide"] <= 0'
}

# The filesystem is empty.
mke2fs -qq -F -t ext4 -b 4096 "$img" 16M
check "$e4frag" -q --html="$work/empty.html" "$img"
browse "$work/empty.html" "$common"
is_page
holds "an empty one" 'r["drawn"] == 0 and "No file is listed." in r["text"] and
	r["light"]'

# The map has all states, in light and dark mode.  Names are displayed as text.
rm "$img"
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
name=$(printf 'script><img src=x onerror=alert(2)>\342\200\256\377&lt;\001')
printf 'hm' >"$work/file"
debugfs -w -f - "$img" >/dev/null 2>&1 <<-END
	mkdir "a<"
	cd "a<"
	write $work/file "$name"
END
check "$e4frag" -q --html="$work/page.html" --sort=size --top=20 "$img"
browse "$work/page.html" "$common"
is_page
holds "names" '"/a<" + "/script><img src=x onerror=alert(2)>" +
	"\\xe2\\x80\\xae\\xff&lt;\\x01" in r["worst"]'
holds "pictures" 'r["drawn"] >= 5 and r["canvas"][0][1] > 5 and r["light"]'
browse "$work/page.html" "$common" --blink-settings=preferredColorScheme=0
is_page
holds "dark" 'not r["light"] and r["canvas"][0][1] > 5'

# The window is narrow.
if in_full; then
	browse "$work/page.html" "$common" --window-size=500,900
	is_page
fi

# Keys move, zoom and return.  The map can show a single state, and groups as
# squares.
browse "$work/page.html" '(() => {
	const seen = {}, at = what =>
		seen[what] = [told(), q("figcaption")[0].innerText];
	const choose = (id, value) => {
		const s = document.getElementById(id);
		s.value = value;
		s.dispatchEvent(new Event("change"));
	};
	at("begin");
	press("ArrowRight"); at("right");
	press("ArrowLeft"); at("left");
	press("ArrowLeft"); at("before");
	press("End"); at("end");
	press("+", "+"); at("near");
	for (let i = 0; i < 50; i++) press("+");
	at("nearest");
	press("0"); at("whole");
	press("Home"); at("home");
	q("button")[0].click(); at("button");
	press("0");
	const all = colours(0);
	choose("heat", "2");
	seen.heat = [all, colours(0)];
	choose("unit", "group"); at("groups");
	return seen;
})()'
holds "moves" 'r["right"] != r["begin"] == r["left"] == r["before"] ==
	r["home"] != r["end"]'
holds "zooms" 'r["end"][0] == r["near"][0] == r["nearest"][0] and
	len({r[k][1] for k in ("end", "near", "nearest", "button")}) == 4 and
	r["end"] == r["whole"]'
holds "one state" '0 < r["heat"][1] != r["heat"][0]'
holds "groups" 'r["groups"][1] != r["begin"][1]'

# --compare: the page has the maps before and after a repack
check "$e4frag" --json --map "$img"
cp "$out" "$work/before.json"
check "$e4repack" -q "$img"
check "$e4frag" -q --html="$work/page.html" --compare="$work/before.json" "$img"
browse "$work/page.html" "$common"
is_page
holds "two maps" '[c[1] > 1 for c in r["canvas"]] == [True, True]'
holds "both are told" '"Before: " in r["told"] and "Now: " in r["told"]'

# In a filesystem of 16 TiB, one square is several groups.
if in_full && truncate -s 16777215M "$work/huge" 2>/dev/null; then
	mke2fs -qq -F -t ext4 -b 4096 -N 200000 -O ^has_journal,^resize_inode \
		-E lazy_itable_init=1,nodiscard "$work/huge"
	check "$e4frag" -q --html="$work/page.html" "$work/huge"
	rm "$work/huge"
	browse "$work/page.html" "$common"
	is_page
	holds "groups of 16 TiB" '"groups 0 to 15, " in r["told"]'
fi

check "$top_srcdir/scripts/picture" "$top_builddir" "$work/picture.png"
same "the picture" "$(file -b "$work/picture.png" | cut -d, -f1-2)" \
	"PNG image data, 1200 x 1100"
[ "$(wc -c <"$work/picture.png")" -gt 50000 ] ||
	fail "there is nothing in the picture"
