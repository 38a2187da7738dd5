# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# series: fixes
# es_shrinker_info is read while inodes are evicted.  Every listed inode has
# cached extents, because evicted inodes are removed from the shrinker's list.
. "$(dirname "$0")/common.sh"
new_disk 64
boot <<-END >"$work/got"
	mount -t ext4 \$disk /mnt || exit 1
	cd /proc/fs/ext4/\${disk#/dev/}
	(while [ ! -e /tmp/end ]; do cat es_shrinker_info; done) >/tmp/info &
	n=0
	while [ \$n -lt 100 ]; do
		writes random direct /mnt/f 256 32 \$n || exit 1
		rm /mnt/f
		n=\$((n + 1))
	done
	touch /tmp/end
	wait
	grep "inode (" /tmp/info | sort | uniq -c
	cd /
	umount /mnt
END
clean
awk '{ n += $1; bad += $4 == "(0" ? $1 : 0 }
	END {
		printf "%d inodes shown, %d of them gone\n", n, bad
		exit !n || bad > 0
	}' "$work/got" || fail "es_shrinker_info shows evicted inodes"
