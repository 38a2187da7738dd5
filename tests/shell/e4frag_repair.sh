#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What e4frag says that a repair would save is what e4repack -n says.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs /usr/bin/python3

img=$work/img

# agrees WHAT [PATH...]: both say the same of $img
agrees() {
	what=$1
	shift
	check "$e4repack" -n --json "$img" "$@"
	cp "$out" "$work/plan"
	check "$e4frag" --json "$img" "$@"
	same "$what" "$(json "$out" 'dict((k, v) for k, v in
		d["repair"].items() if k != "directories")')" "$(json "$work/plan" '
		dict([(k, d[k]) for k in ("files_planned", "extents_before",
		"extents_after", "fragments_before", "fragments_after",
		"tree_blocks_before", "tree_blocks_after",
		"no_room_extents")] +
		[(k, d["planned"][k]) for k in ("bytes_to_copy",
		"bytes_to_zero")], left_alone=d["left_alone"])')"
}

# prints PATTERN: what was printed last has such a line.
prints() {
	grep -qE "$1" "$out" || { cat "$out"; fail "it does not say: $1"; }
}

for recipe in sample features/default features/bigalloc features/block-1k \
	features/encrypt features/indirect features/inline-data \
	features/no-csum features/quota features/verity; do
	(cd "$top_srcdir/tests/recipes" &&
		"$top_builddir/tests/tools/mkaged" $recipe.recipe "$img") \
		>/dev/null || fail "mkaged cannot make $recipe"
	agrees "$recipe"
	agrees "$recipe, one directory" /
done
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
agrees "layout.recipe"
agrees "two paths" /data/old /data/broken
check "$e4frag" "$img" /data/old /data/broken
prints '^  extents  *2   of 5: --only=merge,zeroout,move,dirs$'
prints '^Left alone: 1 file, 1 extent: indirect-mapped$'
[ "$(wc -L <"$out")" -le 80 ] || fail "the report is wider than 80 columns"
check "$e4frag" "$img" /data/old
prints '^Nothing can be repaired as things are$'
check "$e4frag" "$img" /none
prints '^There is nothing to repair$'

# directories: no more than --only=index gives
aged "$img" <<'END'
size 64M
mke2fs -b 1024
many /d count 900 name a-name-that-takes-room-
delete /d percent 90
END
check "$e4repack" -n --json --only=index "$img"
json "$out" '[d["directories"][k] for k in ("planned",
	"planned_blocks_before", "planned_blocks_after")]' |
	tr -d '][,' >"$work/index"
read -r planned had gets <"$work/index"
check "$e4frag" --json "$img"
same "directories" "$(json "$out" '(lambda r: (r["count"], r["blocks"],
	0 < r["spare_blocks"]))(d["repair"]["directories"])')" \
	"($planned, $had, True)"
spare=$(json "$out" 'd["repair"]["directories"]["spare_blocks"]')
[ "$spare" -le $((had - gets)) ] || fail "$spare spare, $had to $gets"
check "$e4frag" "$img"
prints '^A repair now would save$'
! grep -q 'without an index' "$out" || fail "all that is linear is sparse"
prints "^  in directories  *$spare   blocks at least, of $had: --only=index\$"

aged "$img" <<'END'
size 64M
mke2fs -b 1024
many /d count 900 name a-name-that-takes-room-
many /e count 5 name a-name-that-takes-room-
END
check "$e4frag" --json "$img"
same "without an index" "$(json "$out" 'd["repair"]["directories"]')" \
	"{'linear': 1, 'count': 0, 'blocks': 0, 'spare_blocks': 0, 'spread': {'count': 0, 'itable_blocks': 0, 'spare_itable_blocks': 0}}"
check "$e4frag" "$img"
prints '^A repair now would save$'
prints '^  searches of  *1   directory without an index: --only=index$'
check "$e4repack" -q --only=index "$img"
check "$e4frag" "$img"
! grep -q 'only=index' "$out" || fail "something is left: $(cat "$out")"

# what needs more than one part of a repair
aged "$img" <<'END'
size 64M
mke2fs -b 1024
many /d count 900 name a-name-that-takes-room-
interleave /logs count 4 rounds 5 blocks 2
END
check "$e4frag" "$img" /logs
prints '^A repair now would save$'
! grep -q -e '--all$' "$out" || fail "--all of a part"
check "$e4frag" "$img"
prints '^All of that, one after the other: --all$'
check "$e4check" "$img"
prints "^or all that e4repack does: e4repack --all $img\$"
check "$e4repack" -q --all "$img"
for tool in "$e4frag" "$e4check"; do
	check "$tool" "$img"
	! grep -q -e '--all' "$out" || fail "something is left: $(cat "$out")"
done

# inodes: no fewer than --only=inodes saves, where there is room
aged "$img" <<'END'
size 64M
mke2fs -b 1024 -N 8000
tree /t dirs 20 files 40
END
check "$e4frag" --json "$img"
spare=$(json "$out" 'd["repair"]["directories"]["spread"]["spare_itable_blocks"]')
had=$(json "$out" 'd["repair"]["directories"]["spread"]["itable_blocks"]')
check "$e4frag" "$img"
prints "^  itable blocks  *$spare   at most, of $had: --only=inodes\$"
check "$e4repack" --json --only=inodes "$img"
same "itable blocks" "$(json "$out" '(lambda i: i["itable_blocks_before"] -
	i["itable_blocks_after"])(d["inodes"])')" "$spare"
check "$e4frag" "$img"
! grep -q 'only=inodes' "$out" || fail "something is left: $(cat "$out")"

# nearly full: not all that could be better can be repaired
aged "$img" <<'END'
size 64M
mke2fs -b 1024 -m 0 -N 14000 -J size=4
many /small count 9000 size 2K-8K perdir 100
delete /small percent 20
repeat 7 file /big% size 1M holes
END
agrees "nearly full"
json "$work/plan" 'd["planned"]["files"] and d["left_alone"]' | grep -q why ||
	fail "nothing is left alone: $(cat "$work/plan")"

# damage: e4repack would do nothing
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
blk=$(debugfs -R 'ex /data/deep/tree' "$img" 2>/dev/null |
	awk '$1 == "0/" { print $8; exit }')
dd if=/dev/zero of="$img" bs=4096 seek="$blk" count=1 conv=notrunc status=none
check "$e4frag" --json "$img"
same "damage" "$(json "$out" 'd["repair"]')" None
check "$e4frag" "$img"
prints '^A repair would save, at most$'
prints "^  once the damage is repaired: e2fsck -f $img\$"

# more extents than a plan is made for
aged "$img" <<'END'
size 10G
contents off
repeat 20 mosaic /m% size 256M written 4K unwritten 4K
END
check "$e4frag" --json "$img"
same "much" "$(json "$out" 'd["repair"], d["files"]["extents"] > 1 << 20')" \
	'(None, True)'
check "$e4frag" "$img"
prints 'How much of that with the free space there is, e4repack -n says\.'
