#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Equal trees give equal bytes: a copy of a tree, a tree whose files were
# created in another order, other numbers of threads, and an archive of the
# tree.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_program tar

SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
# image NAME SOURCE OPTIONS...: makes the image NAME of SOURCE
image() {
	name=$1
	source=$2
	shift 2
	check "$mke4fs" -q -d "$source" -b 4096 \
		-U 01234567-89ab-cdef-0123-456789abcdef \
		-E hash_seed=fedcba98-7654-3210-fedc-ba9876543210 "$@" \
		"$work/$name"
}

sample "$work/src"
rm "$work/src/sock"		# archives have no sockets
touch -d '1960-01-02 03:04:05 UTC' "$work/src/dir"
near_times "$work/src"
# The copy has the same files in another order, created at other times, with
# other inode numbers.
mkdir "$work/copy"
(cd "$work/src" && find . -mindepth 1 -maxdepth 1 | sort -r) |
	while read -r name; do
		cp -a "$work/src/$name" "$work/copy"
	done
rm -rf "$work/copy/dir" "$work/copy/small" "$work/copy/again"
cp -a "$work/src/dir" "$work/src/small" "$work/src/again" "$work/copy"
ln -f "$work/copy/small" "$work/copy/again"
touch -r "$work/src" "$work/copy"
tar -C "$work/copy" --format=posix --xattrs --xattrs-include='*' --acls -S \
	-cf "$work/a.tar" . 2>/dev/null

for options in '' '-R low' '-R off' '-O inline_data,quota'; do
	rm -f "$work"/img?
	# shellcheck disable=SC2086
	{
		image img1 "$work/src" $options --threads=1
		image img2 "$work/copy" $options --threads=16
		image img3 "$work/a.tar" $options --threads=5
		image img4 "$work/src" $options --threads=24
	}
	clean "$work/img1"
	for i in 2 3 4; do
		cmp "$work/img1" "$work/img$i" >&2 ||
			fail "image $i differs with '$options'"
	done
done
rm "$work/img2"
SOURCE_DATE_EPOCH=1700000001
image img2 "$work/src" -O inline_data,quota
! cmp -s "$work/img1" "$work/img2" || fail "the time makes no difference"

# The time 0 is valid.
SOURCE_DATE_EPOCH=0
rm "$work/img3" "$work/img4"
image img3 "$work/src"
sleep 1.1
image img4 "$work/copy"
cmp "$work/img3" "$work/img4" || fail "with SOURCE_DATE_EPOCH=0 images differ"
# The offsets are those of s_wtime, s_lastcheck and s_mkfs_time. dumpe2fs 1.47.2
# does not print s_mkfs_time.
for offset in 1072 1088 1288; do
	# in libext2fs, 0 means no time, so the superblock may have second 1
	time=$(od -An -tu4 -j $offset -N 4 "$work/img3" | tr -d ' ')
	[ "$time" -le 1 ] || fail "the time at byte $offset: $time"
done
debugfs -R 'stat small' "$work/img3" 2>/dev/null |
	grep -q 'mtime: 0x00000000:00000000' || fail "a file is younger than 1970"
clean "$work/img3"
