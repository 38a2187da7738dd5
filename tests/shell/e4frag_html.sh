#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4frag --html writes one page of bounded size with the numbers of --json. No
# name is interpreted as markup. --compare accepts or refuses any input without
# a crash.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs python3

img=$work/img
page=$work/page.html

# data PAGE EXPRESSION: prints the value of EXPRESSION for d, the data in PAGE
data() {
	sed -n '/^<script type="application\/json"/,/^<\/script>/p' "$1" |
		sed '1d; $d' >"$work/data"
	json "$work/data" "$2"
}

aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
# A path would end the script element and begin another element.
printf 'hm' >"$work/file"
debugfs -w -f - "$img" >/dev/null 2>&1 <<-END
	mkdir "a<"
	cd "a<"
	mkdir "script><script>alert(1)<"
	cd "script><script>alert(1)<"
	write $work/file "script>&quot;]]--><img src=x onerror=alert(2)>"
END
check "$e4frag" --json --html="$page" --top=1000 --sort=size "$img"
[ ! -s "$err" ] || fail "e4frag wrote to stderr"
cp "$out" "$work/before.json"
check "$e4frag" -q --html="$page" --top=1000 --sort=size "$img" '/a<'
same "names" "$(data "$page" 'any("</script><script>" in (w["path"] or "")
	for w in d["now"]["worst"])')" True
same "scripts" "$(grep -c '<script' "$page")" 2
same "ends of scripts" "$(grep -c '</script' "$page")" 2
! grep -q '<img' "$page" || fail 'a name is markup'
! grep -qE 'https?://|(src|href)="?[^#"]' "$page" |
	grep -v http://www.w3.org/2000/svg || fail 'the page loads something'

# The page and the report have the same numbers, and the map has every block.
check "$e4frag" -q --html="$page" --map --groups --dirs "$img"
[ ! -s "$out" ] || fail "--quiet prints"
check "$e4frag" --json "$img"
cp "$out" "$work/doc"
data "$page" 1 >/dev/null
same "numbers" "$(json "$work/doc" '[k for k in d if k != "worst" and
	d[k] != json.load(open("'"$work/data"'"))["now"][k]]')" '[]'
same "worst" "$(data "$page" '[w["inode"] for w in d["now"]["worst"]]')" \
	"$(json "$work/doc" '[w["inode"] for w in d["worst"]]')"
same "drawn" "$(data "$page" '[len(w["extents"]) + w["more"]
	for w in d["drawn"]]')" \
	"$(json "$work/doc" '[w["extents"] for w in d["worst"]]')"
same "blocks" "$(data "$page" '(lambda m, f, s: [
	sum(map(sum, m["blocks"].values())) + m["first_block"] == f["blocks"],
	sum(m["blocks"]["free"]) == s["blocks"],
	m["cells"] == len(m["blocks"]["other"]) <= 8192])(d["now"]["map"],
	d["now"]["filesystem"], d["now"]["free_space"])')" \
	'[True, True, True]'
same "contents" "$(data "$page" '(lambda m, f: [
	sum(m["unwritten"]) == f["unwritten_blocks"],
	sum(sum(m[k]) for k in ("contiguous", "fragmented", "split",
		"unwritten")) == f["blocks"]])(d["now"]["map"]["blocks"],
	d["now"]["files"])')" '[True, True]'
check "$e4frag" "$img"
sed '1,/^<pre/d; /^<\/pre>/,$d' "$page" | sed 's/&quot;/"/g; s/&lt;/</g
	s/&gt;/>/g; s/&amp;/\&/g' | sed '$d' | diff - "$out" ||
	fail 'the page has another report'

# With --compare, the page also has the earlier report.
check "$e4repack" -q "$img"
check "$e4frag" -q --html="$page" --compare="$work/before.json" "$img"
same "before" "$(data "$page" '[d["before"]["files"]["extents"],
	len(d["before"]["worst"]), d["before"]["map"] ==
	json.load(open("'"$work/before.json"'"))["map"]]')" \
	"[$(json "$work/before.json" 'd["files"]["extents"]'), 13, True]"
