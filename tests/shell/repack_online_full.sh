#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If e4repack runs on a mounted, nearly full filesystem, other programs do not
# run out of space earlier.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop

truncate -s 256M "$work/img"
mke2fs -q -t ext4 -b 4096 -m 0 "$work/img"
mount_image "$work/img" "$work/mnt"
write_in_turns "$work/mnt" 200 30
avail=$(stat -fc %a "$work/mnt")
all=$(stat -fc %b "$work/mnt")
fallocate -l $(((avail - all * 12 / 100) * 4096)) "$work/mnt/fill"
sync -f "$work/mnt"
md5sum "$work"/mnt/f[0-9]* >"$work/sums"

# write_all: writes 1 MiB at a time until the filesystem is full, and prints the
# number of MiB
write_all() {
	/usr/bin/python3 - "$work/mnt/other" <<'END'
import errno, os, sys, time
fd, n = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), 0
try:
    while True:
        os.posix_fallocate(fd, n << 20, 1 << 20)
        n += 1
        time.sleep(0.1)
except OSError as e:
    if e.errno != errno.ENOSPC:
        raise
print(n)
END
}
alone=$(write_all)
rm "$work/mnt/other"
[ "$alone" -gt 24 ] || fail "there are only $alone MiB"

"$e4repack" --rate=500K "$work/mnt" >"$out" 2>"$err" &
pid=$!
defer "kill $pid 2>/dev/null"
for _ in $(seq 100); do
	donor=$(find "/proc/$pid/fd" -lname '*(deleted)' 2>/dev/null || :)
	[ -z "$donor" ] || break
	sleep 0.05
done
[ "$donor" ] || { show_run; fail "e4repack reserves no space"; }
same "MiB that fit in" "$(write_all)" "$alone"
wait "$pid" || { show_run; fail "e4repack failed"; }
undefer "kill $pid 2>/dev/null"
grep -q '^Skipped: .*the remaining free space is reserved for other programs' \
	"$out" || { show_run; fail "the reason for the end is missing"; }
md5sum --quiet -c "$work/sums" || fail "other contents"

# If only the reserve is free, nothing is copied.
check "$e4repack" --json "$work/mnt"
same "bytes copied" "$(json "$out" 'd["done"]["bytes_copied"]')" 0
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
