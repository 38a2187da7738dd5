# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# series: fixes
# What is written while a transaction that fast commits cannot be used for is
# committed, and synced after that, is there after the power was cut.  Each write
# takes 60 ms, so that the commit is still under way.  The kernel replays it, for
# e2fsck 1.47.0 gives the directories, whose inodes are beside that of the file,
# their links from before the commit.
. "$(dirname "$0")/common.sh"

# bytes: how many of 4096 there are
bytes() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		delay \$disk 0 60
		mount -t ext4 -o noatime /dev/dm-0 /mnt || exit 1
		mkdir /mnt/a /mnt/b /mnt/a/d
		: >/mnt/f
		sync
		mv /mnt/a/d /mnt/b/d
		sync &
		usleep 50000
		writes once direct /mnt/f 0 1 || exit 1
		wait
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	replay
	clean
	debugfs -R "cat /f" "$disk" 2>/dev/null | wc -c
}

kernel=$stock
echo "stock: $(bytes) bytes of 4096"
kernel=$patched
for try in 1 2 3; do
	got=$(bytes)
	[ "$got" = 4096 ] || fail "$got bytes of 4096 are there"
done
echo "ok: written while another transaction was committed"
