#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the library's model with the figures of other programs, for aged files
# on filesystems of several kinds.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/oracle/model_common.sh"

recipe() {
	cat <<-END
	size 512M
	mke2fs $*
	mosaic /m/alternate size 2M written 4K unwritten 4K
	mosaic /m/random size 3M written 16K unwritten 8K random
	interleave /log count 8 rounds 20 blocks 3
	scatter /s3 frags 200 blocks 9 gap 2 $indirect
	file /big2 size 6M $indirect
	file /tiny size 9K $indirect
	tree /mail dirs 40 files 12 size 1K-9K
	many /small count 900 size 1K-20K perdir 90
	delete /small percent 40
	file /big size 9M holes
	file /holes extents 32+16w 64+16w 112+16u 256+48w
	file /deep size 600K depth 2
	scatter /s1 frags 90 blocks 2 gap 3 hole 2 shuffle
	scatter /s2 frags 300 blocks 2 gap 1 alternate
	symlink /sym length 200
	symlink /short /big
	fifo /fifo
	link /fifo /mail/also-fifo
	END
}

while read -r subject; do
	indirect=
	case $subject in *" mixed")
		indirect=indirect
		subject=${subject% mixed}
	esac
	recipe "$subject" >"$work/recipe"
	make_image "$work/recipe"
	check_all
done <<-END
	-b 4096
	-b 4096 mixed
	-b 1024 mixed
	-b 2048
	-b 1024 -O ^metadata_csum
	-b 1024 -O ^metadata_csum,uninit_bg,^flex_bg
	-b 4096 -O ^has_journal
	-b 4096 -O inline_data -I 256
	-b 4096 -O bigalloc
	-b 4096 -O metadata_csum_seed -I 512
	-b 1024 -O quota
	-b 1024 -O quota,project
	-b 1024 -O meta_bg,^resize_inode
	-b 1024 -O sparse_super2
	-b 1024 -O ^64bit -I 128
	-b 1024 -g 1024
	-b 4096 -O orphan_file
END

# indirect blocks lie between data blocks, and do not count as fragmentation
subject="-t ext2"
check mke2fs -q -F -t ext2 -b 1024 "$image" 16M
head -c 6M /dev/zero | tr '\0' x >"$work/data"
check debugfs -w -R "write $work/data /data" "$image"
check_all
grep -q '^peers.e2fsck_files 0$' "$work/model" ||
	fail "debugfs did not write in one piece"
# A file of more than 2 TiB has an i_blocks of more than 32 bits.
subject="a huge file"
cat >"$work/recipe" <<-END
	size 3T
	mke2fs -N 2000 -O bigalloc -C 1M -J size=4 -E lazy_itable_init=1
	contents off
	file /huge size 2300G
	file /far extents 0+8w 4294967040+8w
	many /small count 200 size 1-30K perdir 50
END
make_image "$work/recipe"
check_all
[ "$(value files.extents)" -gt 18400 ] || fail "the huge file is small"
echo "$images images, $mounts of them mounted"
