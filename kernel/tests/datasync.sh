# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Direct O_DSYNC writes on a disk without a volatile cache: with fast commits in an
# ineligible transaction, and without a journal, a write that was acknowledged
# survives a power cut. swapon accepts a file that was synced.
. "$(dirname "$0")/common.sh"

# written OPTIONS COMMAND...: on a disk with $feature, print the number (1 or 2)
# of the last write to block 0 of $file that survives a power cut. COMMAND
# writes after the transaction became ineligible.
written() {
	options=$1
	shift
	new_disk 32 -O $feature
	cut_power <<-END >/dev/null
		mount -t ext4 -o "$options" \$disk /mnt || exit 1
		echo "write through" >/sys/block/\${disk#/dev/}/queue/write_cache
		mkdir /mnt/a /mnt/b /mnt/a/d
		fallocate -l 64k /mnt/f
		: >/mnt/g
		sync
		mv /mnt/a/d /mnt/b/d
		$*
		poweroff -f -n
	END
	case $feature in
	^has_journal) repair; clean ;;
	*) recover ;;
	esac
	debugfs -R "cat $file" "$disk" 2>/dev/null | od -An -tu4 -j4 -N4 |
		tr -d ' '
}

# twice FILE: write to FILE without O_DSYNC, which allocates the block or
# converts the extent, and then with O_DSYNC
twice() {
	file=$1
	written defaults "writes once direct /mnt$1 0 0 || exit 1;" \
		"writes once dsync /mnt$1 0 1 || exit 1"
}

# swaps: succeed if swapon accepts a file that was just written
swaps() {
	new_disk 64 -O $feature
	boot <<-END >"$work/said" 2>&1
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		touch /mnt/g
		sync
		dd if=/dev/zero of=/mnt/swap bs=1M count=4 2>/dev/null
		chmod 600 /mnt/swap
		busybox mkswap /mnt/swap >/dev/null &&
			busybox swapon /mnt/swap && busybox swapoff /mnt/swap &&
			umount /mnt
	END
}

for feature in fast_commit ^has_journal; do
	(swaps) || fail "swapon: $(cat "$work/said")"
	for file in /g /f; do
		kernel=$stock
		got=$(twice $file)
		echo "stock, $feature, $file: ${got:-none} of two writes"
		kernel=$patched
		got=$(twice $file)
		[ "$got" = 2 ] || fail "$file: write 2 is lost: ${got:-nothing}"
		echo "ok: $feature, $file"
	done

	file=/f
	got=$(written extent_max_zeroout_kb=64 \
		"writes once dsync /mnt/f 0 1 || exit 1")
	[ "$got" = 2 ] || fail "zeroed out: the write is lost: ${got:-nothing}"
	[ "$(extents /f)" = 1 ] || fail "no zeroing out"
	echo "ok: $feature: zeroed out"
done
