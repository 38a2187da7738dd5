# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# e4repack runs repeatedly on a mounted filesystem for WRITERS_SECONDS, with
# either kernel, beside writers that change files in many ways and verify every
# byte.
. "$(dirname "$0")/common.sh"
: "${WRITERS_SECONDS:=15}"
take_e4repack
cp "$top_builddir/tests/tools/writers" "$work/case/" 2>/dev/null ||
	skip "the writers are not built"

# repack KERNEL NAME: run e4repack beside the writers
repack() {
	kernel=$1
	garbage_disk 256
	boot <<-END >"$work/said"
		export LD_LIBRARY_PATH=/lib
		mount -t ext4 \$disk /mnt || exit 1
		/writers /mnt $WRITERS_SECONDS 1 >/tmp/writers 2>&1 &
		writers=\$!
		runs=0
		while kill -0 \$writers 2>/dev/null; do
			/e4repack -q --zeroout=1M /mnt >/tmp/said 2>&1 || {
				cat /tmp/said
				exit 1
			}
			runs=\$((runs + 1))
		done
		wait \$writers || {
			cat /tmp/writers
			exit 1
		}
		echo \$runs runs, \$(cat /tmp/writers)
		umount /mnt
	END
	clean
	echo "ok: $2 kernel, $(cat "$work/said")"
}

repack "$patched" patched
repack "$stock" stock
