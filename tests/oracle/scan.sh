#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4l_scan() reports the same inodes and extents as libext2fs, for images of
# many feature sets with every type of file, and for a mounted filesystem.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs

recipe=$work/recipe
# files: prints lines of a recipe.  The word before each line names the feature
# that the line requires.
files() {
	cat <<-'EOF'
	all file /plain size 100K
	all file /empty size 0
	extents mosaic /db size 4M written 16K unwritten 32K
	pieces scatter /scattered frags 300 blocks 1 gap 1 shuffle
	pieces scatter /holes frags 60 blocks 2 gap 1 hole 5
	extents file /prealloc size 64K isize 4K unwritten
	extents file /deep extents 0+1w 10+1w 20+1u 30+1w 40+1w 50+1u 60+1w 70+1w depth 3 leaf 1 index 2
	extents file /far extents 0+1w 1000000+1w 4294967000+2u
	indirect file /old size 3M indirect
	all interleave /grown count 5 rounds 30 blocks 1
	all many /many count 300 size 1K-9K perdir 100
	all delete /many every 3
	all tree /tree dirs 10 files 5
	all symlink /fast /plain
	all symlink /slow length 200
	all link /plain /tree/plain
	all fifo /fifo
	all chardev /null 1 3
	EOF
}

# check_image WORDS MKE2FS-OPTION...: compares an image with the files for WORDS
check_image() {
	words=$1
	echo "$*"
	shift
	{
		echo "size 64M"
		[ $# = 0 ] || echo "mke2fs $*"
		files | while read -r word line; do
			case " all $words " in
			*" $word "*) echo "$line" ;;
			esac
		done
	} >"$recipe"
	check "$top_builddir/tests/tools/mkaged" "$recipe" "$work/image"
	check "$top_builddir/tests/oracle/scan-oracle" "$work/image"
	check "$top_builddir/tests/oracle/scan-oracle-small" "$work/image"
	images=$((images + 1))
}

images=0
for block in 1024 2048 4096; do
	for inode in 128 256 1024; do
		check_image "pieces extents indirect" -b $block -I $inode
	done
done
check_image extents -b 8192
check_image extents -b 65536
check_image "pieces extents indirect" -I 4096 -b 4096
check_image "pieces extents indirect" -O '^metadata_csum'
check_image "pieces extents indirect" -O '^metadata_csum,uninit_bg'
check_image "pieces extents indirect" -O '^metadata_csum,^64bit,^flex_bg' -g 2048
check_image "pieces extents" -O metadata_csum_seed
check_image "pieces extents" -O meta_bg,^resize_inode -b 1024
check_image extents -O bigalloc -C 16384
check_image extents -O bigalloc -C 65536 -b 1024
check_image "pieces indirect" -O '^extents,^64bit'
check_image "pieces indirect" -O '^extents,^metadata_csum,^64bit,^has_journal' -b 1024
check_image "pieces extents indirect" -O inline_data
check_image "pieces extents indirect" -O '^has_journal'
check_image "pieces extents indirect" -O sparse_super2,^resize_inode
check_image "pieces extents indirect" -O quota,project
check_image "pieces extents indirect" -O ea_inode,large_dir
check_image "pieces extents indirect" -O casefold,encrypt,verity
check_image "pieces extents indirect" -O fast_commit
check_image "pieces extents indirect" -O orphan_file
echo "$images images agree"

require_loop
mount_image "$work/image" "$work/mnt"
for i in 1 2 3 4 5 6 7 8; do
	head -c $((i * 70000)) /dev/urandom >"$work/mnt/new$i"
	fallocate -o $((i * 50000)) -l 1M "$work/mnt/new$i"
done
mkdir "$work/mnt/indexed"
for i in $(seq 1000); do
	: >"$work/mnt/indexed/a_name_long_enough_to_need_more_blocks_$i"
done
sync -f "$work/mnt"
check "$top_builddir/tests/oracle/scan-oracle" "$loop"
check "$e4frag" --json "$loop"
grep -Eq '"damaged": *\[\]' "$out" || fail "damage is reported in a filesystem written by the kernel"