check "$e4frag" -q --html="$page" --compare="$work/doc" "$img"
same "before without a map" "$(data "$page" '"map" in d["before"]')" False

# Invalid reports are refused.
cp "$page" "$work/kept"
/usr/bin/python3 - "$work/before.json" "$work" <<-'END'
	import copy, json, sys
	good = json.load(open(sys.argv[1]))
	strange = [None, -1, "<b>", [], {}, [{}], 1.5, 10 ** 18]
	def wrong():
	    for key in ("schema", "filesystem", "files", "free_space", "map"):
	        for value in strange:
	            if (key, value) != ("map", None):
	                yield {**good, key: value}
	        yield {k: v for k, v in good.items() if k != key or k == "map"} \
	            if key != "map" else {**good, "map": {}}
	    for key in good["map"]:
	        for value in strange[:-1]:
	            bad = copy.deepcopy(good)
	            bad["map"][key] = value
	            yield bad
	    for key in ("groups", "groups_per_cell", "cells_per_group", "cells"):
	        bad = copy.deepcopy(good)
	        bad["map"][key] += 10 ** 12
	        yield bad
	    bad = copy.deepcopy(good)
	    bad["map"]["blocks"]["free"].append(1)
	    yield bad
	    bad = copy.deepcopy(good)
	    bad["map"].update(groups=1, groups_per_cell=1, cells=8192,
	                      cells_per_group=8192, blocks=dict.fromkeys(
	                          bad["map"]["blocks"], [10 ** 18] * 8192))
	    yield bad
	    bad = copy.deepcopy(good)
	    bad["worst"][0]["extents"] = "<script>"
	    yield bad
	n = 0
	for n, bad in enumerate(wrong()):
	    json.dump(bad, open(f"{sys.argv[2]}/bad{n}.json", "w"))
END
printf '[[[' >"$work/bad.json"
for bad in "$work"/bad*.json /dev/null "$work" "$work/none"; do
	mustfail 1 "$e4frag" -q --html="$page" --compare="$bad" "$img"
	one_sentence e4frag
done
# Names that are not strings are ignored.
/usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
d["worst"][0]["path"] = ["<b>"]
d["worst"][1]["path"] = "/" + "</script>" * 100000
d["more"] = "x" * 3000000
json.dump(d, open(sys.argv[2], "w"))' "$work/before.json" "$work/odd.json"
cmp "$page" "$work/kept" || fail 'a failure has changed the page'
check "$e4frag" -q --html="$page" --compare="$work/odd.json" "$img"
same "an odd path" "$(data "$page" '[d["before"]["worst"][0]["path"],
	len(d["before"]["worst"][1]["path"]) < 1100, d["paths_cut"]]')" \
	"[None, True, True]"
[ "$(wc -c <"$page")" -lt 2000000 ] || fail 'the page is large'

# Input files, and files that are not regular, are not replaced.
cp "$img" "$work/copy"
mustfail 1 "$e4frag" -q --html="$img" "$img"
says 'also an input'
mustfail 1 "$e4frag" -q --html="$work/doc" --compare="$work/doc" "$img"
says 'also an input'
mustfail 1 "$e4frag" -q --html=/dev/null "$img"
[ -c /dev/null ] || fail '/dev/null is gone'
mustfail 1 "$e4frag" -q --html="$work/none/page" "$img"
one_sentence e4frag
cmp "$img" "$work/copy"
if can_mount; then
	attach "$work/copy"
	for target in "$loop" "$img"; do
		mustfail 1 "$e4frag" -q --html="$work/copy" "$target"
		says "copy: .*in use by $loop:"
		one_sentence e4frag
	done
	detach "$loop"
	cmp "$img" "$work/copy"
fi
for options in "--compare=$work/doc" "--html=$page --files" \
	"--html=$page --prometheus"; do
	# shellcheck disable=SC2086
	mustfail 2 "$e4frag" $options "$img"
	says '^e4frag: --(compare|html) '
done
