# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: fsync() flushes the disk cache if it relied on the fast commit
# of another task. If there is nothing to commit, fsync() flushes the cache only
# once. Each write to the disk takes 200 ms, so that both tasks run at once.
. "$(dirname "$0")/common.sh"

# flushes: print the number of cache flushes for fsync() of /g, for fsync() of /g
# next to a write and fsync() of /f, and for ten times fsync() of /f
flushes() {
	new_disk 32 -O fast_commit
	boot <<-END
		beside() {
			writes once direct /mnt/f 0 1 || exit 1
			sync /mnt/f || exit 1
		}
		# count COMMAND...: print the number of flushes during COMMAND
		count() {
			on=/sys/block/\${disk#/dev/}/stat
			before=\$(awk '{ print \$16 }' \$on)
			"\$@" || exit 1
			wait
			awk -v n=\$before '{ print \$16 - n }' \$on
		}
		both() {
			beside &
			usleep 50000
			sync /mnt/g || exit 1
		}
		ten() {
			for n in 1 2 3 4 5 6 7 8 9 10; do
				sync /mnt/f || exit 1
			done
		}
		delay \$disk 0 200
		mount -t ext4 -o noatime,commit=600 /dev/dm-0 /mnt || exit 1
		: >/mnt/f
		: >/mnt/g
		writes once direct /mnt/f 0 0 || exit 1
		sync
		touch /mnt/g
		count sync /mnt/g
		touch /mnt/g
		count both
		sync
		count ten
		umount /mnt
	END
}

kernel=$stock
flushes | paste -sd ' ' | sed 's/^/stock: flushes, alone, both, and ten times: /'
kernel=$patched
flushes >"$work/flushes"
{ read -r alone; read -r both; read -r ten; } <"$work/flushes"
[ "$alone" -gt 0 ] || fail "fsync flushes nothing"
[ "$both" -gt "$alone" ] || fail "beside another: $both flushes, as for one"
[ "$ten" = 10 ] || fail "nothing to commit, ten times: $ten flushes"
clean
echo "ok: $alone, $both, and $ten flushes"
