#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A filesystem is mounted on a thin device without space for new blocks.  If
# data cannot be written to its new place, e4repack gives the file its old
# blocks back, and no byte is lost.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
number=$(cat /sys/class/zram-control/hot_add 2>/dev/null) || skip "no zram"
disk=/dev/zram$number
zram=/sys/block/zram$number
defer "echo $number >/sys/class/zram-control/hot_remove"
echo 256M >"$zram/disksize" || skip "zram does not work here"

# made: makes files whose contents are not compressible
made() {
	mke2fs -q -F -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 "$disk"
	mkdir -p "$work/mnt"
	mount "$disk" "$work/mnt"
	/usr/bin/python3 - "$work/mnt" <<'END'
import os, random, sys
top, rng = sys.argv[1], random.Random(1)
fds = [os.open(f"{top}/{i}", os.O_RDWR | os.O_CREAT, 0o644)
       for i in range(12)]
for k in range(8):
    for i, fd in enumerate(fds):
        n = (40 if i else 640) * 4096
        os.posix_fallocate(fd, k * n, n)
        os.pwrite(fd, rng.randbytes(n), k * n)
END
	(cd "$work/mnt" && md5sum [0-9]*) >"$work/sums"
	umount "$work/mnt"
	mount "$disk" "$work/mnt"
	defer "umount '$work/mnt'"
}

# limit BYTES: limits the bytes that can be written to free blocks of the
# device; 0 removes the limit
limit() {
	read -r _ _ used _ <"$zram/mm_stat"
	echo $(($1 ? used + $1 : 0)) >"$zram/mem_limit"
}

intact() {
	(cd "$work/mnt" && md5sum --quiet -c "$work/sums") ||
		fail "other contents, $1"
}

fragments() {
	filefrag "$work"/mnt/[0-9]* | sed 's/.*: \([0-9]*\) ex.*/\1/' |
		awk '{ n += $1 } END { print n }'
}

# forgetting: repeatedly drops cached pages of the files.
forgetting() {
	/usr/bin/python3 - "$work/mnt" <<'END' &
import os, sys, time
fds = [os.open(f"{sys.argv[1]}/{i}", os.O_RDONLY) for i in range(12)]
while True:
    for fd in fds:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    time.sleep(.002)
END
	forgets=$!
	defer "kill $forgets 2>/dev/null"
}

remembering() {
	kill "$forgets"
	undefer "kill $forgets 2>/dev/null"
	wait "$forgets" || :
}

for free in 1 4 9 21; do
	made
	before=$(fragments)
	limit $((free << 20))
	forgetting
	run "$e4repack" --json "$work/mnt"
	remembering
	limit 0
	same "exit status, with $free MiB" "$status" 1
	one_sentence e4repack
	says 'error: [1-9][0-9]* of 12 files '
	/usr/bin/python3 - "$out" <<'END' || { show_run; fail "other reasons"; }
import json, sys
d = json.load(open(sys.argv[1]))
left = {e["reason"]: e["count"] for e in d["skipped"]}
back = left.pop("put-back", 0)
other = left.pop("device", 0)
# an I/O error is also reported if an earlier part of a large file was put back
back += left.pop("io-error", 0)
sys.exit(bool(left) or not back or d["done"]["files"] + back + other != 12 or
         d["before"]["fragments"] - d["after"]["fragments"] < d["done"]["files"] * 7)
END
	intact "in memory"
	umount "$work/mnt"
	mount "$disk" "$work/mnt"
	intact "on the disk"
	[ "$(fragments)" -le "$before" ] || fail "more fragments"

	# with space, another run continues
	check "$e4repack" "$work/mnt"
	same "fragments" "$(fragments)" 12
	intact "after the second run"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	sound "$disk"
done
