# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# releases: 6.12
# Extents of a preallocated file after random writes of 4 KiB, each to disk
# before the next or all in the end, by chunk limit: a default mount of the
# patched kernel must give what the stock kernel gives with dioread_lock, buffered
# and direct, and what it gives by default where no limit was set.
. "$(dirname "$0")/common.sh"
blocks=${ZEROOUT_BLOCKS:-8192}
writes=$((blocks / 8))
limits="unset 0 28 64 128 256 512 1024"

# table HOW OPTIONS: the counts, by limit; "unset" sets none
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

# row NAME HOW OPTIONS: likewise, to $got
row() {
	got=$(table "$2" "$3")
	printf '%-36s%s\n' "$1, $2" "$got"
}

# alike PERCENT: $want is $got; commits in between make the stock kernel's own
# counts differ a little
alike() {
	echo "$want $got" | awk -v percent="$1" '{
		for (i = 1; i <= NF / 2; i++) {
			off = $i - $(i + NF / 2)
			if ((off < 0 ? -off : off) > $i * percent / 100 + 2)
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
