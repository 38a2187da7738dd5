# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: data that is written when a full or fast commit is about to end, and
# synced afterwards, survives a power cut. Changes that were committed in full are
# not replayed again.
. "$(dirname "$0")/common.sh"

# bytes COMMAND MS: write 4096 bytes MS ms after the start of COMMAND, which
# commits, and print how many of these bytes survive a power cut
bytes() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		: >/mnt/f
		sync
		: >/mnt/g
		$1 &
		usleep ${2}000
		writes once direct /mnt/f 0 1 || exit 1
		wait
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	replay
	clean
	debugfs -R "cat /f" "$disk" 2>/dev/null | wc -c
}

# again: cause a full commit by an unlinked file, create a directory during the full
# commit, and replay the next fast commit. Print "replayed" unless the replay creates
# the directory again. The stock kernel creates the directory again, and e2fsck reports a
# wrong link count of the directory's parent.
again() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		: >/mnt/f
		: >/mnt/g
		exec 3>/mnt/gone
		rm /mnt/gone
		sync
		echo gone >&3
		touch /mnt/g
		sync /mnt/g &
		usleep 60000
		mkdir /mnt/x
		wait
		writes once direct /mnt/f 0 1 || exit 1
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	replayed && echo "replayed"
}

for after in 5 60; do
	for how in sync "sync /mnt/g"; do
		got=$(bytes "$how" $after)
		[ "$got" = 4096 ] || fail "$how: $got bytes of 4096 are there"
	done
done
kernel=$stock
echo "stock: changes of a transaction that was committed in full: $(again 2>"$work/err")"
kernel=$patched
complains=
got=$(again)
[ "$got" = replayed ] || fail "changes of a transaction that was committed in full: $got"
echo "ok: written when a full and when a fast commit was nearly over"
