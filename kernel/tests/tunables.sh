# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# Defaults in trusted.ext4.tunables apply at mount, and a mount option overrides
# them.  All other content of the attribute is skipped with one notice.  No
# content prevents a mount.
. "$(dirname "$0")/common.sh"

# mounted OPTIONS: print dir_ireserve, extent_max_zeroout_kb, mb_max_to_scan and
# the number of notices of a mount with OPTIONS
mounted() {
	boot <<-END
		mount -t ext4 -o $1 \$disk /mnt || exit 1
		cd /sys/fs/ext4/\${disk#/dev/}
		for name in dir_ireserve extent_max_zeroout_kb mb_max_to_scan; do
			cat \$name 2>/dev/null || echo -
		done
		dmesg | grep -c "tunables in the root"
		umount /mnt
	END
}

# expect WHAT OPTIONS WANT: fail unless mounted OPTIONS prints WANT
expect() {
	got=$(mounted "$2" | head -n 4 | tr '\n' ' ')
	[ "$got" = "$3 " ] || fail "$1: $got, not $3"
	clean
	echo "ok: $1"
}

new_disk 64
set_tunables dir_ireserve=64,extent_max_zeroout_kb=1024,mb_max_to_scan=1
kernel=$stock
expect "the stock kernel does not look" defaults "- 32 200 0"
kernel=$patched
expect "values of the root directory" defaults "64 1024 1 0"
expect "a mount option wins" dir_ireserve=low "16 1024 1 0"
expect "so does 0" extent_max_zeroout_kb=0 "64 0 1 0"
tune2fs -E mount_opts=dir_ireserve=128 "$disk" >/dev/null
expect "an option in the superblock wins" defaults "128 1024 1 0"
expect "a mount option wins over that" dir_ireserve=off "0 1024 1 0"

new_disk 64
expect "no attribute" defaults "0 32 200 0"
set_attribute colour=red,dir_ireserve=64,smell=,extent_max_zeroout_kb=x
expect "unknown names and bad values, one notice" defaults "64 32 200 1"
set_attribute mb_prefetch=+4294967295,mb_max_linear_groups=16,mb_max_to_scan=\ 3,inode_goal=99,mb_stats=1
expect "numbers that are none, names that are for debugging" defaults \
	"0 32 200 1"
set_attribute "$(printf 'dir_ireserve=64\033[31m,\377\376=1,mb_max_to_scan=1')"
expect "bytes that are not text" defaults "0 32 1 1"
set_attribute "dir_ireserve=64,$(yes abcdefghijklmno | head -n 100 | tr '\n' ,)"
expect "too long to read" defaults "0 32 200 1"
dd if=/dev/zero bs=100 count=1 2>/dev/null >"$work/text"
debugfs -w -R "ea_set -f $work/text / trusted.ext4.tunables" "$disk" 2>&1 |
	grep -v ^debugfs || :
expect "zeroes" defaults "0 32 200 1"

# The tunable extent_max_zeroout_kb has a range, but the stock kernel's file in
# sysfs accepts any number.
set_attribute extent_max_zeroout_kb=2097152
expect "the longest extent" defaults "0 2097152 200 0"
set_attribute extent_max_zeroout_kb=2097153
expect "longer than that" defaults "0 32 200 1"
boot <<-END >"$work/got"
	mount -t ext4 -o extent_max_zeroout_kb=2097153 \$disk /mnt \
		2>/dev/null && exit 1
	mount -t ext4 -o extent_max_zeroout_kb=2097152 \$disk /mnt || exit 1
	kb=/sys/fs/ext4/\${disk#/dev/}/extent_max_zeroout_kb
	cat \$kb
	for n in 7 4294967295; do echo \$n >\$kb && cat \$kb || exit 1; done
	umount /mnt
END
[ "$(tr '\n' ' ' <"$work/got")" = "2097152 7 2097152 " ] ||
	fail "as an option, and in sysfs: $(cat "$work/got")"
clean

# The values have an effect, and are not only shown.
new_disk 64 -N 8192
set_tunables dir_ireserve=64
boot <<-END >"$work/got"
	mount -t ext4 \$disk /mnt && cd /mnt || exit 1
	mkdir a b && ls -1di a b
	cd / && umount /mnt
END
awk 'NR == 1 { first = $1 } { last = $1 }
	END { exit first % 64 != 1 || last != first + 1 }' "$work/got" ||
	fail "the directories are not in a window: $(cat "$work/got")"
clean
