# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Extents of a preallocated file after random writes of 4 KiB, each to disk
# before the next, by chunk limit: a default mount of the patched kernel must
# give what the stock kernel gives with dioread_lock, buffered and direct.
. "$(dirname "$0")/common.sh"
blocks=${ZEROOUT_BLOCKS:-8192}
writes=$((blocks / 8))
limits="0 28 64 128 256 512 1024"

# table HOW OPTIONS: the counts, by limit
table() {
	new_disk $((blocks * 9 / 256 + 64))
	# shellcheck disable=SC2154
	boot <<-END >/dev/null
		for kb in $limits; do
			mount -t ext4 -o $2 \$disk /mnt
			echo \$kb >/sys/fs/ext4/\${disk#/dev/}/extent_max_zeroout_kb
			writes random $1 /mnt/\$kb $blocks $writes 1 || exit 1
			umount /mnt
			mount -t ext4 \$disk /mnt
			writes check /mnt/\$kb $blocks $writes 1 || exit 1
			umount /mnt
		done
	END
	clean
	for kb in $limits; do
		extents "/$kb"
	done | tr '\n' ' '
}

printf '%-34s%s\n' "chunk limit, KiB" "$limits"
kernel=$stock
default=$(table sync defaults)
printf '%-34s%s\n' "stock, default mount, buffered" "$default"
want=$(table sync dioread_lock)
printf '%-34s%s\n' "stock, dioread_lock, buffered" "$want"
kernel=$patched
for how in sync direct; do
	got=$(table $how defaults)
	printf '%-34s%s\n' "patched, default mount, $how" "$got"
	# a commit in between makes the stock kernel's own counts differ a little
	echo "$want $got" | awk '{
		for (i = 1; i <= NF / 2; i++) {
			off = $i - $(i + NF / 2)
			if (off < 0 ? -off > $i / 50 + 2 : off > $i / 50 + 2)
				exit 1
		}
	}' || fail "the tables differ by more than 2 %"
done
