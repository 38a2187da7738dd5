# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# EXT4_IOC_JOIN_EXTENTS gives files of alternately written and unwritten blocks
# few extents in few blocks, and does not change their content. The disk was
# full of 0xAA. The cases are blocks of 1 KiB, bigalloc, encryption, no journal,
# and no free space. Extents that are not completely in the range, or that cross
# the end of the file, are unchanged. Invalid requests are refused.
. "$(dirname "$0")/common.sh"
blocks=8192

# few NAME PATH MOST: fail unless PATH has at most MOST extents, and few tree
# blocks
few() {
	n=$(extents "$2")
	if [ "$n" = 0 ] || [ "$n" -gt "$3" ]; then
		fail "$1: $n extents"
	fi
	tree=$(tree_blocks "$2")
	[ "$tree" -le "$3" ] || fail "$1: $tree blocks for $n extents"
	echo "ok: $1: $n extents, $tree tree blocks"
}

# mosaic NAME BLOCK_BYTES MOUNT_OPTIONS MKE2FS_OPTION...: make and join a mosaic
# file
mosaic() {
	name=$1
	size=$2
	options=$3
	shift 3
	garbage_disk 64 "$@"
	boot <<-END >"$work/got"
		export BLOCK_BYTES=$size
		mount -t ext4 -o $options \$disk /mnt || exit 1
		mkdir /mnt/dir
		join mosaic /mnt/dir/file $blocks 1 || exit 1
		join call /mnt/dir/file 1 || exit 1
		join check /mnt/dir/file $blocks 1 || exit 1
		echo 3 >/proc/sys/vm/drop_caches
		join check /mnt/dir/file $blocks 1 || exit 1
		join call /mnt/dir/file 1 || exit 1
		ls -i /mnt/dir/file | awk '{ print \$1 }'
		umount /mnt
	END
	clean
	# shellcheck disable=SC2046
	set -- $(cat "$work/got")
	[ "$1 $2" = "$((blocks * size / 2)) 0" ] || fail "$name: $* bytes zeroed"
	few "$name" "<$3>" 8
}

mosaic "a mosaic" 4096 noatime
mosaic "blocks of 1 KiB" 1024 noatime -b 1024
mosaic "no journal" 4096 noatime -O ^has_journal
mosaic "no delayed allocation" 4096 nodelalloc,dioread_lock,extent_max_zeroout_kb=0
mosaic "bigalloc" 4096 noatime -O bigalloc -C 16384
mosaic "encryption" 4096 test_dummy_encryption -O encrypt

# No block is free, and none is needed.  Direct writes fill the disk: without
# reserved clusters, Linux may search forever for space for writeback.
garbage_disk 64 -m 0
boot <<-END >"$work/got"
	mount -t ext4 \$disk /mnt || exit 1
	echo 0 >/sys/fs/ext4/\${disk#/dev/}/reserved_clusters
	join mosaic /mnt/file $blocks 1 || exit 1
	for size in 1M 4k; do
		dd if=/dev/zero of=/mnt/\$size bs=\$size oflag=direct 2>/dev/null
	done
	df -k /mnt | awk 'END { print \$4 }'
	join call /mnt/file 1 || exit 1
	join check /mnt/file $blocks 1 || exit 1
	umount /mnt
END
clean
[ "$(head -n 1 "$work/got")" = 0 ] || fail "there was room"
few "no free block" /file 8

# Extents that cross the ends of the range, or are longer, are unchanged.
garbage_disk 64
boot <<-END >"$work/got"
	mount -t ext4 -o nodelalloc,extent_max_zeroout_kb=0 \$disk /mnt || exit 1
	join mosaic /mnt/range 64 4 || exit 1
	join call /mnt/range 3 0 999999999999 || exit 1
	join call /mnt/range 4 $((6 * 4096)) $((48 * 4096)) || exit 1
	join check /mnt/range 64 4 || exit 1
	writes eof sync /mnt/eof || exit 1
	join call /mnt/eof 100 || exit 1
	join refused /mnt || exit 1
	join mosaic /mnt/killed $blocks 1 || exit 1
	join kill /mnt/killed 1 || exit 1
	join check /mnt/killed $blocks 1 || exit 1
	umount /mnt
END
clean	# e2fsck does not expect written blocks beyond the size
# shellcheck disable=SC2046
set -- $(cat "$work/got")
# of eight extents, only those at blocks 12, 20, 28, 36 and 44 are entirely in
# the range
[ "$1 $2" = "0 $((5 * 4 * 4096))" ] || fail "ranges: $1, $2 bytes zeroed"
[ "$(extents /range)" = 6 ] || fail "ranges: $(extents /range) extents"
[ "$3" = $((3 * 4096)) ] || fail "past the end: $3 bytes zeroed"
[ "$(extents /eof)" = 2 ] || fail "past the end: $(extents /eof) extents"
echo "ok: ranges, the end of the file, refusals"
if [ "$4" = 0 ] || [ "$4" -ge $((blocks * 4096)) ]; then
	fail "killed: $4 bytes are done"
fi
if [ "$5" = 0 ] || [ "$5" -gt "$4" ]; then
	fail "killed: $5 bytes zeroed"
fi
echo "ok: killed after $5 bytes"

new_disk 64 -O inline_data -I 256
boot <<-END >"$work/got"
	mount -t ext4 \$disk /mnt || exit 1
	echo short >/mnt/short
	join call /mnt/short 1 2>&1
	umount /mnt
END
clean
grep -q "not supported" "$work/got" || fail "inline data: $(cat "$work/got")"
echo "ok: inline data"
