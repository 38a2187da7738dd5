#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that uses only the library is as safe as the tools: it refuses a
# filesystem in use, and stops if the filesystem is mounted during its run.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

repack=$top_builddir/doc/examples/repack
fsdigest=$top_builddir/tests/tools/fsdigest
img=$work/img

# refuse TARGET PATTERN: the program prints one message, exits with 1, and
# changes no byte.
refuse() {
	before=$(cksum <"$img")
	run "$repack" "$1"
	same "exit: $1" "$status" 1
	says "^$1: $2"
	same "lines of $1" "$(wc -l <"$err")" 1
	[ ! -s "$out" ] || fail "unexpected output: $1"
	same "bytes of $1" "$(cksum <"$img")" "$before"
}

aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
"$fsdigest" -z "$img" >"$work/before"
cp "$img" "$work/aged"

# the program does not need lib/support
if [ -e "$top_builddir/lib/e4layout/.libs/libe4layout.so" ]; then
	nm -D --undefined-only "$top_builddir/doc/examples/.libs/repack" |
		sed -n 's/.* \(e4l_[a-z0-9_]*\).*/\1/p' >"$work/used"
	grep -q '^e4l_open$' "$work/used" || fail "the program does not use e4l_open()"
fi

debugfs -w -R 'ssv state 3' "$img" >/dev/null 2>&1
refuse "$img" 'the filesystem has recorded errors: run e2fsck -f '
refuse "$work/none" 'cannot open: '
cp "$work/aged" "$img"

# the library itself checks a filesystem before a change
debugfs -w -R 'set_inode_field /split links_count 3' "$img" >/dev/null 2>&1
refuse "$img" 'inode-links .inode [0-9]*.: the filesystem is damaged'
cp "$work/aged" "$img"

if can_mount; then
	mount_image "$img" "$work/mnt" ro
	refuse "$loop" "mounted on $work/mnt: first run umount "
	refuse "$img" "mounted on $work/mnt: first run umount "
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	refuse "$img" "attached to $loop: "
	detach "$loop"
fi

# Another program mounts the image during delayed writes.
if can_mount && can_trace; then
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
		strace -f -qq -o "$work/trace" -e trace=pwrite64 \
		-e inject=pwrite64:delay_enter=200000 \
		"$repack" "$img" >"$out" 2>"$err" </dev/null &
	until grep -q pwrite64 "$work/trace"; do sleep 0.1; done
	attach "$img"
	wait $! && fail "the program does not stop"
	says 'another program '
	detach "$loop"
	cp "$work/aged" "$img"
fi

check "$repack" "$img"
sound "$img"
"$fsdigest" -z "$img" | cmp - "$work/before" || fail 'contents changed'
