# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits: if the journal is aborted while holes are punched in files without
# extents, and their handles are restarted, the calls fail without further damage.
. "$(dirname "$0")/common.sh"

for tenths in 1 2 3 4 5 6; do
	new_disk 96 -b 1024 -O fast_commit -J size=4
	expected='Detected aborted journal\|shut down requested'
	start <<-END
		mount -t ext4 \$disk /mnt || exit 1
		for n in 1 2 3 4; do
			: >/mnt/\$n
			migrate blocks /mnt/\$n || exit 1
			dd if=/dev/zero of=/mnt/\$n bs=1M count=12 \
				2>/dev/null || exit 1
		done
		sync
		while [ ! -e /tmp/done ]; do sync; done &
		for n in 1 2 3 4; do
			punch /mnt/\$n 12582912 2>/dev/null
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
echo "ok: the journal was aborted six times"
