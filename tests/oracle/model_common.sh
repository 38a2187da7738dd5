# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Compares the model of an image with the output of debugfs, e2fsck, e2freefrag,
# filefrag and e4defrag. The last two need root and a mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program e2fsck debugfs dumpe2fs e2freefrag
oracle=$top_builddir/tests/oracle/model-oracle
image=$work/image
images=0 mounts=0
# name of the tested filesystem in messages
subject=

value() {
	sed -n "s/^$1 //p;/^plain/q" "$work/model"
}

# agree WHAT OURS THEIRS: OURS equals THEIRS
agree() {
	same "$subject: $1, ours" "$2" "$3"
}

# agree_files WHAT OURS THEIRS: the files OURS and THEIRS are equal
agree_files() {
	diff "$2" "$3" >"$out" 2>&1 && return
	head -n 20 "$out" >&2
	fail "$subject: $1: e4frag (<) and the other program (>) differ"
}

# make_image RECIPE: makes $image from RECIPE
make_image() {
	check "$top_builddir/tests/tools/mkaged" "$1" "$image"
}

has_feature() {
	grep -q "^Filesystem features:.* $1\( \|\$\)" "$work/super"
}

# build_model DEVICE: writes the model to $work/model, and the model with
# little memory.
build_model() {
	dumpe2fs -h "$1" >"$work/super" 2>/dev/null
	check "$oracle" "$1"
	cp "$out" "$work/model"
	check "$oracle-small" "$1"
	cp "$out" "$work/small"
	agree_files "a scan with little room" "$work/model" "$work/small"
}

# check_itself: the totals are the same with and without names, and equal the sums
# over the groups; the image has no damage.
check_itself() {
	sed -n '1,/^plain/{/^file /d;/^groups/d;/^plain/d;p}' "$work/model" \
		>"$work/full"
	sed -n '/^plain/,${/^groups/d;/^plain/d;p}' "$work/model" \
		>"$work/plain"
	agree_files "the model without names" "$work/full" "$work/plain"
	agree "files of groups" "$(value groups.files)" "$(value files.count)"
	agree "free of groups" "$(value groups.free)" \
		"$(value free_space.blocks)"
	agree "unused of groups" "$(value groups.unused)" \
		"$(value directories.unused_inodes_read_by_fsck)"
	agree "damage" "$(value damaged_count)" 0
}

# check_fsck DEVICE: compares the figures of e2fsck -fnv
check_fsck() {
	set -- "$1"
	[ ! -e "$1.journal" ] || set -- -j "$1.journal" "$1"
	e2fsck -fnv "$@" >"$work/fsck" 2>&1 || :
	agree "non-contiguous files" "$(value peers.e2fsck_files)" \
		"$(awk '/non-contiguous file/ { print $1 }' "$work/fsck")"
	agree "non-contiguous directories" \
		"$(value peers.e2fsck_directories)" \
		"$(awk '/non-contiguous director/ { print $1 }' "$work/fsck")"
	agree "regular files" "$(value files.regular)" \
		"$(awk '/ regular files?$/ { print $1 }' "$work/fsck")"
	agree "directories" "$(value files.directories)" \
		"$(awk '/ director(y|ies)$/ && !/non-c/ { print $1 }' \
			"$work/fsck")"
}

# check_free DEVICE: compares each row of the histogram.
check_free() {
	e2freefrag "$1" >"$work/freefrag"
	agree "free runs" "$(value free_space.runs)" \
		"$(sed -n 's/Num. free extent: //p' "$work/freefrag")"
	sed -n 's/^free //p;/^plain/q' "$work/model" >"$work/ours"
	awk '$1 == "Blocksize:" { blocksize = $2 }
	     /^ *[0-9]+[KMGT]\.\.\./ {
		unit = index("KMGT", substr($1, match($1, /[KMGT]/), 1))
		gsub(/[.KMGT].*/, "", $1)
		print $1 * 1024 ^ unit / blocksize, $(NF - 2), $(NF - 1)
	     }' "$work/freefrag" >"$work/theirs"
	agree_files "free runs by length" "$work/ours" "$work/theirs"
}

# requests DEVICE < REQUESTS: prints each request of standard input, and the
# answer of debugfs.
requests() {
	debugfs -f - "$1" 2>/dev/null
}

# check_extents DEVICE: compares the leaf entries of every inode with an extent
# tree.
check_extents() {
	sed -n 's/^file \([0-9]*\) .*/ex <\1>/p;/^plain/q' "$work/model" |
		sort -u | requests "$1" | sed 's|/| |g' | awk '
		/^debugfs: ex / { ino = $3; gsub(/[<>]/, "", ino); next }
		$1 == "Level" { n[ino] += 0; next }
		ino && $1 ~ /^[0-9]+$/ && $1 == $2 { n[ino]++ }
		END { for (ino in n) print ino, n[ino] }' |
		sort >"$work/theirs"
	awk '/^plain/ { exit }
	     NR == FNR { has[$1] = 1; next }
	     $1 == "file" && has[$2] { print $2, $4 }' \
		"$work/theirs" "$work/model" | sort -u >"$work/ours"
	agree_files "extents of inodes" "$work/ours" "$work/theirs"
	! has_feature extent || [ "$(wc -l <"$work/theirs")" -gt 50 ] ||
		fail "$subject: debugfs has listed too few extent trees"
}

