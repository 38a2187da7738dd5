# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# Preallocated blocks beyond the end of a file stay unwritten. After a long
# direct write has ended, blocks before the end of the file may be zeroed around
# another direct write.
. "$(dirname "$0")/common.sh"
new_disk 64
boot <<-END
	mount -t ext4 -o extent_max_zeroout_kb=1024 \$disk /mnt || exit 1
	writes eof sync /mnt/sync && writes eof direct /mnt/direct || exit 1
	fallocate -l 1536k /mnt/long
	dd if=/dev/zero of=/mnt/long bs=1M count=1 oflag=direct conv=notrunc \
		2>/dev/null || exit 1
	writes once direct /mnt/long 300 0 || exit 1
	umount /mnt
END
clean	# e2fsck expects a size that includes all written blocks
for how in sync direct; do
	[ "$(extents /$how)" = 3 ] || fail "$how: $(extents /$how) extents, not 3"
done
[ "$(extents /long)" = 1 ] || fail "$(extents /long) extents after a long write"
echo "ok: past the end of the file"
