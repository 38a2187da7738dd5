# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Random writes of 4 KiB to a preallocated file leave a number of extents that
# depends on extent_max_zeroout_kb. Each write is synced, or one fsync() follows
# all writes. A default mount of the patched kernel must leave as many extents
# as the stock kernel with dioread_lock, buffered and direct. If no limit is
# set, the patched kernel must leave as many extents as the stock kernel.
. "$(dirname "$0")/common.sh"
blocks=${ZEROOUT_BLOCKS:-8192}
writes=$((blocks / 8))
limits="unset 0 28 64 128 256 512 1024"

# table HOW OPTIONS: print the number of extents for each limit; for "unset", no
# limit is set
table() {
	new_disk $((blocks * 9 / 256 + 64))
	# shellcheck disable=SC2154
	boot <<-END >/dev/null
		for kb in $limits; do
			mount -t ext4 -o $2 \$disk /mnt
			[ \$kb = unset ] || echo \$kb \
				>/sys/fs/ext4/\${disk#/dev/}/extent_max_zeroout_kb
			writes random $1 /mnt/\$kb $blocks $writes 1 || exit 1
			umount /mnt
			mount -t ext4 \$disk /mnt
			writes check /mnt/\$kb $blocks $writes 1 || exit 1
			umount /mnt
		done
	END
	clean
	for kb in $limits; do
		extents "/$kb"
	done | tr '\n' ' '
}

# row NAME HOW OPTIONS: print the table with the title NAME, and set $got to the
# table
row() {
	got=$(table "$2" "$3")
	printf '%-36s%s\n' "$1, $2" "$got"
}

# alike PERCENT: fail unless $got and $want agree within PERCENT.  Commits
# during the writes change the counts slightly.  Linux 7.3 zeroes when the I/O
# has finished, and may leave fewer extents.
alike() {
	echo "$want $got" | awk -v percent="$1" -v release="$release" '{
		for (i = 1; i <= NF / 2; i++) {
			more = $(i + NF / 2) - $i
			limit = $i * percent / 100 + 2
			if (more > limit ||
			    (more < -limit && release == "6.12"))
				exit 1
		}
	}' || fail "the tables differ by more than $1 %"
}

printf '%-36s%s\n' "chunk limit, KiB" "$limits"
for how in late sync direct; do
	kernel=$stock
	row "stock, default mount" $how defaults
	default=$got
	if [ $how != direct ]; then
		row "stock, dioread_lock" $how dioread_lock
		locked=${got#* }
	fi
	kernel=$patched
	row "patched, default mount" $how defaults
	unset=${got%% *} got=${got#* } want=$locked
	[ $how = late ] || alike 2
	got=$unset want=${default%% *}
	alike 0
done
