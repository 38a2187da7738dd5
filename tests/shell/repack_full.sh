#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On a disk that is nearly full, a repair leaves the last long free runs to the
# files that are written next: what the kernel writes then is in no more pieces
# than without a repair.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_loop

# fragments IMAGE: of six files of 4 MiB that the kernel writes now.  Reading
# mb_groups makes it read all block bitmaps first: else it puts the first file
# into the only group that it knows, however little is free there.
fragments() {
	mkdir -p "$work/mnt"
	mount -t ext4 -o loop "$1" "$work/mnt" ||
		skip "mount does not work here"
	disk=$(findmnt -nfo SOURCE -M "$work/mnt")
	cat "/proc/fs/ext4/${disk#/dev/}/mb_groups" >/dev/null ||
		echo "cannot read mb_groups" >&2
	for n in 1 2 3 4 5 6; do
		dd if=/dev/zero of="$work/mnt/new$n" bs=4M count=1 conv=fsync \
			status=none || echo "cannot write" >&2
	done
	umount "$work/mnt"
	json=$work/new.json
	"$e4frag" -q --json "$1" /new1 /new2 /new3 /new4 /new5 /new6 >"$json" ||
		fail "e4frag"
	json "$json" 'd["files"]["fragments"]'
}

# in_copy IMAGE: likewise, and the image stays as it is
in_copy() {
	cp --sparse=always "$1" "$work/copy"
	fragments "$work/copy"
	rm "$work/copy"
}

# files of 16 KiB with holes as long between them, files in these holes, and
# one part that is free
aged "$img" <<'END'
size 1G
mke2fs -N 16384 -m 0
contents off
many /small count 10000 size 16K perdir 2000
delete /small every 2
goal group 0
repeat 100 file /f% size 512K holes
goal group 2
file /full size 795M
END
digest -z "$img" >"$work/before"
was=$(excess "$img")
without=$(in_copy "$img")
cp --sparse=always "$img" "$work/repaired"
repack "$work/repaired"
left=$(excess "$work/repaired")
clean "$work/repaired"
digest -z "$work/repaired" >"$work/after"
unchanged "$work/before" "$work/after"
json "$work/.report" '[(l["why"], l["files"], l["extents"])
	for l in d["left_alone"]]'
with=$(fragments "$work/repaired")
rm "$work/repaired"

# nor does making room, which leaves no more to be repaired
cp --sparse=always "$img" "$work/repaired"
cp "$work/.report" "$work/plain"
repack --only=trees,files,directories "$work/repaired"
room_left=$(excess "$work/repaired")
clean "$work/repaired"
digest -z "$work/repaired" >"$work/after"
unchanged "$work/before" "$work/after"
room=$(fragments "$work/repaired")
cp "$work/plain" "$work/.report"
echo "free: $("$e4frag" "$img" | sed -n 's/^Free blocks *//p')"
echo "excess $was, repaired $left; six files of 4 MiB: $without fragments," \
	"after a repair $with; with room excess $room_left, $room fragments"
[ "$with" -le "$without" ] || fail "a repair spent the last long free runs"
[ "$room" -le "$without" ] || fail "room was made of the last long free runs"
[ "$room_left" -le "$left" ] || fail "with room $room_left is left, not $left"
grep -q 'the last long free runs are kept' "$work/.report" ||
	fail "the report does not say so"

# Nor do many small files take them, each of which would save a fragment for
# every block: 1000 of 32 KiB, in holes of 4 KiB.
aged "$img" <<'RECIPE'
size 1G
mke2fs -N 32768 -m 0
contents off
many /small count 20000 size 4K perdir 2000
delete /small every 2
goal group 0
repeat 1000 file /f% size 32K holes
goal group 2
file /full size 860M
RECIPE
without=$(in_copy "$img")
repack "$img"
clean "$img"
grep -q 'the last long free runs are kept' "$work/.report" ||
	fail "small files: the report does not say so"
with=$(fragments "$img")
echo "beside 1000 small files in pieces: $without, after a repair $with"
[ "$with" -le "$without" ] || fail "small files took the last long free runs"
