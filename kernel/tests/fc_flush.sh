# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: data that is synced after the journal was flushed survives a power
# cut.
. "$(dirname "$0")/common.sh"

# lost FLUSH BLOCKSIZE: print how many of two files differ from the data that
# was synced after FLUSH.  One file is new, and the other file was longer
# before.
lost() {
	new_disk 32 -O fast_commit -b "$2"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=600 \$disk /mnt || exit 1
		echo before >/mnt/longer
		sync
		$1
		echo after >/mnt/new
		sync /mnt/new || exit 1
		echo after >>/mnt/longer
		sync /mnt/longer || exit 1
		poweroff -f -n
	END
	replay
	clean
	n=0
	[ "$(debugfs -R 'cat /new' "$disk" 2>/dev/null)" = after ] ||
		n=$((n + 1))
	[ "$(debugfs -R 'cat /longer' "$disk" 2>/dev/null | tail -n 1)" = after ] ||
		n=$((n + 1))
	echo $n
}

remount="mount -o remount,ro /mnt || exit 1
mount -o remount,rw /mnt || exit 1"
freeze="fsfreeze --freeze /mnt || exit 1
fsfreeze --unfreeze /mnt || exit 1"
checkpoint="checkpoint /mnt || exit 1"

kernel=$stock
echo "stock: $(lost "$remount" 1024) of 2 files are lost after a remount"
echo "stock: $(lost "$checkpoint" 1024) of 2 files are lost after a checkpoint"
kernel=$patched
for blocksize in 1024 4096; do
	for flush in "$remount" "$freeze" "$checkpoint"; do
		got=$(lost "$flush" $blocksize) || fail "$flush: $got"
		[ "$got" = 0 ] ||
			fail "blocks of $blocksize, $flush: $got of 2 files are lost"
	done
done
echo "ok: what was synced after a flush of the journal is there"
