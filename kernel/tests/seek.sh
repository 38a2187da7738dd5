# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/seek only, whose kernels have a disk with one head: the
# workload of 2007 with plenty of memory, then all is removed with less than
# there is metadata.
. "$(dirname "$0")/common.sh"
: "${SEEK_DIRS:=5000}" "${SEEK_MEM:=40M}"
row='%-8s%-8s%10s%10s%10s%10s%10s\n'
# shellcheck disable=SC2059
printf "$row" "" "" seconds reads blocks writes blocks

# In the guest: "step COMMAND..." prints the seconds and what reached the disk.
cat >"$work/functions" <<'E2'
queue=/sys/block/${disk#/dev/}/queue
grep -q '\[mq-deadline\]' $queue/scheduler || exit 1
echo 128 >$queue/nr_requests
numbers() {
	sync
	sed 's/\.//' /proc/uptime
	awk '{ print $1, int($3 / 8), $5, int($7 / 8) }' ${queue%queue}stat
}
step() {
	numbers >/tmp/before
	"$@" >/dev/null || exit 1
	numbers >/tmp/after
	echo $(cat /tmp/before /tmp/after) | awk '{
		print ($7 - $1) / 100, $9 - $3, $10 - $4, $11 - $5, $12 - $6
	}'
}
E2

# workload NAME KERNEL OPTIONS
workload() {
	kernel=$2
	new_disk $((SEEK_DIRS / 4 + 512)) -N $((SEEK_DIRS * 64 * 5 / 4 + 8192))
	run "$1" create 2G "$3" "trees create /mnt/tree $SEEK_DIRS 15"
	run "$1" remove "$SEEK_MEM" "$3" "rm -rf /mnt/tree"
}

# run NAME WHAT MEMORY OPTIONS COMMAND
run() {
	GUEST_MEM=$3
	boot <<-END >"$work/got"
		$(cat "$work/functions")
		mount -t ext4 -o noatime,$4 \$disk /mnt || exit 1
		mkdir -p /mnt/tree
		step $5
		umount /mnt
	END
	clean
	# shellcheck disable=SC2046,SC2059
	printf "$row" "$1" "$2" $(cat "$work/got")
}

workload stock "$stock" defaults
for reserve in low normal; do
	workload $reserve "$patched" dir_ireserve=$reserve
done
