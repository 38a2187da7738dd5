# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# e4repack runs on a mounted filesystem beside writers, until the power is cut
# or e4repack is killed.  Synced files are unchanged, files that are being
# written have all data that was reported to be on disk, and no donor file is
# left.  Each kernel has REPACK_CUTS rounds.
. "$(dirname "$0")/common.sh"
: "${REPACK_CUTS:=4}" "${REPACK_FIRST:=0}"
blocks=2048
files=40
take_e4repack

# Some files have fragments of four blocks, because only free extents of four blocks were left.
# Other files have fragments that are separated by unwritten runs.
garbage_disk 96 -b 4096 -N 2048 -m 0
boot <<-END >"$work/sums"
	mount -t ext4 \$disk /mnt || exit 1
	mkdir /mnt/small /mnt/data
	for n in \$(seq 1000); do
		dd if=/dev/zero of=/mnt/small/\$n bs=16K count=1 2>/dev/null ||
			exit 1
	done
	sync -f /mnt
	dd if=/dev/zero of=/mnt/rest bs=64K 2>/dev/null
	sync -f /mnt
	for n in \$(seq 1 2 1000); do
		rm /mnt/small/\$n
	done
	sync -f /mnt
	for n in \$(seq $files); do
		dd if=/dev/urandom of=/mnt/data/\$n bs=160K count=1 \
			2>/dev/null || exit 1
		sync -f /mnt
	done
	rm /mnt/rest
	sync -f /mnt
	writes random direct /mnt/preallocated $blocks 900 7 || exit 1
	join mosaic /mnt/mosaic $blocks 1 || exit 1
	cd /mnt/data
	md5sum *
	cd /
	umount /mnt
END
clean
mv "$disk" "$work/template"
inodes=$(dumpe2fs -h "$work/template" 2>/dev/null |
	sed -n 's/^Free inodes: *//p')

# judge: check the disk, which has two additional files.
judge() {
	recover
	free=$(dumpe2fs -h "$disk" 2>/dev/null | sed -n 's/^Free inodes: *//p')
	[ "$free" = $((inodes - 2)) ] ||
		fail "$1: $free inodes are free, of $inodes before"
	rm -rf "$work/data"
	debugfs -R "rdump /data $work" "$disk" >/dev/null 2>&1
	(cd "$work/data" && md5sum --quiet -c "$work/sums") >&2 ||
		fail "$1: other contents"
	debugfs -R "dump /mosaic $work/file" "$disk" 2>/dev/null
	"$guest/join" check "$work/file" $blocks 1 || fail "$1: the mosaic"
	debugfs -R "dump /preallocated $work/file" "$disk" 2>/dev/null
	"$guest/writes" check "$work/file" $blocks 900 7 ||
		fail "$1: the preallocated file"
	for how in direct sync; do
		debugfs -R "dump /$how $work/file" "$disk" 2>/dev/null
		"$guest/writes" survived "$work/file" $blocks \
			"$(sed -n "s/^$how //p" "$work/done")" "$round" ||
			fail "$1: $how"
	done
}

# life END LAST: print a script for the guest; the command END ends e4repack,
# and LAST is the last command.
life() {
	cat <<-END
		export LD_LIBRARY_PATH=/lib
		mount -t ext4 -o commit=1 \$disk /mnt || exit 1
		writes random direct /mnt/direct $blocks 900 $round /tmp/direct &
		writes random sync /mnt/sync $blocks 900 $round /tmp/sync &
		while [ ! -s /tmp/direct ] || [ ! -s /tmp/sync ]; do
			usleep 1000
		done
		(while [ ! -e /tmp/end ] && /e4repack -q --zeroout=1M $target; do
			:
		done >/tmp/said 2>&1) &
		usleep $((round * 7919 % 40000 * 10 + 20000))
		$1
		echo direct \$(wc -c </tmp/direct)
		echo sync \$(wc -c </tmp/sync)
		$2
	END
}

# is_midst: succeed if e4repack has done some of the work, but not all.
is_midst() {
	for n in $(seq $files); do
		[ "$(extents "/data/$n")" -gt 5 ] || echo "$n"
	done >"$work/moved"
	moved=$(wc -l <"$work/moved")
	mosaic=$(extents /mosaic)
	{ [ "$moved" -gt 0 ] && [ "$moved" -lt $files ]; } ||
		{ [ "$mosaic" -gt 20 ] && [ "$mosaic" -lt $blocks ]; }
}

# repack KERNEL NAME: run e4repack, and alternately cut the power and kill
# e4repack
repack() {
	kernel=$1
	midst=0
	round=$REPACK_FIRST
	while [ "$round" -lt $((REPACK_FIRST + REPACK_CUTS)) ]; do
		round=$((round + 1))
		target=/mnt
		[ $((round % 4)) -lt 2 ] || target=/mnt/data
		cp --sparse=always "$work/template" "$disk"
		if [ $((round % 2)) = 0 ]; then
			life : 'poweroff -f -n' | cut_power >"$work/done"
		else
			life '>/tmp/end; killall -9 e4repack writes; wait' \
				'umount /mnt' |
				boot >"$work/done"
		fi
		judge "$2, round $round"
		! is_midst || midst=$((midst + 1))
	done
	[ $midst -gt 0 ] || fail "$2: each time before or after the work"
	echo "ok: $2 kernel, $REPACK_CUTS cuts and kills, $midst in the midst"
}

repack "$patched" patched
repack "$stock" stock
