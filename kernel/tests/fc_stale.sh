# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# releases: 7.2 7.3
# Fast commits with data=ordered: a file whose blocks were allocated while a fast
# commit wrote back data does not expose old contents of the disk.  Each write to
# the disk takes 200 ms.
. "$(dirname "$0")/common.sh"

# stale: print how many bytes of /n are 0xAA, the byte that filled the disk
stale() {
	garbage_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,nodelalloc,dioread_lock,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		: >/mnt/n
		: >/mnt/big
		umount /mnt
		delay \$disk 0 200
		mount -t ext4 -o noatime,nodelalloc,dioread_lock,commit=300 /dev/dm-0 /mnt ||
			exit 1
		: >/mnt/h
		sync
		yes | dd of=/mnt/big bs=64k count=4 iflag=fullblock conv=notrunc 2>/dev/null
		chmod 600 /mnt/n
		touch /mnt/g
		{ sync /mnt/g || exit 1; poweroff -f -n; } &
		usleep 60000
		yes | dd of=/mnt/n bs=64k count=1 iflag=fullblock conv=notrunc 2>/dev/null
		wait
	END
	replayed || return 0
	debugfs -R "cat /n" "$disk" 2>/dev/null | tr -dc '\252' | wc -c
}

kernel=$stock
echo "stock: $(stale 2>"$work/err") bytes of old contents"
kernel=$patched
complains=
got=$(stale)
[ "$got" = 0 ] || fail "$got bytes of old contents"
echo "ok: no file exposes old contents of the disk"
