#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --shrink on a filesystem of every feature set reaches the size that a
# dry run prints, every name leads to the same content, e2fsck and e4check find
# no error, and resize2fs can grow the filesystem again.  FEATURES='RECIPE...'
# selects recipes.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_program resize2fs
no_leak_check

has_journal() {
	can_mount || return 1
	attach "$img.journal"
	journal="-j $loop"
}

clean() {
	# shellcheck disable=SC2086
	sound $journal "$1"
}

# by_name IMAGE: prints all properties that shrinking must not change.  The
# resize inode is omitted, because resize2fs sets its time.
by_name() {
	digest -mnz "$1" | grep -v '^7 ' | sort
}

kept() {
	clean "$img"
	by_name "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# shrunk OPTION...: shrinks $img to the size that a dry run has printed.
shrunk() {
	before=$(written "$img")
	repack -n "$@" ${protection:+"$protection"} "$img"
	same "$what: written by -n" "$(written "$img")" "$before"
	blocks=$(report shrink.new_blocks)
	repack "$@" ${protection:+"$protection"} "$img"
	same "$what: blocks" "$(report shrink.new_blocks)" "$blocks"
	same "$what: bytes" "$(stat -c %s "$img")" \
		$((blocks * $(report block_size_bytes)))
	kept
}

# grown BLOCKS: grows $img to BLOCKS again. resize2fs 1.47.0 damages filesystems
# with bigalloc or sparse_super2, even filesystems that mke2fs has made.
grown() {
	case $what in
	bigalloc* | sparse-super2 | external-journal) return 0 ;;
	esac
	check resize2fs -f "$img" "$1"
	kept
}

# e2fsck uses cached information about devices for two seconds, so the test has
# its own cache.
BLKID_FILE=$work/blkid.tab
export BLKID_FILE
work_on() {
	journal=''
	if [ "$what" = external-journal ] && ! has_journal; then
		return 0
	fi
	by_name "$img" >"$work/before"
	cp --sparse=always "$img" "$work/original"
	shrunk --shrink
	all=$(report shrink.old_blocks)
	least=$blocks
	echo "$what: $all blocks, then $least"
	repack --shrink ${protection:+"$protection"} "$img"
	same "$what: a second run" "$(report shrink.new_blocks)" "$least"
	grown "$all"
	if [ "$least" -lt "$all" ]; then
		cp --sparse=always "$work/original" "$img"
		size=$(((all + 2 * least) * $(report block_size_bytes) / 3))
		shrunk --shrink=$size
		[ "$(stat -c %s "$img")" -le $size ] || fail "$what: too large"
		grown "$all"
	fi
	[ -z "$journal" ] || detach "$loop"
	images=$((images + 1))
}

third=2
each_recipe work_on
echo "$images images"
