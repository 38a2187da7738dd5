# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Several processes write, zero, punch and truncate a file while its extents are
# joined repeatedly. No data is lost, and the 0xAA that filled the disk is never
# read. With each patch of linux-6.12/guards that names this test, the test
# fails.
. "$(dirname "$0")/common.sh"
count=${JOIN_COUNT:-400}

hows="A D S M B BDMST BADMST AAAA"
garbage_disk 64
boot <<-END
	mount -t ext4 \$disk /mnt || exit 1
	for how in $hows; do
		join beside /mnt/\$how 768 1 $count \$how 2>&1 || bad=yes
	done
	umount /mnt
	[ ! "\$bad" ] || exit 1
END
clean

garbage_disk 64 -b 1024
boot <<-END
	export BLOCK_BYTES=1024
	mount -t ext4 \$disk /mnt || exit 1
	join beside /mnt/small 768 1 $count ADTAD 2>&1 || exit 1
	umount /mnt
END
clean
echo "ok: beside writers of all kinds"
