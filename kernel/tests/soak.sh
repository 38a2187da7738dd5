# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/soak only: all writers run at once, on disks that were full of
# 0xAA, while windows and the zero-out limit change by remounts and through
# sysfs, until the power is cut. Blocks have 1, 2 and 4 KiB, for SOAK_SECONDS.
# Afterwards, each block has the data that was reported to be on disk, data that
# was written later, or zeroes.
. "$(dirname "$0")/common.sh"
: "${SOAK_SECONDS:=1200}" "${SOAK_FIRST:=0}"
blocks=1024
end=$(($(date +%s) + SOAK_SECONDS))
round=$SOAK_FIRST

# soak BLOCKSIZE: use a filesystem with all writers until the power is cut
soak() {
	garbage_disk 96 -b "$1" -N 16384
	cut_power <<-END >"$work/done"
		sysfs=/sys/fs/ext4/\${disk#/dev/}
		mount -t ext4 -o commit=1,dir_ireserve=low,extent_max_zeroout_kb=64 \
			\$disk /mnt || exit 1
		mkdir /mnt/a /mnt/b
		writes random direct /mnt/direct $blocks 900 $round /tmp/direct &
		writes random sync /mnt/sync $blocks 900 $round /tmp/sync &
		trees script /mnt/a $round 1000000 0 &
		trees script /mnt/a $round 1000000 1 &
		(trees mail /mnt/b $round 100 100000) &
		writes random late /mnt/late $blocks 500 $round /tmp/late &&
			echo late 500 &
		n=0
		while [ \$n -lt $((round % 5 + 4)) ]; do
			n=\$((n + 1))
			for kb in 32 256 0 1024; do
				echo \$kb >\$sysfs/extent_max_zeroout_kb
				usleep 60000
			done
			for reserve in normal high off low; do
				echo \$reserve >\$sysfs/dir_ireserve
				usleep 60000
				mount -o remount,dir_ireserve=16 /mnt
			done
		done
		echo direct \$(wc -c </tmp/direct)
		echo sync \$(wc -c </tmp/sync)
		usleep $((round * 7919 % 20000 + 20000))
		poweroff -f -n
	END
	recover
	grep -E "^(direct|sync|late) " "$work/done" >"$work/counts" ||
		fail "round $round: nothing was written"
	while read -r how count; do
		debugfs -R "dump /$how $work/file" "$disk" 2>/dev/null
		"$guest/writes" survived "$work/file" $blocks "$count" "$round" ||
			fail "round $round, $1 bytes in a block, $how, $count writes"
		echo "$1 $how $count" >>"$work/survived"
	done <"$work/counts"
}

while [ "$(date +%s)" -lt $end ]; do
	for size in 1024 2048 4096; do
		soak "$size"
	done
	round=$((round + 1))
done
awk '{ n[$1 " " $2]++; writes[$1 " " $2] += $3 } END {
	for (i in n)
		print i ": " n[i] " files, " writes[i] " writes survived" }' \
	"$work/survived" | sort -n
echo "ok: $((round - SOAK_FIRST)) rounds of three power cuts"
