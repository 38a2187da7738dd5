# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: if a block was zeroed out, data that is written to the block and
# synced survives a power cut.
. "$(dirname "$0")/common.sh"

# left OPTIONS: print how many of the last 4096 synced bytes survive a power cut
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

# nowhere: print how many of the synced bytes of block 30 survive if no block is
# free to split the extent
nowhere() {
	new_disk 32 -m 0 -O fast_commit
	cut_power <<-END >"$work/said"
		mount -t ext4 -o noatime,dioread_lock,commit=600 \$disk /mnt ||
			exit 1
		cd /sys/fs/ext4/\${disk#/dev/} || exit 1
		echo 0 >extent_max_zeroout_kb
		echo 0 >reserved_clusters
		put() {
			yes | tr -d '\n' | dd of=/mnt/f bs=4096 seek=\$1 count=1 \
				conv=notrunc\$2 iflag=fullblock 2>/dev/null
		}
		: >/mnt/g
		sync
		echo x >/mnt/g
		sync
		fallocate -l 160k /mnt/f
		sync
		put 0 ,fsync
		put 3 ,fsync
		yes | head -c 65536 >/mnt/small
		sync
		fallocate -l \$(df -k /mnt | awk 'END { print \$4 }')k /mnt/rest
		n=0
		while dd if=/dev/zero of=/mnt/r\$n bs=4k count=1 conv=fsync \
			2>/dev/null && [ \$n -lt 50 ]; do
			n=\$((n + 1))
		done
		rm -f /mnt/r\$n
		sync
		put 20
		rm /mnt/small
		put 30
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	replayed || return 0
	debugfs -R 'cat /f' "$disk" 2>/dev/null | tail -c +122881 |
		head -c 4096 | tr -dc y | wc -c
}

ways="dioread_lock nodelalloc defaults"
kernel=$stock
for how in $ways; do
	echo "stock: $how: $(left "$how") (4096 were written)"
done
echo "stock: no room: $(nowhere 2>"$work/err") (4096 were written)"
kernel=$patched
got=$(nowhere)
[ "$got" = 4096 ] || fail "no room: $got, not 4096"
for how in $ways; do
	got=$(left "$how")
	[ "$got" = 4096 ] || fail "$how: $got, not 4096"
done
echo "ok: synced where an extent was zeroed before"
