#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The zero-out rule, compared with the running kernel: random preallocated files
# and random writes on a mount with dioread_lock, for several chunk limits and
# two block sizes. The simulation must give the extents that are on disk
# afterwards. A flush by another program in the middle of a write splits the
# write in two, so a difference counts if it occurs three times.
# E4L_ORACLE_FILES: files per limit with 4 KiB blocks (default 80, with
# E4L_QUICK 20); E4L_ORACLE_SEED: the first seed.

set -u
files=${E4L_ORACLE_FILES:-${E4L_QUICK:+20}}
files=${files:-80}
first_seed=${E4L_ORACLE_SEED:-1}
limits="0 28 64 128 256 512 1024"
tool=${top_builddir:-.}/tests/oracle/zeroout-files
e4check=${top_builddir:-.}/e2fsck/e4check
PATH=$PATH:/usr/sbin:/sbin

skip()
{
	echo "skipped: $1"
	exit 77
}

fail()
{
	echo "failed: $1"
	exit 1
}

[ "$(id -u)" = 0 ] || skip "mounting needs root"
loop=$(losetup -f 2>/dev/null) || skip "there is no free loop device"

dir=$(mktemp -d "${TMPDIR:-/tmp}/e4l-zeroout-XXXXXX") || exit 1
loop=
cleanup()
{
	umount "$dir/mnt" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop"
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
mkdir "$dir/mnt"

mount_image()
{
	mount -o dioread_lock "$loop" "$dir/mnt"
}

# one_image BLOCKSIZE FILES SEED: tests all chunk limits on one filesystem
one_image()
{
	seed=$3
	rm -f "$dir/image"
	truncate -s 8G "$dir/image"
	mke2fs -q -F -t ext4 -b "$1" -E lazy_itable_init=0 "$dir/image" ||
		fail "mke2fs"
	loop=$(losetup -f --show "$dir/image") || skip "losetup failed"
	mount_image || skip "the kernel does not mount with dioread_lock"
	knob=/sys/fs/ext4/${loop##*/}/extent_max_zeroout_kb
	[ -w "$knob" ] || skip "there is no $knob"

	for kb in $limits; do
		mkdir "$dir/mnt/$kb"
		"$tool" create "$dir/mnt/$kb" $((seed += 1)) "$2" ||
			fail "create"
	done
	umount "$dir/mnt" || fail "umount"
	"$tool" dump "$loop" >"$dir/before" || fail "dump"

	mount_image || fail "mount"
	for kb in $limits; do
		echo "$kb" >"$knob" || fail "setting extent_max_zeroout_kb"
		"$tool" write "$dir/mnt/$kb" "$dir/before" $((seed += 1)) \
			"$kb" || fail "write"
	done >"$dir/simulated"
	umount "$dir/mnt" || fail "umount"
	"$tool" dump "$loop" >"$dir/after" || fail "dump"
	e2fsck -fn "$loop" >"$dir/fsck" 2>&1 || fail "e2fsck: $(cat "$dir/fsck")"
	"$e4check" -q --no-layout "$loop" >"$dir/fsck" 2>&1 ||
		fail "e4check: $(cat "$dir/fsck")"
	losetup -d "$loop"
	loop=

	sort -n -k1,1 -k2,2 "$dir/simulated" >"$dir/expected"
	cmp -s "$dir/before" "$dir/after" && fail "the writes changed nothing"
	diff -u "$dir/expected" "$dir/after" >"$dir/diff" || {
		echo "simulated and on disk:"
		head -40 "$dir/diff"
		return 1
	}
	echo "$1-byte blocks: $(cut -d' ' -f1 "$dir/after" | uniq | wc -l)" \
		"files, $(wc -l <"$dir/before") extents before," \
		"$(wc -l <"$dir/after") after, the same on both sides"
}

# three_times BLOCKSIZE FILES: fails if one_image finds a difference three times
# in a row
three_times()
{
	one_image "$1" "$2" "$first_seed" ||
		one_image "$1" "$2" "$first_seed" ||
		one_image "$1" "$2" "$first_seed" ||
		fail "$1-byte blocks"
}

three_times 4096 "$files"
three_times 1024 $(((files + 3) / 4))