# list_tree DEVICE: prints "DIRECTORY INODE" for each entry that is not a
# directory's.
list_tree() {
	echo 2 >"$work/level"
	while [ -s "$work/level" ]; do
		sed 's/.*/ls -p <&>/' "$work/level" | requests "$1" |
			awk -F/ -v next_level="$work/next" '
			BEGIN { printf "" >next_level }
			/^debugfs: ls / {
				gsub(/[^0-9]/, ""); dir = $0; print dir, dir
				next
			}
			NF < 7 || !$2 || $6 == "." || $6 == ".." { next }
			$3 ~ /^04/ { print $2 >next_level; next }
			{ print dir, $2 }'
		mv "$work/next" "$work/level"
	done
}

# check_locality DEVICE: computes locality from inode numbers and the geometry.
check_locality() {
	list_tree "$1" | sort -u >"$work/entries"
	awk -F: '
	$1 == "Block size" { blocksize = $2 }
	$1 == "Inode size" { inode_size = $2 }
	$1 == "Inodes per group" { per_group = $2 }
	NR == FNR { next }
	{
		split($0, entry, " ")
		dir = entry[1]
		index_in_group = (entry[2] - 1) % per_group
		block = dir " " int((entry[2] - 1) / per_group) " " \
			int(index_in_group * inode_size / blocksize)
		n[dir]++
		blocks += !(block in seen)
		seen[block] = 1
	}
	END {
		per_block = blocksize / inode_size
		for (dir in n) {
			dirs++
			ideal += int((n[dir] + per_block - 1) / per_block)
		}
		print dirs, blocks, ideal
	}' "$work/super" "$work/entries" >"$work/theirs"
	agree "locality" "$(value directories.count) \
$(value directories.itable_blocks) $(value directories.itable_blocks_ideal)" \
		"$(cat "$work/theirs")"
}

# check_filefrag DIR: compares all readable files of the filesystem mounted at
# DIR.
check_filefrag() {
	find "$1" -xdev \( -type f -o -type d \) -exec filefrag {} + \
		2>"$err" | sed -E "s|^$1||; s|^:|/:|" |
		awk -F': ' '{ print $1, $2 + 0 }' | sort >"$work/filefrag"
	find "$1" -xdev \( -type f -o -type d \) -printf '%i /%P\n' |
		sort >"$work/inodes"
	# if files have no holes, filefrag's extents are e4frag's fragments
	awk '/^plain/ { exit }
	     NR == FNR { path[$1] = path[$1] " " $2; next }
	     /^file / { n = split(path[$2], p, " ")
			for (i = 1; i <= n; i++)
				print p[i], $12 == 1 ? $6 : $8 }' \
		"$work/inodes" "$work/model" | sort >"$work/ours"
	if [ -s "$err" ]; then
		cut -d' ' -f1 "$work/filefrag" >"$work/opened"
		join -j 1 "$work/opened" "$work/ours" >"$work/some"
		mv "$work/some" "$work/ours"
	fi
	agree_files "filefrag's count" "$work/ours" "$work/filefrag"
	[ -s "$work/ours" ] || fail "$subject: filefrag has listed no file"
}

# linked_again DIR: prints the number of extents of files with several hard links,
# multiplied by the number of additional links.
linked_again() {
	find "$1" -xdev -type f -links +1 -printf '%i\n' | sort | uniq -c |
		awk '/^plain/ { exit }
		     NR == FNR { again[$2] = $1 - 1; next }
		     $1 == "file" && again[$2] {
			sum += again[$2] * $10
			again[$2] = 0
		     }
		     END { print sum + 0 }' - "$work/model"
}

# check_e4defrag DIR: compares the number of extents with e4defrag's, which
# counts the extents of a file once for each name of the file.  On the second
# run of e4defrag, the kernel has all extents cached and joined.
check_e4defrag() {
	command -v e4defrag >/dev/null || return 0
	e4defrag -c "$1" >/dev/null 2>&1 || :
	theirs=$(e4defrag -c "$1" 2>/dev/null |
		sed -n 's|.*Total/best extents[^0-9]*\([0-9]*\)/.*|\1|p')
	[ -z "$theirs" ] ||
		agree "e4defrag" "$(($(value peers.e4defrag_extents) +
			$(linked_again "$1")))" "$theirs"
}

# can_mount: root, with loop devices.
can_mount() {
	[ "$(id -u)" = 0 ] && command -v filefrag losetup >/dev/null &&
		losetup -f >/dev/null 2>&1
}

# check_mounted: compares the figures that only a kernel provides, if the kernel
# can mount the image.
check_mounted() {
	can_mount || return 0
	mkdir -p "$work/mnt"
	mount -t ext4 -o ro,noload,loop "$image" "$work/mnt" 2>/dev/null ||
		return 0
	check_filefrag "$work/mnt"
	[ -s "$err" ] || check_e4defrag "$work/mnt"
	check_free "$(awk -v mnt="$work/mnt" '$2 == mnt { print $1 }' \
		/proc/self/mounts)"
	umount "$work/mnt"
	mounts=$((mounts + 1))
}
defer "umount '$work/mnt' 2>/dev/null"

# check_all: compares $image, and removes it.
check_all() {
	build_model "$image"
	check_itself
	check_fsck "$image"
	check_extents "$image"
	check_locality "$image"
	# for unmounted filesystems, e2freefrag confuses clusters and blocks
	has_feature bigalloc || check_free "$image"
	check_mounted
	images=$((images + 1))
	rm -f "$image" "$image.journal"
}
