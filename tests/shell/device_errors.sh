#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If the device fails, the message names the block. If the disk that holds an
# image is full, the message reports that and names a remedy.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs

shim=$top_builddir/tests/tools/.libs/fail_io.so
img=$work/img
whole=$work/whole
"$top_builddir/tests/tools/mkaged" \
	"$top_srcdir/tests/corrupt/bases/default.recipe" "$whole" >/dev/null ||
	fail 'no image'

# ---------------------------------------------------------------- bad blocks
# bad BLOCK COMMAND...: the error message names a block, an inode or a finding
bad() {
	blk=$1
	shift
	cp "$whole" "$img"
	run env ${writes:+FAIL_IO_WRITE=1} FAIL_IO_FILE="$img" \
		FAIL_IO_AT=$((blk * 1024)) FAIL_IO_BYTES=1024 \
		LD_PRELOAD="$shim" "$@"
	[ "$status" != 0 ] || return 0
	same "block $blk: exit of $*" "$status" 1
	grep -Eq '(block|inode|group) [0-9]|: cannot open: ' "$err" && return
	show_run
	fail "block $blk, ${writes:-reads}: no block is named: $*"
}

if [ -e "$shim" ]; then
	journal=$(debugfs -R 'bmap <8> 0' "$whole" 2>/dev/null)
	for writes in '' writes; do
		for blk in "$journal" 0 1 $(seq 2 22 500) 6143; do
			bad "$blk" "$e4repack" --progress=never "$img"
			bad "$blk" "$tune4fs" --set dir_ireserve=64 "$img"
			bad "$blk" "$e4debug" -w -R 'mkdir /new' "$img"
		done
		bad "$journal" "$e4repack" --progress=never "$img"
		says "journal.* block $journal|the journal.* \(block $journal\): "
	done
	writes=
	bad 6143 "$e4repack" "$img"
	says "last block \(block 6143\): Input/output error"
fi

# --------------------------------------------------------------- a full disk
[ "$(id -u)" = 0 ] || skip "not root: a full disk"
mkdir "$work/disk" "$work/src"
mount -t tmpfs -o size=24M none "$work/disk" || skip "no tmpfs"
defer "umount '$work/disk'"
img=$work/disk/img
aged "$whole" <<'EOF'
size 64M
scatter /bad frags 60 blocks 2 gap 1
scatter /keep frags 4 blocks 5 gap 3
EOF

# full ROOM COMMAND...: fails unless COMMAND fails on a disk with ROOM KiB of
# free space
full() {
	room=$1
	shift
	rm -f "$work/disk"/*
	cp --sparse=always "$whole" "$img"
	head -c 100M /dev/zero >"$work/disk/fill" 2>/dev/null || :
	truncate -s -"${room}K" "$work/disk/fill"
	mustfail 1 "$@"
	says "${file-$img} is full: .*again$"
}
# without free space, the first write fails; with 8 KiB, a later write fails
for room in 0 8; do
	full "$room" "$e4repack" --progress=never "$img"
	one_sentence e4repack
	full "$room" "$tune4fs" --set dir_ireserve=64 "$img"
	one_sentence tune4fs
	full "$room" "$e4debug" -w -R repack "$img"
	says '^e4debug: repack: cannot repack: writing .* \(block [0-9]*\): the'
	full "$room" "$e4debug" -w -R 'mkdir /new' "$img"
	says "^e4debug: $img: .*journal .*: run e2fsck -p $img"
done
# With enough space, e4repack succeeds.
rm "$work/disk/fill"
e2fsck -fp "$img" >/dev/null || [ $? = 1 ]
check "$e4repack" "$img"
sound "$img"

head -c 30M /dev/urandom >"$work/src/file"
file=$work/disk/new
full 0 "$mke4fs" -q -d "$work/src" "$file" 60M
one_sentence mke4fs
[ ! -e "$file" ] || fail "an image is left behind"
: >"$whole"
truncate -s 60M "$whole"
file=$img
full 0 "$mke4fs" -q -F -d "$work/src" "$img"
says "$img: mke2fs failed: the disk"
