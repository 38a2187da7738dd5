# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Several processes write to a preallocated file at the same time, in many ways.
# Zeroes never overwrite data in flight. With each patch of linux-6.12/guards
# that names this test, the test fails.
. "$(dirname "$0")/common.sh"

hows="De Dee Dm Bm Dn Bn Dz Bz Bzm BDn"
new_disk 160
boot <<-END >"$work/got"
	for kb in 16 32; do
		mount -t ext4 -o extent_max_zeroout_kb=\$kb \$disk /mnt || exit 1
		for how in $hows; do
			races /mnt/\$how 40 \$kb \$how 2>&1 || bad=yes
		done
		rest /mnt/rest 2>&1 || bad=yes
		umount /mnt
	done
	[ ! "\$bad" ] || exit 1
END
clean
echo "ok: $hows"
