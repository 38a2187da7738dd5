# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# releases: 7.2 7.3
# Fast commits: fsync() of a file that was changed while the fast commit of another
# file was being written does not return before the change is on disk.  Each write
# to the disk takes 200 ms.
. "$(dirname "$0")/common.sh"

# survived CHANGE: print the mode and the size of /f after CHANGE, fsync() and a
# power cut
survived() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		: >/mnt/f
		umount /mnt
		delay \$disk 0 200
		mount -t ext4 -o noatime,commit=300 /dev/dm-0 /mnt || exit 1
		: >/mnt/h
		sync
		touch /mnt/g
		sync /mnt/g &
		usleep 60000
		$1
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	replayed || return 0
	debugfs -R "stat /f" "$disk" 2>/dev/null | sed -n \
		's/.*Mode: *0*\([0-7]*\) .*/\1/p; s/.*Size: \([0-9]*\)$/\1/p' |
		head -n 2 | paste -sd ' '
}

for change in "truncate -s 4096" "fallocate -l 4096"; do
	kernel=$stock
	got=$(survived "$change /mnt/f; chmod 600 /mnt/f" 2>"$work/err")
	echo "stock: ${change%% *}: mode and size: ${got:-unknown} (synced: 600 4096)"
	kernel=$patched
	got=$(survived "$change /mnt/f; chmod 600 /mnt/f")
	[ "$got" = "600 4096" ] || fail "${change%% *}: mode and size: $got"
done
echo "ok: changes that were synced beside another fast commit are on disk"
