# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: after a power cut the filesystem can be mounted and has all synced
# data, for any number of fast commits, including a completely filled area.
. "$(dirname "$0")/common.sh"

# synced N: sync N blocks one by one and print how many survive a power cut
synced() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		sync
		n=0
		while [ \$n -lt $1 ]; do
			head -c 4096 /dev/zero | tr '\\0' y |
				dd of=/mnt/g bs=4096 seek=\$n conv=notrunc \
				2>/dev/null
			sync /mnt/g
			n=\$((n + 1))
		done
		poweroff -f -n
	END
	replayed || return 0
	echo "$(($(bytes_of y /g) / 4096))"
}

counts="13 14 15 16 30 31 32"
kernel=$stock
for n in $counts; do
	echo "stock: $n: $(synced "$n" 2>"$work/err")"
done
kernel=$patched
for n in $counts; do
	got=$(synced "$n")
	[ "$got" = "$n" ] || fail "$n blocks synced: $got"
done
echo "ok: mounted after any number of fast commits"
