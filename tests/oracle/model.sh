#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The model of generated images beside what debugfs, e2fsck, e2freefrag,
# filefrag and e4defrag say of them; the last two need root and a mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program e2fsck debugfs e2freefrag
oracle=$top_builddir/tests/oracle/model-oracle
mkaged=$top_builddir/tests/tools/mkaged
image=$work/image

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

value() {
	sed -n "s/^$1 //p;/^plain/q" "$work/model"
}

# same WHAT OURS THEIRS
same() {
	[ "$2" = "$3" ] || fail "$options: $1: we say $2, they say $3"
}

# What restriction to nothing and names found late must not change.
check_itself() {
	sed -n '1,/^plain/{/^file /d;/^groups/d;/^plain/d;p}' "$work/model" \
		>"$work/full"
	sed -n '/^plain/,${/^groups/d;/^plain/d;p}' "$work/model" \
		>"$work/plain"
	check diff "$work/full" "$work/plain"
	same "files of groups" "$(value groups.files)" "$(value files.count)"
	same "free of groups" "$(value groups.free)" \
		"$(value free_space.blocks)"
	same "unused of groups" "$(value groups.unused)" \
		"$(value directories.unused_inodes_read_by_fsck)"
	same "damage" "$(value damaged_count)" 0
}

check_offline() {
	e2fsck -fnv "$image" >"$work/fsck" 2>&1 || :
	same "non-contiguous files" "$(value peers.e2fsck_files)" \
		"$(awk '/non-contiguous file/ { print $1 }' "$work/fsck")"
	same "non-contiguous directories" \
		"$(value peers.e2fsck_directories)" \
		"$(awk '/non-contiguous director/ { print $1 }' "$work/fsck")"
	same "regular files" "$(value files.regular)" \
		"$(awk '/ regular files?$/ { print $1 }' "$work/fsck")"
	same "directories" "$(value files.directories)" \
		"$(awk '/ director(y|ies)$/ && !/non-c/ { print $1 }' \
			"$work/fsck")"
	case $options in *bigalloc*) return ;; esac
	same "free runs" "$(value free_space.runs)" \
		"$(e2freefrag "$image" | sed -n 's/Num. free extent: //p')"
}

# The leaf entries of every tenth inode with an extent tree.
check_debugfs() {
	grep '^file [0-9]*0 extents' "$work/model" | sort -u |
		while read -r _ ino _ extents _; do
			echo "$ino $extents"
		done >"$work/some"
	while read -r ino extents; do
		case $(debugfs -R "stat <$ino>" "$image" 2>/dev/null) in
		*EXTENTS:*) ;;
		*) continue ;;
		esac
		same "extents of inode $ino" "$extents" \
			"$(debugfs -R "ex <$ino>" "$image" 2>/dev/null |
			   awk '/^ *[0-9]+\/ *[0-9]+ / {
				gsub("/", " "); if ($1 == $2) n++ }
				END { print n + 0 }')"
	done <"$work/some"
}

check_mounted() {
	mnt=$work/mnt
	mkdir -p "$mnt"
	mount -t ext4 -o ro,noload,loop "$image" "$mnt" || return 0
	find "$mnt" -xdev \( -type f -o -type d \) -exec filefrag {} + |
		sed -E "s|^$mnt||; s|^:|/:|" |
		awk -F': ' '{ print $1, $2 + 0 }' | sort >"$work/filefrag"
	find "$mnt" -xdev \( -type f -o -type d \) -printf '%i /%P\n' |
		sort >"$work/inodes"
	awk '/^plain/ { exit }
	     NR == FNR { path[$1] = path[$1] " " $2; next }
	     /^file / { n = split(path[$2], p, " ")
		       for (i = 1; i <= n; i++) print p[i], $8 }' \
		"$work/inodes" "$work/model" | sort >"$work/ours"
	check diff "$work/ours" "$work/filefrag"
	# the second time, the kernel has all extents cached, and joined
	e4defrag -c "$mnt" >/dev/null 2>&1 || :
	theirs=$(e4defrag -c "$mnt" 2>/dev/null |
		sed -n 's|.*Total/best extents[^0-9]*\([0-9]*\)/.*|\1|p')
	umount "$mnt"
	[ -z "$theirs" ] ||
		same "e4defrag" "$(value peers.e4defrag_extents)" "$theirs"
}

check_all() {
	check "$oracle" "$image"
	cp "$out" "$work/model"
	check "$oracle-small" "$image"
	cp "$out" "$work/small"
	check diff "$work/model" "$work/small"
	check_itself
	check_offline
	check_debugfs
	[ $mounted = no ] || check_mounted
	rm -f "$image"
}

defer "umount '$work/mnt' 2>/dev/null"
mounted=no
if [ "$(id -u)" = 0 ] && command -v filefrag e4defrag >/dev/null &&
   losetup -f >/dev/null 2>&1; then
	mounted=yes
fi

while read -r options; do
	indirect=
	case $options in *" mixed")
		indirect=indirect
		options=${options% mixed}
	esac
	recipe "$options" >"$work/recipe"
	check "$mkaged" "$work/recipe" "$image"
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

# map blocks amid what they map: one piece on the disk
options="-t ext2"
check mke2fs -q -F -t ext2 -b 1024 "$image" 16M
head -c 6M /dev/zero | tr '\0' x >"$work/data"
check debugfs -w -R "write $work/data /data" "$image"
check_all
grep -q '^peers.e2fsck_files 0$' "$work/model" ||
	fail "debugfs did not write in one piece"
echo "18 images, mounted: $mounted"
