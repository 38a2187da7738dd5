#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With the feature mmp, the MMP block of a new filesystem has the state "clean"
# and names the writer: the filesystem can be mounted, checked and filled again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

mkdir "$work/src"
seq 30000 >"$work/src/file"
cd "$work"

# nobody_has IMAGE NAME: fails unless the MMP block is free, and names this host
# and the device NAME
nobody_has() {
	check debugfs -R dump_mmp "$1"
	for line in 'sequence: ff4d4d50' "node_name: $(uname -n)" \
		"device_name: $2" 'check_interval: 5'; do
		grep -qx "$line" "$out" || { show_run; fail "$1: no $line"; }
	done
	sound "$1"
}

check "$mke4fs" -q -O mmp -d src img
nobody_has img img
check "$mke4fs" -q -F -O mmp,^metadata_csum -d src img
nobody_has img img
check "$mke4fs" -q -O mmp --from=img img2 16M
nobody_has img2 img2
rm img2
check "$mke4fs" -q -O mmp img2 16M
nobody_has img2 img2

# The filesystem begins after the start of the device.
check "$mke4fs" -q -O mmp -E offset=1048576 -d src part 16M
tail -c +1048577 part >img2
nobody_has img2 part

# A longer update interval of MMP is kept.
rm img2
check "$mke4fs" -q -O mmp -E mmp_update_interval=20 -d src img2 16M
check debugfs -R dump_mmp img2
grep -qx 'check_interval: 20' "$out" || fail "the interval"

# The image has the same bytes on every host, because it has no host name, file
# name or time.
for name in one another; do
	SOURCE_DATE_EPOCH=1700000000 "$mke4fs" -q -O mmp -d src \
		-U 0b5a6c3e-7a0f-4d0e-9f1e-3d1c5a0c9a10 \
		-E hash_seed=9f8c1c1e-3b7c-4a60-8a35-1d1d0a4f7a55 $name 16M ||
		fail "no image"
done
cmp one another >&2 || fail "the images differ"
check debugfs -R dump_mmp one
grep -qx 'node_name: ' "$out" || fail "a host is named"
sound one

# The kernel mounts a device, after waiting for other hosts.
require_loop
truncate -s 16M disk
attach disk
check "$mke4fs" -q -O mmp -d src "$loop"
nobody_has "$loop" "$loop"
mkdir mnt
check mount -t ext4 "$loop" mnt
defer "umount '$work/mnt' 2>/dev/null"
cmp src/file mnt/file >&2 || fail "other content"
touch mnt/more
check umount mnt
sound "$loop"
