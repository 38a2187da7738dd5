# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# With fast commits: what is written and synced where an extent was zeroed before
# is there after the power was cut.
. "$(dirname "$0")/common.sh"

# left OPTIONS: how many bytes of 4096 are there of what was synced last
left() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,$1 \$disk /mnt || exit 1
		put() {
			yes | tr -d '\n' | dd of=/mnt/f bs=4096 seek=\$1 count=1 \
				conv=notrunc,fsync iflag=fullblock 2>/dev/null ||
				exit 1
		}
		: >/mnt/g
		sync
		echo x >/mnt/g
		sync
		fallocate -l 32k /mnt/f
		sync
		put 2
		put 3
		poweroff -f -n
	END
	replay
	e2fsck -fn "$disk" >"$work/fsck" 2>&1 || fail "$1: $(cat "$work/fsck")"
	debugfs -R 'cat /f' "$disk" 2>/dev/null | tail -c +12289 |
		head -c 4096 | tr -dc y | wc -c
}

ways="dioread_lock nodelalloc defaults"
kernel=$stock
for how in $ways; do
	echo "stock: $how: $(left "$how") (4096 were written)"
done
kernel=$patched
for how in $ways; do
	got=$(left "$how")
	[ "$got" = 4096 ] || fail "$how: $got, not 4096"
done
echo "ok: synced where an extent was zeroed before"
