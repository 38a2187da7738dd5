# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits and inline data: fsync() of a file returns while another file
# with inline data has unwritten data after a hole. If the other file is synced
# later, its data survives a power cut.
. "$(dirname "$0")/common.sh"

# returned: print "yes" if the first fsync() returned within 10 seconds
returned() {
	new_disk 32 -I 256 -O fast_commit,inline_data
	cut_power <<-END
		mount -t ext4 -o noatime,commit=600 \$disk /mnt || exit 1
		: >/mnt/g
		sync
		yes | head -c 20 >/mnt/f
		touch /mnt/g
		yes | dd of=/mnt/f bs=4096 seek=1 count=1 conv=notrunc \
			2>/dev/null
		{ sync /mnt/g || exit 1; : >/tmp/returned; } &
		for tenth in \$(seq 100); do
			[ ! -e /tmp/returned ] || break
			usleep 100000
		done
		[ ! -e /tmp/returned ] || {
			echo yes
			sync /mnt/f || exit 1
		}
		poweroff -f -n
	END
}

kernel=$stock
got=$(returned)
echo "stock: fsync returns: ${got:-no}"
kernel=$patched
for try in 1 2 3; do
	[ "$(returned)" = yes ] || fail "fsync does not return"
	replay
	clean
	got=$(debugfs -R "cat /f" "$disk" 2>/dev/null | tr -dc 'y\n' | wc -c)
	[ "$got" = 4116 ] || fail "$got bytes of 4116 are there"
done
echo "ok: fsync beside a file that is outgrowing its inode"
