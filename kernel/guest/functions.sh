# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-only
# Functions to measure in guests. $on is the measured disk, by default $disk.
: "${on:=${disk:?}}"

# touch_memory: uses half of the memory once, because the first use of a page
# is more expensive for the host.
touch_memory() {
	dd if=/dev/zero of=/tmp/used bs=1M 2>/dev/null \
		count="$(awk '/^MemTotal/ { print int($2 / 2100) }' /proc/meminfo)"
	rm /tmp/used
}

numbers() {
	sync
	awk '{ print $1, int($3 / 8), $5, int($7 / 8) }' \
		"/sys/block/${on#/dev/}/stat"
	awk '{ print int($1 * 1000) }' /proc/uptime
	awk '/^cpu / { print ($2 + $3 + $4) * 10 }' /proc/stat
}

# step NAME COMMAND...: prints the amount of data that reached the disk, the
# duration in seconds, the CPU time of all processes in milliseconds, and the CPU
# time that COMMAND prints, if any.
step() {
	name=$1
	shift
	numbers >/tmp/before
	"$@" >/tmp/own || exit 1
	numbers >/tmp/after
	# shellcheck disable=SC2046
	echo "$name" $(cat /tmp/before /tmp/after /tmp/own) | awk '{
		printf "%-22s%9d%9d%9d%9d%9.2f%9d%9s\n", $1, $8 - $2, $9 - $3,
			$10 - $4, $11 - $5, ($12 - $6) / 1000, $13 - $7, $15
	}'
}
