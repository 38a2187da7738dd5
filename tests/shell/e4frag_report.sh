#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The layout of the filesystem is set block by block, so that the expected
# figures are known.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"

# figures PATH EXTENTS FRAGMENTS IDEAL SPLITS MERGEABLE TREE: fails unless
# e4frag reports these figures for PATH
figures() {
	check "$e4frag" --json --sort=extents "$img" "$1"
	path=$1
	shift
	same "$path" "$(json "$out" '" ".join(str(d["files"][k]) for k in
		("extents", "fragments", "ideal_extents", "splits",
		 "mergeable", "tree_blocks"))')" "$*"
	same "$path: excess" "$(json "$out" 'd["files"]["excess_extents"]')" \
		$(($1 - $3))
	same "$path: worst" "$(json "$out" 'd["worst"][0]["path"]')" "$path"
}
figures /split 3 1 3 2 0 0
figures /data/broken 3 3 1 0 0 0
figures /data/joinable 2 1 1 0 1 0
figures /data/holey 2 2 2 0 0 0
figures /data/deep/tree 6 6 1 0 0 1
figures /data/old 2 2 1 0 0 0

check "$e4frag" --json "$img"
cp "$out" "$work/all"
same "worst" "$(json "$work/all" '" ".join(w["path"] for w in d["worst"])')" \
	'/data/deep/tree /data/broken /data/joinable /data/old'
same "fragmented" "$(json "$work/all" 'd["files"]["fragmented"]')" 3
same "indirect" "$(json "$work/all" 'd["files"]["indirect_mapped"]')" 1
same "damaged" "$(json "$work/all" 'd["damaged"]')" '[]'
same "free" "$(json "$work/all" \
	'd["free_space"]["blocks"] - d["filesystem"]["free_blocks"]')" 0
same "histogram" "$(json "$work/all" \
	'sum(r["blocks"] for r in d["free_space"]["histogram"])
	- d["free_space"]["blocks"]')" 0
same "bounds" "$(json "$work/all" \
	'all(r["min_blocks"] * r["extents"] <= r["blocks"] <=
	     r["max_blocks"] * r["extents"]
	     for r in d["free_space"]["histogram"])')" True

# --top and --min-extents shorten the lists and do not change the totals
for options in '--top=1 1' '--top=0 0' '--min-extents=3 2' \
	'--min-extents=1000 0' '--top=2 2'; do
	check "$e4frag" --json "${options% *}" "$img"
	same "$options" "$(json "$out" 'len(d["worst"])')" "${options#* }"
	same "$options: totals" "$(json "$out" 'd["files"]')" \
		"$(json "$work/all" 'd["files"]')"
done
for sort in extents fragments size excess; do
	check "$e4frag" --json --sort=$sort "$img"
	case $sort in
	size) key='w["size_bytes"]' ;;
	excess) key='w["extents"] - w["ideal_extents"]' ;;
	*) key="w[\"$sort\"]" ;;
	esac
	same "--sort=$sort" "$(json "$out" "(lambda k: k == sorted(k)[::-1])(
		[$key for w in d['worst']])")" True
done

# The text report has the figures of --json.
check "$e4frag" "$img"
text() {
	got=$(sed -n "s/^$1 *\([0-9,]*\) .*/\1/p" "$out" | head -n 1 | tr -d ,)
	same "text: $1" "$got" "$(json "$work/all" "d$2")"
}
text Files '["files"]["count"]'
text Extents '["files"]["extents"]'
text '  fragmented' '["files"]["fragmented"]'
text '  fragments' '["files"]["fragments"]'
text '  ideal' '["files"]["ideal_extents"]'
text '  excess' '["files"]["excess_extents"]'
text '  splits' '["files"]["splits"]'
text '  mergeable' '["files"]["mergeable"]'
text 'Tree blocks' '["files"]["tree_blocks"]'
text 'Directories' '["directories"]["count"]'
text 'Free blocks' '["free_space"]["blocks"]'
text '  filefrag' '["peers"]["filefrag"]["extents"]'
text '  e4defrag -c' '["peers"]["e4defrag"]["extents"]'
text '  e2fsck' '["peers"]["e2fsck"]["non_contiguous_files"]'
grep -q ' /data/deep/tree$' "$out" || fail "text: the worst has no path"
[ "$(wc -L <"$out")" -le 80 ] || fail "the summary is wider than 80 columns"

# The figure for e2fsck in the object "peers" equals the figure that e2fsck -v
# prints.
same "e2fsck" "$(json "$work/all" \
	'd["peers"]["e2fsck"]["non_contiguous_files"] +
	 d["peers"]["e2fsck"]["non_contiguous_directories"]')" \
	"$(e2fsck -fnv "$img" 2>/dev/null |
		awk '/ non-contiguous (file|director)/ { n += $1 }
		     END { print n + 0 }')"

# A damaged tree block is named and skipped, and the exit status is 0.
blk=$(debugfs -R 'ex /data/deep/tree' "$img" 2>/dev/null |
	awk '$1 == "0/" { print $8; exit }')
dd if=/dev/zero of="$img" bs=4096 seek="$blk" count=1 conv=notrunc status=none
check "$e4frag" --json "$img"
says 'damaged .*: run e2fsck -fn'
same "damaged" "$(json "$out" 'len(d["damaged"]), d["damaged_count"]')" \
	'(1, 1)'
same "damaged block" "$(json "$out" 'd["damaged"][0]["block"]')" "$blk"
check "$e4frag" "$img"
grep -q "^  inode [0-9]*, block $blk, the extent tree" "$out" ||
	fail "text: the damage is not named"
grep -q ' 1   damaged structure was skipped and is not counted$' "$out" ||
	fail "text: not 1 damaged place"

# With one free extent, the bar has its maximum length, and the text has
# singular forms.
aged "$img" <<'END'
size 64M
dir /empty
END
check "$e4frag" "$img" /empty
grep -q ' 0 regular, 1 directory$' "$out" || fail "text: not 1 directory"
grep -q ' in 1 extent, the largest ' "$out" || fail "text: not 1 free extent"
grep -q ' 100\.0 %  #*$' "$out" || fail "text: no bar is full"
[ "$(wc -L <"$out")" -le 80 ] || fail "the longest bar is too long"
