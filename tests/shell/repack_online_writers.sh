#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack of what is mounted, beside writers that know every byte.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
e4repack=$top_builddir/misc/e4repack
writers=$top_builddir/tests/tools/writers
require_loop

truncate -s 512M "$work/img"
mke2fs -q -t ext4 "$work/img"
mount_image "$work/img" "$work/mnt"
"$writers" "$work/mnt" "${E4L_WRITERS_SECONDS:-12}" 1 >"$work/said" 2>&1 &
others=$!
runs=0
kills=0
while kill -0 "$others" 2>/dev/null; do
	if [ $((runs % 4)) = 3 ]; then
		"$e4repack" -q "$work/mnt" 2>/dev/null &
		sleep "0.0$((runs % 9 + 1))"
		kill -9 $! 2>/dev/null && kills=$((kills + 1))
		wait $! || :
	else
		check "$e4repack" -q "$work/mnt"
	fi
	runs=$((runs + 1))
done
wait "$others" || fail "$(cat "$work/said")"
[ "$runs" -gt 3 ] || fail "only $runs runs"
echo "$runs runs, $kills kills, $(cat "$work/said")"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
