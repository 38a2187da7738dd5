# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: a synced file in a new directory survives a power cut, even if
# the directory was evicted from memory before the fsync().
. "$(dirname "$0")/common.sh"

# synced: print the contents of /d/e/f after a power cut
synced() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		sync
		mkdir /mnt/d
		touch /mnt/g
		sync /mnt/g
		mkdir /mnt/d/e
		echo 2 >/proc/sys/vm/drop_caches
		echo text >/mnt/d/e/f
		sync /mnt/d/e/f || exit 1
		poweroff -f -n
	END
	replayed || return 0
	debugfs -R "cat /d/e/f" "$disk" 2>/dev/null
}

kernel=$stock
echo "stock: $(synced 2>"$work/err")"
kernel=$patched
complains=
got=$(synced)
[ "$got" = text ] || fail "not there: $got"
echo "ok: a file in a directory that was evicted"
