# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: the filesystem can be mounted if the power was cut while a fast
# commit of several blocks was being written, or was abandoned because of an
# unlinked file.
. "$(dirname "$0")/common.sh"

# cut HOW MS: cut the power MS ms after the start of a fast commit of 60 inodes
# whose blocks take 100 ms each. HOW is "named" if the file being written has a
# name.
cut() {
	new_disk 64 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,commit=600 \$disk /mnt || exit 1
		n=0
		while [ \$n -lt 60 ]; do : >/mnt/n\$n; n=\$((n + 1)); done
		: >/mnt/g
		: >/mnt/f
		umount /mnt
		delay \$disk 0 100
		mount -t ext4 -o noatime,commit=600 /dev/dm-0 /mnt || exit 1
		touch /mnt/g
		sync
		exec 9<>/mnt/f
		[ $1 = named ] || rm /mnt/f
		sync
		n=0
		while [ \$n -lt 60 ]; do touch /mnt/n\$n; n=\$((n + 1)); done
		touch /mnt/g
		chmod 600 /proc/self/fd/9
		sync /mnt/g &
		usleep ${2}000
		poweroff -f -n
	END
	replayed
}

moments="120 160 200 240"
for how in named unnamed; do
	kernel=$stock
	bad=0
	for ms in $moments; do
		cut $how "$ms" >"$work/said" 2>&1 || bad=$((bad + 1))
	done
	echo "stock: $how: $bad of 4 are not mounted"
	kernel=$patched
	for ms in $moments; do
		got=$(cut $how "$ms") || fail "$how, after $ms ms: $got"
	done
done
echo "ok: mounted after a fast commit that was cut"
