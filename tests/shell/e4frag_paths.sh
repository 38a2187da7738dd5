#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# PATHs restrict the report to files and subtrees.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"

# counts "COUNT EXTENTS DIRECTORIES" PATH...: fails unless e4frag reports these
# figures for the PATHs
counts() {
	want=$1
	shift
	check "$e4frag" --json "$img" "$@"
	same "$*" "$(json "$out" '" ".join(str(n) for n in (
		d["files"]["count"], d["files"]["extents"],
		d["directories"]["count"]))')" "$want"
}
counts '1 3 0' /split
counts '1 3 0' split
counts '2 5 0' /split /data/joinable
counts '1 3 0' /split /split split
# A directory includes its own block, and everything below it.
counts '2 7 1' /data/deep
counts '7 17 2' /data
counts '7 17 2' /data /data/deep
check "$e4frag" --json "$img"
cp "$out" "$work/all"
check "$e4frag" --json "$img" /
same "the root is all" "$(json "$out" 'd["files"]')" \
	"$(json "$work/all" 'd["files"]')"
same "free space" "$(json "$out" 'd["free_space"]')" \
	"$(json "$work/all" 'd["free_space"]')"

for path in /none/x /nothing /data/deep/tree/x; do
	mustfail 1 "$e4frag" "$img" /split "$path"
	one_sentence e4frag
	says "^e4frag: $img: $path: (no such file|not a directory)"
done

mustfail 1 "$e4frag" "$img" /split ''
one_sentence e4frag
says "^e4frag: $img: .*PATH is empty"

# A path below a damaged directory is not found.
cp "$img" "$work/damaged"
blk=$(debugfs -R 'blocks /data/deep' "$img" 2>/dev/null | tr -d ' ')
dd if=/dev/zero of="$work/damaged" bs=4096 seek="$blk" count=1 conv=notrunc \
	status=none
mustfail 1 "$e4frag" "$work/damaged" /data/deep/tree
one_sentence e4frag
says "^e4frag: $work/damaged: /data/deep/tree: the directory block"
check "$e4frag" --json "$work/damaged" /data
same "damaged" "$(json "$out" \
	'[d["damaged_count"], d["damaged"][0]["block"]]')" "[1, $blk]"

require_loop
mount_image "$img" "$work/mnt"
for path in "$work/mnt/data" /data data "$work/mnt//data/"; do
	check "$e4frag" -q --json "$work/mnt" "$path"
	same "$path" "$(json "$out" 'd["files"]["count"]')" 7
done
cd "$work/mnt"
check "$e4frag" -q --json . "$work/mnt/data"
same "a target that is not in full" "$(json "$out" 'd["files"]["count"]')" 7
cd "$work"
check "$e4frag" -q --json "$work/mnt/" "$work/mnt"
same "the mount point's path" "$(json "$out" 'd["paths"]')" "['/']"
same "the mount point" "$(json "$out" 'd["files"]["count"]')" \
	"$(json "$work/all" 'd["files"]["count"]')"
