# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# Mount options in the superblock: an unknown option is skipped, and all other
# options apply.
. "$(dirname "$0")/common.sh"
complains=ok	# the kernel warns of each unknown option

# mounted: print which of the options max_dir_size_kb=77 and init_itable=7 are
# in effect, and the number of warnings
mounted() {
	boot <<-END | tr '\n' ' '
		mount -t ext4 \$disk /mnt || exit 1
		tr ', ' '\n' </proc/mounts | grep -e ^max_dir_size_kb=77 \
			-e ^init_itable=7
		dmesg | grep -c "skipped unknown option"
		umount /mnt
	END
}

# expect WHAT OPTIONS WANT: store OPTIONS in the superblock; mounted must print
# WANT
expect() {
	debugfs -w -R "ssv mount_opts $2" "$disk" 2>/dev/null
	got=$(mounted)
	[ "$got" = "$3 " ] || fail "$1: $got, not $3"
	clean
	echo "ok: $1"
}

new_disk 16
kernel=$stock
expect "stock: both" max_dir_size_kb=77,init_itable=7 \
	"init_itable=7 max_dir_size_kb=77 0"
expect "stock: an unknown one drops all" \
	max_dir_size_kb=77,colour=red,init_itable=7 "0"
kernel=$patched
expect "unknown ones in the middle" \
	max_dir_size_kb=77,colour=red,smell,init_itable=7 \
	"init_itable=7 max_dir_size_kb=77 2"
expect "an unknown one first" nothing,max_dir_size_kb=77 "max_dir_size_kb=77 1"
expect "nothing but unknown" smell "1"
expect "a bad value drops all" max_dir_size_kb=77,init_itable=red "0"
