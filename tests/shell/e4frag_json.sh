#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The output of --json and --files agrees with doc/schema for any names.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs /usr/bin/python3
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null ||
	skip "no python3-jsonschema"

img=$work/img
valid() {
	check /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
		"$top_srcdir/doc/schema/$1" "$2" ${3:+"$3"}
}

# The validator detects an incomplete report.
echo '{"schema": "e4frag/1"}' >"$work/bad"
mustfail 1 /usr/bin/python3 "$top_srcdir/tests/shell/validate.py" \
	"$top_srcdir/doc/schema/e4frag-1.json" "$work/bad"

aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
name=$(printf 'bad\377byte\\and\nline"\342\202\254')
printf 'cd data\nmkdir "odd dir"\n' | debugfs -w -f - "$img" >/dev/null 2>&1
printf 'x' >"$work/$name"
if can_mount; then
	attach "$img"
	mkdir "$work/mnt"
	mount -t ext4 "$loop" "$work/mnt" && {
		cp "$work/$name" "$work/mnt/data/$name"
		umount "$work/mnt"
		odd=yes
	}
fi

for options in '' --groups --dirs --top=0 '--sort=size --top=100'; do
	# shellcheck disable=SC2086
	check "$e4frag" --json $options "$img"
	cp "$out" "$work/doc"
	valid e4frag-1.json "$work/doc"
done
check "$e4frag" --json "$img" /data /split
cp "$out" "$work/doc"
valid e4frag-1.json "$work/doc"
same paths "$(json "$work/doc" 'd["paths"]')" "['/data', '/split']"

check "$e4frag" --files "$img"
cp "$out" "$work/lines"
valid e4frag-file-1.json "$work/lines" lines
check "$e4frag" --json "$img"
cp "$out" "$work/doc"
same "lines" "$(wc -l <"$work/lines")" \
	"$(json "$work/doc" 'd["files"]["count"]')"
same "in inode order" "$(/usr/bin/python3 -c '
import json, sys
k = [json.loads(line)["inode"] for line in open(sys.argv[1])]
print(k == sorted(set(k)))' "$work/lines")" True
same "sums" "$(/usr/bin/python3 -c '
import json, sys
total = json.load(open(sys.argv[2]))["files"]
lines = [json.loads(line) for line in open(sys.argv[1])]
keys = [k for k in lines[0] if k in total]
print(len(keys), [k for k in keys if sum(l[k] for l in lines) != total[k]])' \
	"$work/lines" "$work/doc")" '10 []'
same "histograms" "$(json "$work/doc" '[
	sum(b["files"] for b in d["extents_per_file"]) == d["files"]["count"],
	sum(b["directories"] for b in d["locality"]) ==
		d["directories"]["count"],
	all(sum(b["min_extents"] <= l["extents"] <= b["max_extents"]
		for l in map(json.loads, open("'"$work/lines"'"))) ==
	    b["files"] for b in d["extents_per_file"])]')" '[True, True, True]'
check "$e4frag" --files --min-extents=3 "$img" /data
same "filtered" "$(sort "$out" | sed 's/.*"path":"\([^"]*\)".*/\1/' |
	sort | tr '\n' ' ')" '/data/broken /data/deep/tree '

[ "${odd-}" ] || skip "a name that is not UTF-8: cannot mount"
check "$e4frag" --files "$img" /data
grep -qF '"path":"/data/bad\\xffbyte\\x5cand\nline\"'"$(printf '\342\202\254')" \
	"$out" || fail "the odd name is not written as promised"
check "$e4frag" --sort=size --top=1000 "$img"
grep -qF '/data/bad\xffbyte\x5cand\x0aline"'"$(printf '\342\202\254')" \
	"$out" || fail "the odd name is not written as promised in text"
