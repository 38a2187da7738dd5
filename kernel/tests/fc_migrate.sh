# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# With fast commits: what a file has is there after the power was cut, when it
# was mapped by extents, or block by block, and synced after that.  Its two blocks
# are allocated at once: chattr -e takes no file in two extents.
. "$(dirname "$0")/common.sh"

# left FROM TO: which write is in block 0 of /f, of 1, and in block 1, of 2
left() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,nodelalloc \$disk /mnt || exit 1
		: >/mnt/f
		migrate $1 /mnt/f || exit 1
		dd if=/dev/zero of=/mnt/f bs=8k count=1 conv=notrunc \
			oflag=direct 2>/dev/null || exit 1
		writes once direct /mnt/f 0 0 || exit 1
		writes once direct /mnt/f 1 0 || exit 1
		sync
		migrate $2 /mnt/f || exit 1
		writes once direct /mnt/f 1 1 || exit 1
		dd if=/dev/null of=/mnt/f count=0 conv=notrunc,fsync \
			2>/dev/null || exit 1
		poweroff -f -n
	END
	mounted || return 0
	for block in 0 1; do
		debugfs -R "cat /f" "$disk" 2>/dev/null |
			od -An -tu4 -j$((block * 4096 + 4)) -N4 | tr -d ' \n'
		echo
	done | paste -sd ' '
}

# mounted: the kernel replays the journal, and then the disk has no errors
mounted() {
	[ "$kernel" = "$patched" ] || complains=ok
	start <<-END
		mount -t ext4 \$disk /mnt && umount /mnt
	END
	e2fsck -fn "$disk" >"$work/fsck" 2>&1 && return
	echo "errors"
	return 1
}

kernel=$stock
echo "stock: extents, $(left blocks extents 2>"$work/err") (1 2 was written)"
echo "stock: blocks, $(left extents blocks 2>"$work/err") (1 2 was written)"
kernel=$patched
for try in 1 2 3; do
	got=$(left blocks extents)
	[ "$got" = "1 2" ] || fail "to extents: ${got:-nothing}, not 1 2"
	got=$(left extents blocks)
	[ "$got" = "1 2" ] || fail "to blocks: ${got:-nothing}, not 1 2"
done
echo "ok: synced after it was mapped in another way"
