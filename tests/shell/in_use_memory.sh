#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Whichever allocation finds no memory, or with however few descriptors: an image
# that is mounted through a loop device, or attached to one, is refused by what
# would write it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
require_loop

shim=$top_builddir/tests/tools/.libs/fail_malloc.so
[ -e "$shim" ] || skip 'built without shared libraries'

# refused WHAT COMMAND...: it was, and nothing was written.
refused() {
	what=$1
	shift
	[ "$status" != 0 ] && [ "$status" -lt 100 ] ||
		fail "$what: exit $status: $*"
	[ "$(sha256sum <"$img")" = "$sum" ] || fail "$what: wrote: $*"
}

# in_use COMMAND...: is refused with memory and descriptors, and without.
in_use() {
	sum=$(sha256sum <"$img")
	run env FAIL_MALLOC_COUNT="$work/count" LD_PRELOAD="$shim" "$@"
	refused 'with memory' "$@"
	grep -qE 'attached|mounted' "$out" "$err" ||
		fail "does not say what it is: $*"
	for n in $(seq "$(cat "$work/count")"); do
		run env FAIL_MALLOC="$n" LD_PRELOAD="$shim" "$@"
		refused "allocation $n fails" "$@"
	done
	for n in 4 5 6 7 8 9 10 12 16; do
		run sh -c 'ulimit -n "$0" && exec "$@"' "$n" "$@"
		refused "with $n descriptors" "$@"
	done
}

img=$work/img
mke2fs -q -t ext4 "$img" 8M || fail 'no image'
attach "$img"
in_use "$e4repack" -z "$work/undo" "$img"
in_use "$tune4fs" --set dir_ireserve=64 "$img"
in_use "$mke4fs" -F "$img"
in_use "$e4debug" -w -R repack "$img"
mkdir "$work/mnt"
mount -o ro "$loop" "$work/mnt"
defer "umount $work/mnt"
in_use "$e4repack" -z "$work/undo" "$img"
in_use "$mke4fs" -F "$img"
in_use "$mke4fs" -F "$loop"
