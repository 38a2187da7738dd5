# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/plug only, with a kernel without plugging as $stock.
. "$(dirname "$0")/common.sh"
files=${PLUG_FILES:-1000}	# number in each of eight directories

# written NAME: write the files, and print the number of disk writes
written() {
	new_disk 512 -N 65536
	boot <<-END >"$work/got"
		stat() {
			awk '{ print \$5, \$6, \$7 }' /sys/block/\${disk#/dev/}/stat
		}
		mount -t ext4 \$disk /mnt || exit 1
		stat
		trees create /mnt 8 $files 4096 >/dev/null
		sync
		stat
		umount /mnt
	END
	clean
	awk -v name="$1" 'NR == 1 { w = $1; m = $2; s = $3; next } {
		w = $1 - w
		printf "%-12s%7d writes of %6.1f KiB, %6d merged\n", name, w,
			($3 - s) / 2 / w, $2 - m
	}' "$work/got"
}

echo "$((8 * files)) files of 4 KiB in 8 directories"
kernel=$stock
written "without"
kernel=$patched
written "with plug"
