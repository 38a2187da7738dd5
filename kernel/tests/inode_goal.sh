# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# series: fixes
# With an inode goal, inodes before the goal are also used.
. "$(dirname "$0")/common.sh"

# unused: print the number of free inodes when no more file can be created
unused() {
	new_disk 16 -N 256
	boot <<-END >/dev/null
		mount -t ext4 \$disk /mnt || exit 1
		echo 200 >/sys/fs/ext4/\${disk#/dev/}/inode_goal
		trees fill /mnt
		umount /mnt
	END
	clean
	dumpe2fs -h "$disk" 2>/dev/null | sed -n 's/^Free inodes: *//p'
}

kernel=$stock
echo "stock: $(unused) inodes cannot be used"
kernel=$patched
left=$(unused)
[ "$left" = 0 ] || fail "$left inodes cannot be used"
echo "ok: all inodes, with a goal"
