# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/fc_cost only: the cost of fsync() after operations that replay
# has to support, or that need a full commit. Prints, for 300 rounds of a
# workload with one fsync() each, the fast commits, the ineligible commits, the
# transactions, the blocks written and the seconds, on a disk whose writes take
# 1 ms.
. "$(dirname "$0")/common.sh"

# cost FEATURE COMMAND: run COMMAND 300 times, with the round in $n
cost() {
	new_disk 64 -O "$1"
	boot <<-END
		on=\$disk
		info=/proc/fs/jbd2/dm-0-8/info
		delay \$disk 0 1
		mount -t ext4 -o noatime,commit=300 /dev/dm-0 /mnt || exit 1
		cd /mnt
		mkdir top
		: >f
		sync
		before=\$(awk '{ print int(\$7 / 8) }' /sys/block/\${disk#/dev/}/stat)
		started=\$(awk '{ print \$1 * 100 }' /proc/uptime)
		tids=\$(awk '{ print \$1; exit }' \$info)
		n=0
		while [ \$n -lt 300 ]; do
			n=\$((n + 1))
			$2
			sync f || exit 1
		done
		awk '\$2 == "commits" || \$2 == "ineligible" { printf "%d ", \$1 }' \
			/proc/fs/ext4/dm-0/fc_info
		awk -v t=\$tids '{ printf "%d ", \$1 - t; exit }' \$info
		awk -v b=\$before '{ printf "%d ", int(\$7 / 8) - b }' \
			/sys/block/\${disk#/dev/}/stat
		awk -v s=\$started '{ printf "%.2f\n", (\$1 * 100 - s) / 100 }' /proc/uptime
	END
}

echo "fast commits, ineligible, transactions, blocks written, seconds:"
while read -r name command; do
	kernel=$patched
	echo "$name: without fast commits: $(cost ^fast_commit "$command")"
	kernel=$stock
	complains=ok
	echo "$name: stock: $(cost fast_commit "$command")"
	kernel=$patched
	complains=
	echo "$name: patched: $(cost fast_commit "$command")"
done <<-"END"
	write echo text >>f
	create : >top/a-name-of-some-length-$n; echo text >>f
	mkdir mkdir top/$n; echo text >>f
	rmdir mkdir top/$n; rmdir top/$n; echo text >>f
	unlink : >top/$n; rm top/$n; echo text >>f
	tmpfile exec 9<>top/g; rm top/g; echo text >&9; echo text >>f
END
