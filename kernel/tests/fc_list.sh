# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits and the orphan list: the power is cut during a direct write that
# extends a file, or after rmdir.  Synced data survives, and the filesystem has
# no errors.
. "$(dirname "$0")/common.sh"

# left HOW FEATURE: print how many of 4096 synced bytes survive a power cut
left() {
	new_disk 32 -O "fast_commit,$2"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		umount /mnt
		delay \$disk 0 100
		mount -t ext4 -o noatime,commit=300 /dev/dm-0 /mnt || exit 1
		extend $1 /mnt || exit 1
	END
	replayed || return 0
	bytes_of y /g
}

# removed FIRST FEATURE: print how many of 4096 bytes survive that were written to
# /new and synced after rmdir.  If FIRST is empty, /new reuses the inode number of the
# directory; otherwise, /new is older than the directory.
removed() {
	new_disk 32 -O "fast_commit,$2"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		[ ! "$1" ] || : >/mnt/new
		mkdir /mnt/d
		sync
		rmdir /mnt/d
		head -c 4096 /dev/zero | tr '\\0' y >/mnt/new
		sync /mnt/new
		poweroff -f -n
	END
	replayed || return 0
	bytes_of y /new
}

features="orphan_file ^orphan_file"
for how in logged listed unlinked; do
	for feature in $features; do
		kernel=$stock
		echo "stock: $how, $feature: $(left "$how" "$feature" 2>"$work/err")"
		kernel=$patched
		got=$(left "$how" "$feature")
		[ "$got" = 4096 ] || fail "$how, $feature: $got"
	done
done
for first in "" first; do
	for feature in $features; do
		kernel=$stock
		echo "stock: rmdir, ${first:-its inode}, $feature:" \
			"$(removed "$first" "$feature" 2>"$work/err")"
		kernel=$patched
		got=$(removed "$first" "$feature")
		[ "$got" = 4096 ] || fail "rmdir, ${first:-its inode}, $feature: $got"
	done
done
echo "ok: no errors beside direct writes that extend a file, or after rmdir"
