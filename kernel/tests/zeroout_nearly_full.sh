# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# On a nearly full disk, a page fault in a hole allocates a block at once, and
# does not wait for concurrent direct writes. The direct writes are not
# overwritten with zeroes. Each write takes 20 ms. With one CPU, no disk counts
# as nearly full without guards/watermark.patch.
. "$(dirname "$0")/common.sh"
cells=${NEARLY_FULL_CELLS:-20}

new_disk 32 -m 0
boot <<-END
	delay \$disk 0 20
	mount -t ext4 -o extent_max_zeroout_kb=32 /dev/dm-0 /mnt || exit 1
	echo 0 >/sys/fs/ext4/dm-0/reserved_clusters
	free=\$(df -k /mnt | awk 'END { print \$4 }')
	fallocate -l \$((free - $cells * 128 - 64))k /mnt/rest || exit 1
	races /mnt/f $cells 1 Df 2>&1 || exit 1
	df -k /mnt | awk 'END { exit \$4 > 128 * 4 }' || exit 1
	umount /mnt
END
clean
echo "ok: a page fault beside direct writes"
