# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# The power is cut while extents are joined, in an idle file and in a file that
# is written to at the same time, on a disk that was full of 0xAA. All synced
# data is there, and other blocks are zeroes. With fast commits, the fast commit
# of a write must include earlier joins.
. "$(dirname "$0")/common.sh"
blocks=4096
rounds=${CRASH_ROUNDS:-6}
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	data=ordered
	[ $((round % 3)) != 0 ] || data=writeback
	garbage_disk 64
	cut_power <<-END >"$work/done"
		mount -t ext4 -o data=$data \$disk /mnt || exit 1
		join mosaic /mnt/still $blocks 1 || exit 1
		writes random direct /mnt/direct $blocks 900 $round /tmp/direct &
		while [ \$(cat /tmp/direct | wc -c) -lt $((round * 37)) ]; do
			:
		done 2>/dev/null
		(while :; do
			join call /mnt/direct 2
			join call /mnt/still 1
		done) >/tmp/zeroed 2>&1 &
		usleep $((round * 7919 % 20000 * 10 + 50000))
		sync -f /mnt/still
		usleep $((round * 7919 % 20000 + 20000))
		echo direct \$(wc -c </tmp/direct)
		echo \$(awk '{ n += \$1 } END { print n }' /tmp/zeroed)
		poweroff -f -n
	END
	recover
	count=$(sed -n 's/^direct //p' "$work/done")
	debugfs -R "dump /direct $work/file" "$disk" 2>/dev/null
	"$guest/writes" survived "$work/file" $blocks "$count" $round ||
		fail "round $round, $count writes"
	debugfs -R "dump /still $work/file" "$disk" 2>/dev/null
	"$guest/join" check "$work/file" $blocks 1 || fail "round $round"
	echo "ok: cut after $count writes, $(extents /direct) and" \
		"$(extents /still) extents"
done

# A write to joined extents changes no extent, so the fast commit of the write
# has to include the join.
garbage_disk 32 -O fast_commit
cut_power <<-END >"$work/done"
	mount -t ext4 \$disk /mnt || exit 1
	join mosaic /mnt/file 64 1 || exit 1
	join call /mnt/file 1 || exit 1
	yes 9 | head -c 4096 >/tmp/data
	dd if=/tmp/data of=/mnt/file bs=4096 seek=9 conv=notrunc,fsync \
		2>/dev/null || exit 1
	poweroff -f -n
END
[ "$(cat "$work/done")" = $((32 * 4096)) ] || fail "nothing was joined"
boot <<-END >"$work/lost"
	mount -t ext4 \$disk /mnt || exit 1
	yes 9 | head -c 4096 >/tmp/data
	dd if=/mnt/file bs=4096 skip=9 count=1 2>/dev/null |
		cmp -s - /tmp/data || echo the block is lost
	umount /mnt
END
clean
[ ! -s "$work/lost" ] || fail "fast commits: $(cat "$work/lost")"
echo "ok: fast commits"
