#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If an image is mounted while a program has the image open for writing, the
# program stops writing.  The test uses read-only and read-write mounts, and
# several names of the image.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs debugfs

img=$work/img
mkdir "$work/mnt" "$work/files"
: >"$out"
head -c 300000 /dev/urandom >"$work/files/data"

# open_shell: starts e4debug, which opens $img for writing and waits for
# requests.
open_shell() {
	mke2fs -qq -F -t ext4 -b 4096 -d "$work/files" "$img" 16M >/dev/null
	ln -f "$img" "$work/other name"
	rm -f "$work/requests"
	: >"$work/answers"
	mkfifo "$work/requests"
	"$e4debug" -q -w -f - "$img" \
		<"$work/requests" >"$work/answers" 2>"$err" &
	shell=$!
	exec 9>"$work/requests"
	echo 'show_super_stats -h' >&9
	until grep -q '^Filesystem UUID' "$work/answers"; do
		kill -0 $shell || fail "e4debug ended: $(cat "$err")"
		sleep 0.1
	done
}

close_shell() {
	exec 9>&-
	wait $shell && fail "e4debug does not fail"
	says "$1"
}

for options in ro,noload rw; do
	open_shell
	mount -t ext4 -o "loop,$options" "$work/other name" "$work/mnt" ||
		skip "mount does not work here"
	defer "umount '$work/mnt'"
	[ $options != rw ] || {
		cp "$work/files/data" "$work/mnt/copy"
		sync -f "$work/mnt"
	}
	before=$(cksum <"$img")
	echo 'mkdir /new' >&9
	close_shell 'another program mounted or changed the filesystem'
	[ "$before" = "$(cksum <"$img")" ] || fail "$options: the image was changed"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	sound "$img"
	for file in data $([ $options != rw ] || echo copy); do
		debugfs -R "cat /$file" "$img" 2>/dev/null |
			cmp - "$work/files/data" || fail "$file is not the same"
	done
done

# There is one message, although closing the undo file detects the mount as well.
# Each write is delayed, so that the mount exists before the run ends.
require_strace
aged "$img" <<'END'
size 24M
mke2fs -b 4096
interleave /logs count 10 rounds 10 blocks 1
scatter /s frags 40 blocks 2 shuffle
END
strace -f -qq -o "$work/trace" -e trace=pwrite64 \
	-e inject=pwrite64:delay_enter=200000 \
	"$e4repack" -z "$work/undo" "$img" \
	>"$out" 2>"$err" </dev/null &
until grep -q pwrite64 "$work/trace"; do sleep 0.1; done
mount -t ext4 -o loop,ro,noload "$img" "$work/mnt"
wait $! && fail "e4repack does not stop"
umount "$work/mnt"
says 'another program '
one_sentence e4repack
