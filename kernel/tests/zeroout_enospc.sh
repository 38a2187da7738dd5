# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# No block is free for the extent tree while a preallocated file is written to.
# All writes succeed, and the 0xAA that filled the disk is never read.
. "$(dirname "$0")/common.sh"

for how in direct sync; do
	garbage_disk 32 -m 0 -O ^has_journal
	boot <<-END >"$work/got"
		mount -t ext4 -o extent_max_zeroout_kb=12 \$disk /mnt || exit 1
		echo 0 >/sys/fs/ext4/\${disk#/dev/}/reserved_clusters
		free=\$(df -k /mnt | awk 'END { print \$4 }')
		fallocate -l \$((free - 4096 * 4 - 8))k /mnt/rest || exit 1
		writes random $how /mnt/f 4096 2000 1 || exit 1
		writes check /mnt/f 4096 2000 1 || exit 1
		df -k /mnt | awk 'END { print "free", \$4 }'
		umount /mnt
	END
	clean
	[ "$(cat "$work/got")" = "free 0" ] || fail "there was room"
	echo "ok: $how, $(extents /f) extents"
done
