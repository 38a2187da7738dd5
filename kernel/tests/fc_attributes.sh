# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: after replay, i_blocks of a file with an extended attribute
# block is correct.
. "$(dirname "$0")/common.sh"

# left: print how many of 4096 synced bytes survive a power cut
left() {
	new_disk 32 -O fast_commit
	: >"$work/empty"
	head -c 3000 /dev/zero | tr '\0' a >"$work/value"
	debugfs -w -R "write $work/empty f" "$disk" >/dev/null 2>&1
	debugfs -w -R "ea_set -f $work/value f user.a" "$disk" >/dev/null 2>&1
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		sync
		head -c 4096 /dev/zero | tr '\\0' y |
			dd of=/mnt/f bs=4096 conv=notrunc 2>/dev/null
		sync /mnt/f
		poweroff -f -n
	END
	replayed || return 0
	bytes_of y /f
}

kernel=$stock
echo "stock: $(left 2>"$work/err")"
kernel=$patched
got=$(left)
[ "$got" = 4096 ] || fail "$got, not 4096"
echo "ok: blocks of files with attributes"
