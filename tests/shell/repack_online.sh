#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack on a mounted filesystem repacks some files, and skips other files
# with a reason.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program python3 fincore

truncate -s 1G "$work/img"
mke2fs -q -t ext4 "$work/img"
mount_image "$work/img" "$work/mnt"
mkdir "$work/mnt/small" "$work/mnt/other"

python3 - "$work/mnt" <<'EOF'
import os
import sys
top = sys.argv[1]

def mosaic(name, blocks):
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    os.posix_fallocate(fd, 0, blocks * 4096)
    for i in range(0, blocks, 2):
        os.pwrite(fd, bytes([1 + i % 255]) * 4096, i * 4096)
    os.fsync(fd)
    os.close(fd)

def interleaved(names, pieces, mode=0o644):
    fds = [os.open(n, os.O_RDWR | os.O_CREAT, mode) for n in names]
    for k in range(pieces):
        for fd in fds:
            os.posix_fallocate(fd, k * 4096, 4096)
    for fd in fds:
        for k in range(pieces):
            os.pwrite(fd, bytes([1 + k]) * 4096, k * 4096)
        os.close(fd)

mosaic(top + "/mosaic", 16384)
mosaic(top + "/open", 512)
interleaved([f"{top}/small/{i}" for i in range(200)], 8)
interleaved([f"{top}/other/{i}" for i in range(20)], 8)
interleaved([top + "/a.out", top + "/b.out"], 8, 0o755)
# A file is not skipped only because of its execute permission.
for name, head in ("a.out", b"\177ELF"), ("b.out", b"data"):
    with open(f"{top}/{name}", "r+b") as f:
        f.write(head)
EOF
(cd "$work/mnt" && find . -type f -exec md5sum {} +) >"$work/sums"
stamps() { (cd "$work/mnt" && find . -type f -printf '%p %T@ %s %m\n' | sort); }
stamps >"$work/times"
intact() {
	(cd "$work/mnt" && md5sum --quiet -c "$work/sums") ||
		fail "other contents"
	stamps | cmp -s "$work/times" - || fail "other times"
}
fragments() { filefrag "$@" | sed 's/.*: \([0-9]*\) ex.*/\1/' | sort -n | tail -1; }
# left PATTERN: fails unless the report has a matching reason
left() { grep -q "^Skipped: .*$1" "$out" || { show_run; fail "not left: $1"; }; }

# With a directory as argument, only its files are repacked.  Pages that were
# not cached are not cached afterwards.
cached() { fincore -nb -o PAGES "$@" | awk '{ n += $1 } END { print n }'; }
sync -f "$work/mnt"
for f in "$work"/mnt/other/*; do
	dd if="$f" iflag=nocache count=0 status=none
done
cat "$work/mnt/other/7" >/dev/null
same "pages in memory before" "$(cached "$work"/mnt/other/*)" 8
check "$e4repack" --json "$work/mnt/other"
same 'counts, with the directory' "$(json "$out" '[d["before"]["fragments"],
	d["after"]["fragments"], d["after"]["extents"],
	d["before"]["tree_blocks"], d["after"]["tree_blocks"]]')" '[161, 21, 21, 20, 0]'
same "pages in memory" "$(cached "$work"/mnt/other/*)" 8
same "pages of the file that was read" "$(cached "$work/mnt/other/7")" 8
[ "$(fragments "$work"/mnt/other/*)" = 1 ] || fail "other/ is fragmented"
[ "$(fragments "$work"/mnt/small/*)" -gt 1 ] || fail "small/ was not asked for"

# Excluded files are not moved, and a second run copies nothing.
check "$e4repack" --exclude="$work/mnt/small" --only=files "$work/mnt"
[ "$(fragments "$work"/mnt/small/*)" -gt 1 ] || fail "small/ was excluded"
check "$e4repack" --exclude="$work/mnt/small" --only=files "$work/mnt"
grep -q '^Copied  *[1-9]' "$out" && fail "something was copied"
left executable

# Unwritten extents stay unwritten.  Files that other programs have open are
# repacked.
exec 8<"$work/mnt/open"
touch -a -d @1000000000 "$work"/mnt/small/*
check "$e4repack" --zeroout=1M "$work/mnt"
left 'the extents can be merged only while the filesystem is unmounted'
exec 8<&-
same "times of access" "$(find "$work"/mnt/small -type f -printf '%A@\n' |
	sort -u)" 1000000000.0000000000
[ "$(fragments "$work"/mnt/small/*)" = 1 ] || fail "small/ is fragmented"
extents=$(filefrag -v "$work/mnt/mosaic" | grep -c '^ *[0-9]*:')
[ "$extents" -ge 16384 ] || fail "the mosaic has $extents extents"
intact

# The next run has nothing to do.
check "$e4repack" --json --zeroout=1M "$work/mnt"
same "what the next does" "$(json "$out" '[d["online"],
	d["done"]["bytes_copied"], d["done"]["bytes_zeroed"]]')" '[True, 0, 0]'
intact

# e4repack leaves a reserve of free space to other programs
interleave() {
	python3 - "$work/mnt" <<'EOF'
import os
import sys
fds = [os.open(f"{sys.argv[1]}/late{i}", os.O_RDWR | os.O_CREAT, 0o644)
       for i in range(2)]
for k in range(2000):
    for fd in fds:
        os.posix_fallocate(fd, k * 4096, 4096)
EOF
}
interleave
free=$(stat -fc %a "$work/mnt")
all=$(stat -fc %b "$work/mnt")
fallocate -l $(((free - all / 100 + 100) * 4096)) "$work/mnt/ballast"
check "$e4repack" "$work/mnt"
left 'the remaining free space is reserved for other programs'
rm "$work/mnt/ballast"

# The run respects a limit of the file size.
check sh -c 'ulimit -f 100 && exec "$@"' sh "$e4repack" "$work/mnt"
left 'a limit of the file size (ulimit -f) prevents reserving space'

# A kill leaves no files behind.
used=$(stat -fc %f "$work/mnt")
for i in 1 2 3 4 5 6 7 8; do
	"$e4repack" -q --rate=1M "$work/mnt" &
	sleep "0.0$i"
	kill -9 $! 2>/dev/null || :
	wait $! || :
done
sync -f "$work/mnt"
[ "$(stat -fc %f "$work/mnt")" -ge "$((used - 64))" ] || fail "a donor is left"
rm "$work"/mnt/late*
intact

mount -o remount,ro "$work/mnt"
mustfail 1 "$e4repack" "$work/mnt"
one_sentence e4repack
says 'mounted read-only on'
umount "$work/mnt"
undefer "umount '$work/mnt'"
sound "$work/img"
