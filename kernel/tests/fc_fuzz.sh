# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/fc_fuzz only: processes change files and directories at random
# and sync them with fast commits, until the power is cut.  In every fifth
# round, the power is cut again while the journal is replayed.  Afterwards, all
# synced data must be there, the names must be those of one moment, and e2fsck
# must find no errors.
. "$(dirname "$0")/common.sh"
: "${FUZZ_SECONDS:=1200}" "${FUZZ_FIRST:=1}"
kernel=${FUZZ_KERNEL:-$patched}
end=$(($(date +%s) + FUZZ_SECONDS))
round=$FUZZ_FIRST

# nth N WORD...: print word number N modulo the number of words
nth() {
	shift $(($1 % ($# - 1) + 1))
	echo "$1"
}

# live: change the filesystem until the power is cut, and log the operations in
# $work/ops
live() {
	garbage_disk 48 -O "fast_commit,$features" -b "$block" -J fast_commit_size=256
	cut_power <<-END >"$work/ops"
		delay \$disk 0 $delay
		mount -t ext4 -o "noatime,commit=300,$options" /dev/dm-0 /mnt || exit 1
		fuzz run /mnt $round $((round % 3 + 1)) $ms /proc/fs/ext4/dm-0/fc_info ||
			exit 1
		poweroff -f -n
	END
}

# cut_replay: cut the power at several moments of the replay
cut_replay() {
	for us in 2000 20000 60000; do
		expected="Aborting journal"
		start <<-END
			delay \$disk 0 1
			{ usleep $((us + round * 7919 % us)); poweroff -f -n; } &
			mount -t ext4 /dev/dm-0 /mnt
			wait
		END
		expected=
	done
}

# judge: replay the journal, compare the files with the log, and print the
# errors
judge() {
	mkdir -p "$work/case"
	cp "$work/ops" "$work/case/ops"
	start <<-END
		mount -t ext4 \$disk /mnt || { echo "not mounted"; exit 1; }
		fuzz judge /mnt /ops || exit 1
		umount /mnt
	END
	rm "$work/case/ops"
	[ "$(tail -n 1 "$work/lines")" = "exit 0" ] || {
		cat "$work/lines"
		grep -a 'EXT4-fs' "$work/console" | tail -n 5
		return 1
	}
	e2fsck -fn "$disk" >"$work/fsck" 2>&1 && return
	cat "$work/fsck"
	return 1
}

bad=0
[ "$kernel" = "$patched" ] || complains=ok
while [ "$(date +%s)" -lt $end ]; do
	block=$(nth "$round" 4096 1024)
	features=$(nth $((round / 2)) ^orphan_file orphan_file ^metadata_csum)
	options=$(nth $((round / 3)) delalloc nodelalloc dioread_lock)
	delay=$(nth $((round / 2)) 0 2 10)
	ms=$((200 + round * 7919 % 2500))
	live
	[ $((round % 5)) != 0 ] || cut_replay
	if ! judge >"$work/found"; then
		bad=$((bad + 1))
		echo "round $round: $block $features $options, delay $delay, $ms ms:"
		head -n 12 "$work/found"
		[ ! "${FUZZ_KEEP-}" ] || {
			cp "$disk" "$FUZZ_KEEP/disk-$round"
			cp "$work/ops" "$FUZZ_KEEP/log-$round"
		}
	fi
	awk -v ops="$(grep -c '^O' "$work/ops")" '/^C/ { print $2, ops }' \
		"$work/ops" >>"$work/counts"
	round=$((round + 1))
done
awk '{ fc += $1; ops += $2 } END {
	print NR " power cuts, " fc " fast commits, " ops " operations" }' \
	"$work/counts"
[ "$bad" = 0 ] || fail "$bad power cuts lost data or left errors"
echo "ok: rounds $FUZZ_FIRST to $((round - 1))"
