#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack runs twice at the same time on a mounted filesystem.  The second run
# finds no free space and reports the reason.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop

truncate -s 128M "$work/img"
mke2fs -q -t ext4 -m 0 "$work/img"
mount_image "$work/img" "$work/mnt"
# Most of the free space is in small extents, so that a run reserves all of it.
write_in_turns "$work/mnt" 100 250
remove_each "$work/mnt" 4
md5sum "$work"/mnt/f[0-9]* >"$work/sums"

"$e4repack" --rate=500K "$work/mnt" >"$work/first" 2>&1 &
pid=$!
defer "kill $pid 2>/dev/null"
# wait until the run has reserved all free space except 5 %
all=$(stat -fc %b "$work/mnt")
for _ in $(seq 1200); do
	[ "$(stat -fc %f "$work/mnt")" -gt $((all * 51 / 1000)) ] || break
	sleep 0.05
done
[ "$(stat -fc %f "$work/mnt")" -le $((all * 51 / 1000)) ] ||
	fail "the first run does not reserve free space: $(cat "$work/first")"
check "$e4repack" "$work/mnt"
grep -q '^Skipped: .*: another run of e4repack has reserved the free space$' \
	"$out" || { show_run; fail "the reason for doing nothing is missing"; }
kill "$pid"
wait "$pid" || fail "the first run failed: $(cat "$work/first")"
undefer "kill $pid 2>/dev/null"

# after the first run has ended, another run finds free space
check "$e4repack" --json "$work/mnt"
[ "$(json "$out" 'd["done"]["files"]')" -gt 0 ] || fail "nothing is repacked afterwards"
md5sum --quiet -c "$work/sums" || fail "other contents"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
