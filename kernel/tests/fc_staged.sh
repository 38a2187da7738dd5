# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: data that is written when a full or fast commit is about to end, and
# synced afterwards, survives a power cut. Changes that were committed in full are
# not replayed again.
. "$(dirname "$0")/common.sh"

# bytes COMMAND: print how many of 4096 bytes survive that were written while
# COMMAND committed
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

# again: replay and check a fast commit after a full commit that a fast commit fell back to
# because of an unlinked file. A directory is created during that full commit. If it
# is created later, e2fsck reports a wrong link count of its parent with the stock
# kernel.
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
