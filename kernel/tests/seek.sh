# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/seek only: what the workload of 2007 has made is removed on a
# disk with one head, $slow_stock's and $slow_patched's, with less memory than
# there is metadata.
. "$(dirname "$0")/common.sh"
: "${slow_stock:?}" "${slow_patched:?}" "${SEEK_DIRS:=10000}" "${SEEK_MEM:=64M}"
row='%-8s%10s%10s%10s%10s%10s\n'
# shellcheck disable=SC2059
printf "$row" "" seconds reads blocks writes blocks

# workload NAME KERNEL SLOW_KERNEL OPTIONS
workload() {
	new_disk $((SEEK_DIRS / 4 + 512)) -N $((SEEK_DIRS * 64 * 5 / 4 + 8192))
	kernel=$2
	GUEST_MEM=2G
	boot <<-END >/dev/null
		mount -t ext4 -o noatime,commit=300,$4 \$disk /mnt || exit 1
		mkdir /mnt/tree
		trees create /mnt/tree $SEEK_DIRS 15
		umount /mnt
	END
	kernel=$3
	GUEST_MEM=$SEEK_MEM
	boot <<-END >"$work/got"
		queue=/sys/block/\${disk#/dev/}/queue
		grep -q '\[mq-deadline\]' \$queue/scheduler || exit 1
		echo 128 >\$queue/nr_requests
		numbers() {
			sed 's/\.//' /proc/uptime
			awk '{ print \$1, int(\$3 / 8), \$5, int(\$7 / 8) }' \
				\${queue%queue}stat
		}
		mount -t ext4 -o noatime,$4 \$disk /mnt || exit 1
		numbers >/tmp/before
		rm -rf /mnt/tree
		sync
		numbers >/tmp/after
		echo \$(cat /tmp/before /tmp/after) | awk '{
			print (\$7 - \$1) / 100, \$9 - \$3, \$10 - \$4,
				\$11 - \$5, \$12 - \$6
		}'
		umount /mnt
	END
	clean
	# shellcheck disable=SC2046,SC2059
	printf "$row" "$1" $(cat "$work/got")
}

workload stock "$stock" "$slow_stock" defaults
for reserve in low normal; do
	workload $reserve "$patched" "$slow_patched" dir_ireserve=$reserve
done
