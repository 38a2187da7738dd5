# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Several processes write a preallocated file at once, in every way: no zeroes
# go over what is in flight.  The kernels of kernel/guards fail here.
. "$(dirname "$0")/common.sh"

new_disk 64
boot <<-END >"$work/got"
	mount -t ext4 -o extent_max_zeroout_kb=256 \$disk /mnt || exit 1
	for seed in 1 2; do
		for how in dddd ddmm dddz bbdm bbbb dmz ddddz dddddddd; do
			races /mnt/\$how 600 \$seed \$how || bad=yes
		done
	done
	[ ! "\$bad" ] || exit 1
	umount /mnt
END
clean
for how in dddd dddz ddmm dddddddd; do
	echo "ok: $how, $(extents "/$how") extents"
done
