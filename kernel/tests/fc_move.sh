# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: data that is written and synced after EXT4_IOC_MOVE_EXT survives a
# power cut.
. "$(dirname "$0")/common.sh"

# survives: print the number (1 or 2) of the write to block 0 of /f that
# survives
survives() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		fallocate -l 64k /mnt/f
		fallocate -l 64k /mnt/donor
		writes once direct /mnt/f 0 0 || exit 1
		sync
		move /mnt/f /mnt/donor 16 || exit 1
		writes once direct /mnt/f 0 1 || exit 1
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	recover
	debugfs -R "cat /f" "$disk" 2>/dev/null | od -An -tu4 -j4 -N4 |
		tr -d ' '
}

kernel=$stock
echo "stock: of two writes, $(survives) survives"
kernel=$patched
for try in 1 2 3; do
	got=$(survives)
	[ "$got" = 2 ] || fail "write 2 is lost: ${got:-nothing}"
done
echo "ok: written after blocks were moved"
