# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# The workload of 2007: many directories, then 15 files in each, one in every
# directory before the next.  With dir_ireserve, what a directory's inodes take
# of the inode table is one block and a bit, where stock has 16.
. "$(dirname "$0")/common.sh"
dirs=${LOCALITY_DIRS:-1000}
printf '%-18s%10s%10s%12s%10s%10s%10s\n' "" "blocks" "written" "read, rm" \
	"create" "remove" "fsck reads"

inodes_read() {
	dumpe2fs "$disk" 2>/dev/null | awk '
		/^Inode count:/ { n = $3 }
		/ unused inodes/ { n -= $(NF - 2) }
		END { print n }'
}

# workload NAME KERNEL OPTIONS INODES: with room for so many inodes for each
# directory; prints a line, sets $blocks (in hundredths).  "fsck reads" are the
# inodes that e2fsck looks at.
workload() {
	kernel=$2
	new_disk $((dirs / 2 + 1024)) -N $((dirs * $4 * 5 / 4 + 8192))
	# shellcheck disable=SC2154
	boot <<-END >"$work/got"
		sectors() {
			sync
			awk "{ print \\\$\$1 }" /sys/block/\${disk#/dev/}/stat
		}
		mount -t ext4 -o $3 \$disk /mnt || exit 1
		was=\$(sectors 7)
		echo create \$(trees create /mnt $dirs 15)
		echo written \$(((\$(sectors 7) - was) / 8))
		echo blocks \$(trees locality /mnt $dirs 16)
		umount /mnt
		mount -t ext4 -o $3 \$disk /mnt
		was=\$(sectors 3)
		echo remove \$(trees remove /mnt $dirs 15)
		echo read \$(((\$(sectors 3) - was) / 8))
		umount /mnt
		mount -t ext4 -o $3 \$disk /mnt
		echo again \$(trees create /mnt $dirs 15)
		echo and again \$(trees locality /mnt $dirs 16)
		umount /mnt
	END
	clean
	blocks=$(sed -n 's/^blocks //p' "$work/got")
	printf '%-18s%10s%10s%12s%10s%10s%10s\n' "$1" "$blocks" \
		"$(sed -n 's/^written //p' "$work/got")" \
		"$(sed -n 's/^read //p' "$work/got")" \
		"$(sed -n 's/^create \([^ ]*\).*/\1/p' "$work/got")" \
		"$(sed -n 's/^remove \([^ ]*\).*/\1/p' "$work/got")" \
		"$(inodes_read)"
}

workload stock "$stock" defaults 64
[ "$blocks" -gt 1000 ] || fail "the workload does not spread the inodes"
for reserve in off:64 low:16 normal:64 high:128; do
	workload ${reserve%:*} "$patched" dir_ireserve=${reserve%:*} \
		${reserve#*:}
	case $reserve in
	off*) [ "$blocks" -gt 1000 ] || fail "off is not off" ;;
	*) [ "$blocks" -le 120 ] || fail "more than 1.2 blocks a directory" ;;
	esac
done
