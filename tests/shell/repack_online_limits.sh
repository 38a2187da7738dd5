#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A repack of a mounted filesystem keeps the limits of --only=free, --free-run
# and --max-bytes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program filefrag

# The filesystem has many small free extents between small files, and one
# fragmented file.
truncate -s 256M "$work/img"
mke2fs -q -t ext4 -b 4096 "$work/img"
mount_image "$work/img" "$work/mnt"
/usr/bin/python3 - "$work/mnt" <<'END'
import os, sys
top = sys.argv[1]
vfs = os.statvfs(top)
n = vfs.f_bavail * 9 // 160
for i in range(n):
    with open(f"{top}/f{i}", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, 65536)
        f.write(bytes([1 + i % 251]) * 65536)
fd = os.open(top, os.O_RDONLY)
for i in range(0, n, 3):
    os.unlink(f"{top}/f{i}")
os.fsync(fd)
with open(f"{top}/big", "wb") as f:
    for k in range(40):
        os.pwrite(f.fileno(), bytes([1 + k]) * 65536, k * 65536)
        os.fsync(f.fileno())
END
sync -f "$work/mnt"
umount "$work/mnt"
undefer "umount '$work/mnt'"
losetup -d "$loop"
undefer "losetup -d $loop"
cp --sparse=always "$work/img" "$work/img0"

# fresh: mounts a new copy of the image
fresh() {
	cp --sparse=always "$work/img0" "$work/img"
	mount_image "$work/img" "$work/mnt"
	[ -e "$work/sums" ] || (cd "$work/mnt" && md5sum f* big) >"$work/sums"
}

# finish: fails unless the contents of all files are unchanged and the
# filesystem is sound
finish() {
	(cd "$work/mnt" && md5sum --quiet -c "$work/sums") || fail "other contents"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	losetup -d "$loop"
	undefer "losetup -d $loop"
	sound "$work/img"
}

layout() { json "$out" "d[\"$1\"][\"$2\"]"; }

fresh
check "$e4repack" --json --only=free "$work/mnt"
[ "$(layout after largest_free_blocks)" -ge $(($(layout before largest_free_blocks) * 2)) ] ||
	{ show_run; fail "--only=free: the largest free extent"; }
[ "$(layout after free_extents)" -lt "$(layout before free_extents)" ] ||
	{ show_run; fail "--only=free: free extents"; }
free=$(layout "done" bytes_copied)
finish

fresh
check "$e4repack" --json --only=free --free-run=2M "$work/mnt"
[ "$(layout "done" bytes_copied)" -lt "$free" ] ||
	{ show_run; fail "--free-run copies as much as no limit"; }
finish

fresh
check "$e4repack" --json --max-bytes=1M "$work/mnt"
[ "$(layout "done" bytes_copied)" -le 1048576 ] || { show_run; fail "--max-bytes"; }
check "$e4repack" --json --max-bytes=0 "$work/mnt"
same "bytes copied with --max-bytes=0" "$(layout "done" bytes_copied)" 0
finish
