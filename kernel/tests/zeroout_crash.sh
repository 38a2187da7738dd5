# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# The power is cut while blocks are written to preallocated files, on a disk
# that was full of 0xAA.  Afterwards, each block has zeroes or written data, and
# all data that was reported to be on disk is there.
. "$(dirname "$0")/common.sh"
blocks=2048
rounds=${CRASH_ROUNDS:-6}
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	garbage_disk 32
	cut_power <<-END >"$work/done"
		mount -t ext4 -o extent_max_zeroout_kb=$((round % 3 * 96 + 64)) \
			\$disk /mnt || exit 1
		writes random direct /mnt/direct $blocks 900 $round /tmp/direct &
		writes random sync /mnt/sync $blocks 900 $round /tmp/sync &
		while [ \$(cat /tmp/direct /tmp/sync | wc -c) -lt $((round * 57)) ]
		do
			:
		done 2>/dev/null
		echo direct \$(wc -c </tmp/direct)
		echo sync \$(wc -c </tmp/sync)
		usleep $((round * 7919 % 20000 + 20000))
		poweroff -f -n
	END
	recover
	grep -E "^(direct|sync) " "$work/done" >"$work/counts"
	while read -r how count; do
		debugfs -R "dump /$how $work/file" "$disk" 2>/dev/null
		"$guest/writes" survived "$work/file" $blocks "$count" $round ||
			fail "round $round, $how, $count writes"
		echo "ok: cut after $count writes, $how, $(extents "/$how") extents"
	done <"$work/counts"
done
[ -s "$work/counts" ] || fail "nothing was written"
