# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# releases: 6.12
# The library's zero-out rule is compared with the patched kernel: random
# preallocated files and random writes on a default mount, for several chunk
# limits and two block sizes. Written and unwritten blocks must be the same.
# With dioread_lock, extents must be the same. On a default mount, a written
# range is split off before the I/O and joined with its neighbours afterwards,
# so that a leaf of the tree temporarily has one more extent. Some leaves are
# therefore split at other places, and extents in two leaves are never joined.
. "$(dirname "$0")/common.sh"
[ "${top_builddir-}" ] || skip "the library's tools are not there"
files=${ORACLE_FILES:-4}
limits="0 28 64 128 256 512 1024"
tool=$top_builddir/tests/oracle/zeroout-files

mkdir -p "$work/case"
cp "$tool" "$work/case/"
ldd "$tool" | grep -o '/[^ ]*' | cpio -pdL --quiet "$work/case"

# joined FILE: print the extents in FILE, with adjacent extents of the same
# state joined
joined() {
	awk '
		$1 == ino && $2 == lblk + len && $3 == pblk + len &&
				$5 == state {
			len += $4
			next
		}
		NR > 1 { print ino, lblk, pblk, len, state }
		{ ino = $1; lblk = $2; pblk = $3; len = $4; state = $5 }
		END { print ino, lblk, pblk, len, state }' "$1"
}

# oracle BLOCKSIZE FILES OPTIONS: set $differ to the number of extents that
# differ between the library and the kernel
oracle() {
	new_disk 8192 -b "$1"
	boot <<-END
		mount -t ext4 \$disk /mnt || exit 1
		for kb in $limits; do
			mkdir /mnt/\$kb
			/zeroout-files create /mnt/\$kb \$((1000 + kb)) $2 ||
				exit 1
		done
		umount /mnt
	END
	"$tool" dump "$disk" >"$work/before"
	cp "$work/before" "$work/case/before"
	boot <<-END >"$work/simulated"
		mount -t ext4 -o $3 \$disk /mnt || exit 1
		for kb in $limits; do
			echo \$kb >/sys/fs/ext4/\${disk#/dev/}/extent_max_zeroout_kb
			/zeroout-files write /mnt/\$kb /before \$kb \$kb || exit 1
		done
		umount /mnt
	END
	clean
	"$tool" dump "$disk" >"$work/after"
	sort -n -k1,1 -k2,2 "$work/simulated" >"$work/expected"
	! cmp -s "$work/before" "$work/after" || fail "nothing has changed"
	joined "$work/expected" >"$work/want"
	joined "$work/after" | diff -u "$work/want" - >"$work/diff" || {
		head -n 40 "$work/diff" >&2
		fail "simulated and on disk differ"
	}
	differ=$(diff "$work/expected" "$work/after" | grep -c '^>' || :)
	echo "$3, $1-byte blocks:" \
		"$(cut -d ' ' -f 1 "$work/after" | uniq | wc -l) files," \
		"$(wc -l <"$work/before") extents before," \
		"$(wc -l <"$work/after") after, $differ of them not alike"
}

for size in 4096 1024; do
	oracle $size "$files" dioread_lock
	[ "$differ" = 0 ] || fail "dioread_lock: extents differ"
	oracle $size "$files" defaults
	[ "$differ" -lt $(($(wc -l <"$work/after") / 20)) ] ||
		fail "more than 5 % of the extents differ"
done
