#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A program writes a large file beside e4repack on a mounted filesystem: while the
# run has reserved nearly all free space, the program gets no ENOSPC.  The program
# is slow enough that a run on a busy machine can release space in time.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
! is_sanitized || skip 'a run with sanitizers is too slow to release space in time'

truncate -s 512M "$work/img"
mke2fs -q -t ext4 -b 4096 -m 0 "$work/img"
mount_image "$work/img" "$work/mnt"
# The filesystem has many fragmented files, and its free space is in small
# extents.
write_in_turns "$work/mnt" 400 200
remove_each "$work/mnt" 2
md5sum "$work"/mnt/f[0-9]* >"$work/sums"
avail_mib=$(($(stat -fc %a "$work/mnt") / 256))

"$e4repack" --rate=4M "$work/mnt" >"$work/report" 2>&1 &
pid=$!
defer "while kill $pid 2>/dev/null; do sleep 0.1; done"
for _ in $(seq 200); do
	[ "$(($(stat -fc %a "$work/mnt") / 256))" -ge $((avail_mib / 3)) ] || break
	sleep 0.05
done
left_mib=$(($(stat -fc %a "$work/mnt") / 256))
[ "$left_mib" -lt $((avail_mib / 3)) ] ||
	fail "$left_mib of $avail_mib MiB are not reserved: $(cat "$work/report")"
# The program writes at most 20 MB/s: filling the free 5 % takes more than a
# second.
for _ in $(seq $((avail_mib * 9 / 100))); do
	check dd if=/dev/zero of="$work/mnt/large" bs=1M count=10 oflag=append \
		conv=notrunc status=none
	sleep 0.5
done
check sync "$work/mnt/large"
kill "$pid" 2>/dev/null || :
wait "$pid" || fail "the run failed: $(cat "$work/report")"
undefer "while kill $pid 2>/dev/null; do sleep 0.1; done"
md5sum --quiet -c "$work/sums" || fail "other contents"
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
