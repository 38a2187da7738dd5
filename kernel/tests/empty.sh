# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/empty only: measures the time to make empty directories after
# the memory was used for other data.
. "$(dirname "$0")/common.sh"
: "${EMPTY_DIRS:=40000}" "${EMPTY_ROUNDS:=10}" "${GUEST_MEM:=3G}"

# timed NAME KERNEL OPTIONS: append the seconds of one round to $work/NAME.
timed() {
	kernel=$2
	new_disk 8192 -N 4000000 -J size=1024
	boot <<-END >>"$work/$1"
		. /guest/functions.sh
		touch_memory
		mount -t ext4 -o noatime,commit=300,$3 \$disk /mnt || exit 1
		now() {
			cut -d ' ' -f 1 /proc/uptime
		}
		first=\$(now)
		trees create /mnt $EMPTY_DIRS 0 >/dev/null
		made=\$(now)
		sync
		echo \$first \$made \$(now) |
			awk '{ print \$2 - \$1, \$3 - \$2 }'
		umount /mnt
	END
}

round=0
while [ $round -lt "$EMPTY_ROUNDS" ]; do
	round=$((round + 1))
	timed stock "$stock" defaults
	for reserve in off low normal; do
		timed $reserve "$patched" dir_ireserve=$reserve
	done
done
clean
printf '%-8s%10s%10s\n' "medians" create sync
for which in stock off low normal; do
	for column in 1 2; do
		cut -d ' ' -f $column "$work/$which" | sort -n |
			sed -n "$(((EMPTY_ROUNDS + 1) / 2))p"
	done | xargs printf '%-8s%10s%10s\n' $which
done
