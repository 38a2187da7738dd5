# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# An O_SYNC write to an allocated block survives a power cut, even while a write
# at a higher offset waits for delayed allocation.
. "$(dirname "$0")/common.sh"

# bytes FEATURE BLOCKSIZE FIRST: write FIRST bytes, a part of a block, and then
# FIRST bytes with O_SYNC; print the size of the file after a power cut
bytes() {
	new_disk 32 -O "$1" -b "$2"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		writes part fsync /mnt/f 0 $3 || exit 1
		writes part late /mnt/f 16484 512 || exit 1
		writes part osync /mnt/f $3 $3 || exit 1
		poweroff -f -n
	END
	case $1 in
	^has_journal) repair; clean ;;
	*) replay; clean ;;
	esac
	debugfs -R "cat /f" "$disk" 2>/dev/null | head -c $((2 * $3)) |
		tr -dc x | wc -c
}

kernel=$stock
echo "stock: $(bytes has_journal 4096 1024) of 2048 bytes are there"
kernel=$patched
for feature in has_journal fast_commit fast_commit,inline_data ^has_journal; do
	for blocksize in 1024 4096; do
		first=$((blocksize / 4))
		got=$(bytes $feature $blocksize $first) || fail "$feature: $got"
		[ "$got" = $((2 * first)) ] ||
			fail "$feature, blocks of $blocksize: $got bytes of $((2 * first))"
	done
done
echo "ok: what was written with O_SYNC is there"
