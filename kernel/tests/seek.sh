# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/seek only, with kernels that simulate a disk with one head:
# makes the directories and files of locality.sh with enough memory, and removes
# them with less memory than the metadata needs.
. "$(dirname "$0")/common.sh"
: "${SEEK_DIRS:=5000}" "${SEEK_MEM:=40M}"
printf '%-22s%9s%9s%9s%9s%9s%9s\n' "" reads blocks writes blocks s "cpu ms"

# workload NAME KERNEL OPTIONS: run all steps, and print a table
workload() {
	kernel=$2
	echo "$1"
	new_disk $((SEEK_DIRS / 4 + 512)) -N $((SEEK_DIRS * 64 * 5 / 4 + 8192))
	run 2G "$3" "step create trees create /mnt/tree $SEEK_DIRS 15"
	run "$SEEK_MEM" "$3" "step remove rm -rf /mnt/tree"
}

# run MEMORY OPTIONS STEP: run STEP in a guest with MEMORY of memory
run() {
	GUEST_MEM=$1
	boot <<-END
		. /guest/functions.sh
		queue=/sys/block/\${on#/dev/}/queue
		grep -q '\[mq-deadline\]' \$queue/scheduler || exit 1
		echo 128 >\$queue/nr_requests
		mount -t ext4 -o noatime,$2 \$on /mnt || exit 1
		mkdir -p /mnt/tree
		sync
		disk_ms() {
			echo \$((\$(cat /sys/module/ubd/parameters/disk_us) / 1000))
		}
		before=\$(disk_ms)
		$3
		echo "    of the disk alone: \$((\$(disk_ms) - before)) ms"
		umount /mnt
	END
	clean
}

workload stock "$stock" defaults
for reserve in low normal; do
	workload $reserve "$patched" dir_ireserve=$reserve
done
