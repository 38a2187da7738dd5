# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Fast commits that remove files are replayed, with dir_ireserve.
. "$(dirname "$0")/common.sh"
new_disk 32 -O fast_commit
cut_power <<-END >/dev/null
	mount -t ext4 -o dir_ireserve=low \$disk /mnt || exit 1
	mkdir /mnt/d
	for n in 1 2 3 4 5 6 7 8; do echo \$n >/mnt/d/\$n; done
	sync
	rm /mnt/d/2 /mnt/d/5
	dd if=/dev/zero of=/mnt/d/1 bs=4096 count=1 conv=notrunc,fsync 2>/dev/null
	awk '\$2 == "commits" && \$1 == 0 { exit 1 }' \
		/proc/fs/ext4/\${disk#/dev/}/fc_info || exit 1
	poweroff -f -n
END
boot <<-END >"$work/got"
	mount -t ext4 \$disk /mnt || exit 1
	ls /mnt/d
	umount /mnt
END
clean
[ "$(tr -d ' \n' <"$work/got")" = 134678 ] || fail "after replay: $(cat "$work/got")"
echo "ok: two inodes were freed"
