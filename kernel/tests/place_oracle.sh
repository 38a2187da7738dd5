# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# The library's placement of inodes is compared with the patched kernel. Random
# mkdir, create, unlink and rmdir change a small filesystem with many groups.
# The same operations are applied to a copy, and the library has to choose the
# same number for each inode. The filesystem is remounted between growing and
# pruning, because the library is not informed about freed inodes. The
# filesystem has no dir_index, because libext2fs adds no entries to an index.
# There are so few windows of 256 inodes that directories find windows in other
# groups. One of three scripts has two flex groups, one of them filled by the
# journal, and few inodes, so that sometimes no group is good enough for a
# directory. Another script has no flex groups.
. "$(dirname "$0")/common.sh"
[ "${top_builddir-}" ] || skip "the library's tools are not there"
scripts=${ORACLE_SCRIPTS:-15}	# number of scripts for each window size
first=${ORACLE_SEED:-0}
mib=32
windows="16 64 128 256"
disks=$((scripts * $(echo "$windows" | wc -w)))

# base NUMBER [MKE2FS OPTION...]: make the initial filesystem of every third
# script
base() {
	disk=$work/base$1
	shift
	new_disk "$mib" "$@" -g 1024 -E \
		lazy_itable_init=0,hash_seed=6ca0d2f1-9f4c-4b5e-8a57-3f0c1d2e4b60
	tune2fs -E hash_alg=tea "$disk" >/dev/null
}
base 0 -O ^dir_index -G 2 -N 8192
base 1 -O ^dir_index -G 4 -N 1024 -J size=12
base 2 -O ^dir_index,^flex_bg -N 8192
disk=$work/disk
truncate -s $((disks * mib))M "$disk"
at=0
while [ $at -lt $disks ]; do
	dd if="$work/base$((at % 3))" of="$disk" bs=1M seek=$((at * mib)) \
		conv=notrunc,sparse status=none
	at=$((at + 1))
done

boot <<-END >"$work/log-all"
	at=0
	for window in $windows; do
		seed=$first
		while [ \$seed -lt $((first + scripts)) ]; do
			losetup -o \$((at * $mib << 20)) /dev/loop0 \$disk
			echo "script \$at \$window"
			for phase in grow prune grow; do
				mount -t ext4 -o dir_ireserve=\$window \\
					/dev/loop0 /mnt || exit 1
				echo "mount 0 /"
				seed=\$((seed + 1))
				trees \$phase /mnt \$seed 600 \$at || exit 1
				trees tops /mnt \$seed || exit 1
				umount /mnt
			done
			losetup -d /dev/loop0
			seed=\$((seed - 2))
			at=\$((at + 1))
		done
	done
END

awk -v dir="$work" '
	$1 == "script" { file = dir "/script" $2; print $2, $3; next }
	{ print >file }' "$work/log-all" >"$work/scripts"
while read -r at window; do
	cp --sparse=always "$work/base$((at % 3))" "$work/copy"
	"$top_builddir/tests/oracle/place-replay" "$work/copy" "$window" \
		<"$work/script$at" >"$work/told" || fail "script $at"
	grep -v 'inodes,' "$work/told" | sed "s/^/script $at, $window: /"
	awk -v window="$window" '/inodes,/ { print window, $1, $3 }' \
		"$work/told" >>"$work/sums"
	disk=$work/copy
	clean
done <"$work/scripts"
awk '{ scripts[$1]++; inodes[$1] += $2; differ[$1] += $3 } END {
	for (w in scripts) {
		printf "window %s: %d scripts, %d inodes, %d placed elsewhere\n",
			w, scripts[w], inodes[w], differ[w]
		bad += differ[w]
	}
	exit bad > 0 || NR == 0
}' "$work/sums" || fail "the library places inodes elsewhere"
