# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# dir_ireserve where it is not easy: inode tables that were never zeroed, no
# inodes left, windows found again after remounts, the power cut.
. "$(dirname "$0")/common.sh"
on=dir_ireserve=normal

# Inode tables full of garbage, and nobody zeroes them.
rm -f "$disk"
yes "this was a file once and looks like an inode" | head -c 64M >"$disk"
mke2fs -q -F -t ext4 -b 4096 -N 16384 -g 8192 -E nodiscard,lazy_itable_init=1 \
	"$disk"
boot <<-END
	mount -t ext4 -o $on,noinit_itable \$disk /mnt || exit 1
	trees create /mnt 50 15 >/dev/null
	umount /mnt
END
clean
echo "ok: inode tables that were never zeroed"

# All inodes can be used, and as many as without.
for options in dir_ireserve=off $on; do
	new_disk 64 -N 4096 -g 4096
	boot <<-END >"$work/got"
		mount -t ext4 -o $options \$disk /mnt || exit 1
		trees create /mnt 20 15 >/dev/null
		trees fill /mnt/d00000
		umount /mnt
	END
	clean
	free=$(dumpe2fs -h "$disk" 2>/dev/null | sed -n 's/^Free inodes: *//p')
	[ "$free" = 0 ] || fail "$options: $free inodes were not used"
	sed "s/$/ files until no inode is left, $options/" "$work/got"
done
echo "ok: all inodes"

# A directory that grows over ten remounts is where one is that grew at once.
new_disk 256 -N 65536
boot <<-END >"$work/got"
	mount -t ext4 -o $on \$disk /mnt || exit 1
	for d in 0 1 2 3 4; do mkdir /mnt/d0000\$d; done
	n=0
	while [ \$n -lt 300 ]; do
		for d in 0 1 2 3 4; do : >/mnt/d0000\$d/file\$n; done
		n=\$((n + 1))
		[ \$((n % 30)) != 0 ] || {
			umount /mnt
			mount -t ext4 -o $on \$disk /mnt || exit 1
		}
	done
	trees locality /mnt 5 16
	umount /mnt
END
clean
# 301 inodes fill 19 blocks; in windows of 64, 128, 256 they take a few more
[ "$(cat "$work/got")" -le 2800 ] ||
	fail "$(cat "$work/got")/100 blocks for 301 inodes"
echo "ok: found again after remounts, $(cat "$work/got")/100 blocks for 301 inodes"

# The power is cut while directories and files come and go.
for round in 1 2 3; do
	new_disk 64 -N 16384
	cut_power <<-END >/dev/null
		mount -t ext4 -o $on,commit=1 \$disk /mnt || exit 1
		trees script /mnt $round 100000 0 &
		trees script /mnt $round 100000 1 &
		sleep 1.$round
		poweroff -f -n
	END
	recover
done
echo "ok: the power was cut three times"
