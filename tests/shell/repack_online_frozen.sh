#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A filesystem is frozen, and remounted read-only, while e4repack repacks it: the
# run waits for the thaw, and the remount has to wait for the run.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program fsfreeze filefrag

aged "$work/img" <<'END'
size 128M
interleave /data count 40 rounds 16 blocks 4
END
mount_image "$work/img" "$work/mnt"
(cd "$work/mnt/data" && md5sum -- *) >"$work/sums"
"$e4repack" --json --rate=1M "$work/mnt" >"$work/report" 2>"$work/said" &
pid=$!
defer "kill $pid 2>/dev/null"
for _ in $(seq 600); do
	! filefrag "$work"/mnt/data/* | grep -q ': 1 extent found' || break
	sleep 0.05
done
kill -0 "$pid" || fail "it ended before the freeze: $(cat "$work/said")"

defer "fsfreeze -u '$work/mnt' 2>/dev/null"
check fsfreeze -f "$work/mnt"
sleep 1
kill -0 "$pid" || fail "it ended while the filesystem was frozen"
check fsfreeze -u "$work/mnt"
undefer "fsfreeze -u '$work/mnt' 2>/dev/null"

mustfail 32 mount -o remount,ro "$work/mnt"
status=0
wait "$pid" || status=$?
undefer "kill $pid 2>/dev/null"
[ "$status" = 0 ] || fail "exit $status: $(cat "$work/said")"
check mount -o remount,ro "$work/mnt"
(cd "$work/mnt/data" && md5sum --quiet -c "$work/sums") || fail "other contents"
same "fragments" "$(filefrag "$work"/mnt/data/* | grep -vc ': 1 extent found')" 0
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
