#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A mounted filesystem with recorded errors is refused like an unmounted one, for
# a dry run and for a repack, with the advice to unmount the filesystem first. No
# option overrides the refusal.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program mke2fs debugfs setfattr

cd "$work"
truncate -s 64M img
check mke2fs -q -F -t ext4 img
mount_image img mnt
for _ in $(seq 30); do
	for f in a b; do
		head -c 30000 /dev/urandom >>mnt/$f
		command sync -f mnt
	done
done
command umount mnt
undefer "umount 'mnt'"
debugfs -w -R 'ssv error_count 3' "$loop" 2>/dev/null
debugfs -w -R 'ssv state 2' "$loop" 2>/dev/null
mustfail 1 "$e4repack" "$loop"
cp "$err" offline
grep -q 'has recorded errors: run e2fsck -f' offline ||
	fail 'another refusal of what is not mounted'
sed 's/: run e2fsck/: unmount the filesystem and run e2fsck/' offline >mounted
mount "$loop" mnt
defer "umount '$work/mnt'"
filefrag -v mnt/a mnt/b >before
for options in '' -n --idle --only=files --rate=1M; do
	# shellcheck disable=SC2086
	mustfail 1 "$e4repack" $options mnt
	sed "s|^e4repack: mnt: |e4repack: $loop: |" "$err" >online
	cmp online mounted || fail "another sentence with '$options'"
done
filefrag -v mnt/a mnt/b | cmp - before || fail 'files were moved'
check "$e4frag" mnt
for options in '-E mb_order2_req=3' '-n -E mb_order2_req=3' --clear; do
	for target in mnt "$loop"; do
		[ "$options" != --clear ] ||
			setfattr -n trusted.ext4.tunables -v dir_ireserve=64 mnt
		# shellcheck disable=SC2086
		mustfail 1 "$tune4fs" $options "$target"
		sed "s|^tune4fs: [^:]*: |e4repack: $loop: |" "$err" >online
		cmp online mounted || fail "tune4fs $options $target"
	done
done
check "$tune4fs" -l mnt
grep -Eq 'dir_ireserve +64' "$out" || fail 'the tunables were changed'
setfattr -x trusted.ext4.tunables mnt
command umount mnt
undefer "umount '$work/mnt'"
run e2fsck -fy "$loop"
mount "$loop" mnt
defer "umount '$work/mnt'"
check "$e4repack" mnt
check "$tune4fs" -E mb_order2_req=3 mnt
