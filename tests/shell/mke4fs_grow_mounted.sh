#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A filesystem made with --grow-to grows while it is mounted, as at the first
# boot.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_program resize2fs
require_loop
cd "$work"
mkdir src
echo content >src/file
need_theirs
check "$mke4fs" -q --grow-to=3G -d src img
truncate -s 3G img
mount_image img mnt
run resize2fs "$loop"
if grep -q 'Permission denied to resize filesystem' "$err"; then
	skip "the kernel lets us resize nothing that is mounted" \
		"(CAP_SYS_RESOURCE)"
fi
same "resize2fs" "$status" 0
umount mnt
grown img
