# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# releases: 7.2 7.3
# Fast commits: a file that is changed while a fast commit writes back data is
# logged together with its names and attributes, or not at all.  Each write to the
# disk takes 200 ms.
. "$(dirname "$0")/common.sh"

# window CHANGE: print "ok" if the filesystem has no errors after CHANGE during a fast
# commit and a power cut after the commit
window() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,nodelalloc,commit=300 \$disk /mnt || exit 1
		: >/mnt/g
		: >/mnt/n
		: >/mnt/big
		ln /mnt/n /mnt/m
		umount /mnt
		delay \$disk 0 200
		mount -t ext4 -o noatime,nodelalloc,dioread_lock,commit=300 /dev/dm-0 /mnt ||
			exit 1
		: >/mnt/h
		sync
		yes | dd of=/mnt/big bs=64k count=4 iflag=fullblock conv=notrunc 2>/dev/null
		chmod 600 /mnt/n
		touch /mnt/g
		{ sync /mnt/g || exit 1; poweroff -f -n; } &
		usleep 60000
		$1
		wait
	END
	replayed && echo "ok"
}

for change in "rm /mnt/m" "ln /mnt/n /mnt/o" "mv /mnt/n /mnt/p" \
	"setxattr /mnt/n user.x 1000"; do
	kernel=$stock
	echo "stock: ${change%% *}: $(window "$change" 2>"$work/err")"
	kernel=$patched
	complains=
	got=$(window "$change")
	[ "$got" = ok ] || fail "${change%% *}: $got: $(cat "$work/fsck")"
done
echo "ok: files that are changed while a fast commit writes back data"
