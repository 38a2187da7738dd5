#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On a disk that is nearly full, a repack does not fragment later writes: the files
# that the kernel writes next are in no more fragments than without a repack, and in
# at most 12 where free space can be consolidated.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_loop

# fragments IMAGE: prints the fragments of six files of 4 MiB that the kernel
# writes.  Reading mb_groups loads all block bitmaps: otherwise the kernel
# places the first file in the only group that it has loaded, even with little
# free space there.
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

# in_copy IMAGE: prints the result of fragments for a copy of IMAGE
in_copy() {
	cp --sparse=always "$1" "$work/copy"
	fragments "$work/copy"
	rm "$work/copy"
}

# The image has small files with free extents of 16 KiB between them, fragmented
# files in further free extents of this kind, and a large file that leaves one
# free region.
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
with=$(fragments "$work/repaired")
rm "$work/repaired"

# Without --only=free, a repack does not fragment later writes either.
cp --sparse=always "$img" "$work/repaired"
repack --only=trees,files,directories "$work/repaired"
files_left=$(excess "$work/repaired")
clean "$work/repaired"
digest -z "$work/repaired" >"$work/after"
unchanged "$work/before" "$work/after"
files=$(fragments "$work/repaired")
echo "free: $("$e4frag" "$img" | sed -n 's/^Free blocks *//p')"
echo "excess $was, then $left; six files of 4 MiB: $without fragments," \
	"after a repack $with; of files alone: excess $files_left, $files fragments"
same "excess" "$left" 0
[ "$with" -le "$without" ] || fail "a repack fragments later writes"
[ "$with" -le 12 ] || fail "$with fragments after a repack"
[ "$files" -le "$without" ] || fail "a repack of files fragments later writes"

# Many small files do not take long free extents, even if each would save a
# fragment per block: 1000 files of 32 KiB, in holes of 4 KiB.
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
with=$(fragments "$img")
echo "beside 1000 small files in pieces: $without, after a repack $with"
[ "$with" -le "$without" ] || fail "small files took the last long free extents"
