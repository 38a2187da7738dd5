# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: a new file has only its own blocks, even if the inode number of
# the new file belonged to a file that was removed while open, or to a file that
# an older filesystem left in the inode table.
. "$(dirname "$0")/common.sh"

# contents: print the last bytes of "new", and the number of bytes of the
# removed file in "new"
contents() {
	debugfs -R "cat /new" "$disk" 2>/dev/null | tail -c 3
	echo " $(bytes_of o /new)"
}

# synced FEATURES SCRIPT: run SCRIPT, sync 3 bytes at 12288 of "new", cut the power,
# and print the output of contents
synced() {
	new_disk 32 -O "fast_commit,$1"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		$2
		printf new | dd of=/mnt/new bs=4096 seek=3 conv=notrunc \
			2>/dev/null
		sync /mnt/new
		poweroff -f -n
	END
	replayed || return 0
	contents
}

# removed BLOCKS FEATURE: call synced with FEATURE, after the removal of a file
# that has one extent at each of BLOCKS
removed() {
	synced "$2" "
		for n in $1; do
			head -c 4096 /dev/zero | tr '\\0' o |
				dd of=/mnt/old bs=4096 seek=\$n conv=notrunc \
				2>/dev/null
		done
		sync
		exec 9</mnt/old
		rm /mnt/old
		sync
		exec 9<&-"
}

# unlike: print the output of contents if "new" has generation 0, as an inode
# that was never used
unlike() {
	synced ^metadata_csum "
		mkdir /mnt/d
		sync
		: >/mnt/new
		setversion 0 /mnt/new || exit 1"
}

# left OPTION: print how many of 45 synced files are intact if the inode table has
# 160 inodes of an older filesystem
left() {
	mkdir -p "$work/old"
	for n in $(seq 160); do
		head -c 81920 /dev/zero | tr '\0' o >"$work/old/f$n"
	done
	new_disk 32 -J size=4 -d "$work/old"
	mke2fs -q -F -t ext4 -b 4096 -J size=4 -O fast_commit \
		-E nodiscard,lazy_itable_init=1 "$disk"
	cut_power <<-END >/dev/null
		mount -t ext4 -o "noatime,commit=300$1" \$disk /mnt || exit 1
		mkdir /mnt/d
		sync
		n=0
		while [ \$n -lt 45 ]; do
			echo new\$n >/mnt/n\$n
			sync /mnt/n\$n
			n=\$((n + 1))
		done
		poweroff -f -n
	END
	replayed || return 0
	same=0
	for n in $(seq 0 44); do
		debugfs -R "cat /n$n" "$disk" 2>/dev/null | grep -qx "new$n" &&
			same=$((same + 1))
	done
	echo "$same"
}

many="0 2 4 6 8 10 12 14 16 18 20 22"
kernel=$stock
for feature in orphan_file ^orphan_file; do
	echo "stock: $feature: many fragments: $(removed "$many" $feature \
		2>"$work/err"); few: $(removed "0 1" $feature 2>"$work/err")"
done
echo "stock: what was left in the inode table: $(left "" 2>"$work/err")"
kernel=$patched
for feature in orphan_file ^orphan_file; do
	for blocks in "$many" "0 1"; do
		got=$(removed "$blocks" $feature)
		[ "$got" = "new 0" ] || fail "$feature, blocks $blocks: $got"
	done
done
got=$(unlike)
[ "$got" = "new 0" ] || fail "generation 0: $got"
for option in "" ,noinit_itable; do
	got=$(left "$option")
	[ "$got" = 45 ] || fail "left in the inode table$option: $got of 45"
done
echo "ok: new files have their own blocks alone"

kernel=$stock
replayer=$patched
removed "0 1" ^orphan_file >/dev/null
got=$(contents)
[ "$got" = "new 0" ] || fail "logged by stock: $got"
got=$(left "")
[ "$got" = 45 ] || fail "logged by stock: left in the inode table: $got of 45"
echo "ok: replayed what the stock kernel had logged"
