# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Makes many directories, and then 15 files in each directory, one file per
# directory and round. With dir_ireserve, the inodes of a directory are in three
# blocks of the inode table: the block of the directory, the block of its first
# file, and one block of its window. The stock kernel uses 16 blocks.
. "$(dirname "$0")/common.sh"
dirs=${LOCALITY_DIRS:-1000}
bytes=${LOCALITY_BYTES:-0}	# bytes per file
columns='%-8s%8s%9s%9s%8s%8s%8s%8s%8s%8s%8s%9s\n'
# shellcheck disable=SC2059
row() {
	printf "$columns" "$@"
}
row "" inode- created "" "" "" removed, cold "" "" "" e2fsck
row "" blocks writes blocks s "cpu ms" reads blocks writes s "cpu ms" inodes

# now NAME [WORD]: print word number WORD (default: 1) of the line NAME in
# $work/got
now() {
	sed -n "s/^$1 //p" "$work/got" | cut -d ' ' -f "${2:-1}"
}

inodes_read() {
	dumpe2fs "$disk" 2>/dev/null | awk '
		/^Inode count:/ { n = $3 }
		/ unused inodes/ { n -= $(NF - 2) }
		END { print n }'
}

# workload NAME KERNEL OPTIONS INODES: run the workload with INODES inodes per
# directory.  Print a line, and set $blocks and, for the second run, $again to
# inode table blocks per directory (in hundredths).
workload() {
	kernel=$2
	new_disk $((dirs / 2 + 1024)) -N $((dirs * $4 * 5 / 4 + 8192))
	# shellcheck disable=SC2154
	boot <<-END >"$work/got"
		stat() {
			sync
			awk '{ print \$1, int(\$3 / 8), \$5, int(\$7 / 8) }' \
				/sys/block/\${disk#/dev/}/stat
		}
		# since BEFORE AFTER: prints the differences between two lines of numbers
		since() {
			echo \$((\$5 - \$1)) \$((\$6 - \$2)) \$((\$7 - \$3)) \
				\$((\$8 - \$4))
		}
		mount -t ext4 -o commit=300,$3 \$disk /mnt || exit 1
		was=\$(stat)
		echo create \$(trees create /mnt $dirs 15 $bytes)
		echo written \$(since \$was \$(stat))
		echo blocks \$(trees locality /mnt $dirs 16)
		umount /mnt
		mount -t ext4 -o commit=300,$3 \$disk /mnt
		was=\$(stat)
		echo remove \$(trees remove /mnt $dirs 15)
		echo removed \$(since \$was \$(stat))
		umount /mnt
		mount -t ext4 -o commit=300,$3 \$disk /mnt
		trees create /mnt $dirs 15 $bytes >/dev/null
		echo again \$(trees locality /mnt $dirs 16)
		umount /mnt
	END
	clean
	blocks=$(now blocks)
	again=$(now again)
	row "$1" "$((blocks / 100)).$((blocks % 100))" \
		"$(now written 3)" "$(now written 4)" \
		"$(now create)" "$(now create 2)" \
		"$(now removed)" "$(now removed 2)" "$(now removed 3)" \
		"$(now remove)" "$(now remove 2)" "$(inodes_read)"
}

workload stock "$stock" defaults 64
[ "$blocks" -gt 1000 ] || fail "the workload does not spread the inodes"
for reserve in off:64 low:16 normal:64 high:128; do
	workload ${reserve%:*} "$patched" dir_ireserve=${reserve%:*} \
		${reserve#*:}
	case $reserve in
	off*) [ "$blocks" -gt 1000 ] || fail "off is not off" ;;
	*) [ $((blocks > again ? blocks : again)) -le 310 ] ||
		fail "more than 3.1 blocks a directory, or $again/100 again" ;;
	esac
done
