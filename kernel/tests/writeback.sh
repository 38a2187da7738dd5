# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/writeback only: random writes to a preallocated file, and one
# fsync() at the end, on a disk on which a write takes 4 ms.
. "$(dirname "$0")/common.sh"
writes=${WRITEBACK_WRITES:-1500}
printf '%-22s%9s%9s%9s%9s%9s%9s\n' "" reads blocks writes blocks s "cpu ms"

# written NAME KERNEL OPTIONS: write the file, and print the number of disk
# writes
written() {
	new_disk 128
	kernel=$2
	boot <<-END
		delay \$disk 0 4
		on=/dev/dm-0
		. /guest/functions.sh
		mount -t ext4 -o $3 \$on /mnt || exit 1
		step "$1" writes random late /mnt/f $((writes * 8)) $writes 1
		umount /mnt
	END
	clean
	echo "$(extents /f) extents" | sed 's/^/                      /'
}
written stock "$stock" defaults
written "stock-dioread_lock" "$stock" dioread_lock
written patched "$patched" defaults
for kb in 32 64 128 256 512 1024; do
	written "patched-$kb-KiB" "$patched" extent_max_zeroout_kb=$kb
done
