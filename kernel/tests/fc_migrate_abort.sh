# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: if the journal is aborted while files are converted to extents, and
# their handles are restarted, the calls fail without further damage.
. "$(dirname "$0")/common.sh"

for tenths in 1 2 3 4; do
	new_disk 32 -O fast_commit
	expected='Detected aborted journal\|shut down requested'
	start <<-END
		mount -t ext4 -o nodelalloc \$disk /mnt || exit 1
		for n in 1 2 3 4 5 6; do
			: >/mnt/\$n
			migrate blocks /mnt/\$n || exit 1
			dd if=/dev/zero of=/mnt/\$n bs=4k seek=12 count=1 \
				2>/dev/null || exit 1
		done
		while [ ! -e /tmp/done ]; do sync; done &
		for n in 1 2 3 4 5 6; do
			migrate extents /mnt/\$n 2>/dev/null
		done &
		job=\$!
		usleep ${tenths}37000
		down /mnt
		wait \$job
		: >/tmp/done
		wait
		umount /mnt
	END
	ended
done
echo "ok: the journal was aborted four times"
