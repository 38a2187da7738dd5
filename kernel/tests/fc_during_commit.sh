# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# series: fixes
# Fast commits: data that is written while an ineligible transaction is being
# committed, and synced afterwards, survives a power cut. Each write to the disk
# takes 60 ms, so that the commit is still in progress. The kernel replays the
# journal: e2fsck 1.47.0 restores old link counts of directories that share an inode
# table block with the file.
. "$(dirname "$0")/common.sh"

# bytes: print how many of 4096 synced bytes survive a power cut
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
