#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack runs on a mounted filesystem beside writers that verify every byte.
# Every second run is killed at a random moment. A plan is always made.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
writers=$top_builddir/tests/tools/writers
require_loop

truncate -s 512M "$work/img"
mke2fs -q -t ext4 "$work/img"
mount_image "$work/img" "$work/mnt" "${E4L_WRITERS_MOUNT:-defaults}"
"$writers" "$work/mnt" "${E4L_WRITERS_SECONDS:-12}" 1 >"$work/said" 2>&1 &
others=$!
runs=0
kills=0
moving=0
took=100

# kill_some_time: kills $pid after a random part of a run's duration.  If the run
# has a donor file, a file is being moved, and $moving is incremented.
kill_some_time() {
	sleep "$(awk -v "ms=$took" -v "seed=$runs" \
		'BEGIN { srand(seed); print rand() * ms / 1000 }')"
	donor=$(find "/proc/$pid/fd" -lname '*(deleted)' 2>/dev/null || :)
	kill -9 "$pid" 2>/dev/null || return 0
	kills=$((kills + 1))
	[ -z "$donor" ] || moving=$((moving + 1))
}

# plan_something: makes a plan, and tries again if a file has changed during
# planning.
plan_something() {
	for try in 1 2 3 4 5; do
		run "$e4repack" -n -q "$work/mnt"
		[ "$status" != 0 ] || return 0
		grep -q 'the mounted filesystem was changed during the run' "$err" ||
			break
	done
	show_run
	fail "no plan in $try tries"
}

while kill -0 "$others" 2>/dev/null; do
	if [ $((runs % 2)) = 1 ]; then
		"$e4repack" -q "$work/mnt" 2>/dev/null &
		pid=$!
		kill_some_time
		wait "$pid" 2>/dev/null || :
	else
		began=$(date +%s%3N)
		check "$e4repack" -q "$work/mnt"
		took=$(($(date +%s%3N) - began))
		plan_something
	fi
	runs=$((runs + 1))
done
wait "$others" || fail "$(cat "$work/said")"
[ "$runs" -gt 3 ] || fail "only $runs runs"
echo "$runs runs, $kills kills, $moving of them while files were moved;" \
	"$(cat "$work/said")"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
