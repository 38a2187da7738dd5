# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# e4repack runs in a guest.  With the patched kernel, open files that are
# written to at the same time get few extents.  With the stock kernel, e4repack
# counts the extents that only the patched kernel can join.
. "$(dirname "$0")/common.sh"
blocks=8192

take_e4repack

# repack KERNEL: print the output of e4repack for two files
repack() {
	kernel=$1
	garbage_disk 128
	boot <<-END >"$work/got"
		export LD_LIBRARY_PATH=/lib
		mount -t ext4 \$disk /mnt || exit 1
		join mosaic /mnt/file $blocks 1 || exit 1
		writes random direct /mnt/direct $blocks 2000 5 || exit 1
		exec 8</mnt/file
		/e4repack --zeroout=1M --zeroout-budget=4M --only=trees /mnt \
			2>&1 || exit 1
		writes random direct /mnt/new 2048 1500 6 &
		/e4repack --zeroout=1M /mnt 2>&1 || exit 1
		wait
		/e4repack --zeroout=1M /mnt 2>&1 || exit 1
		/e4repack --zeroout=1M --json /mnt || exit 1
		exec 8<&-
		echo 3 >/proc/sys/vm/drop_caches
		join check /mnt/file $blocks 1 || exit 1
		writes check /mnt/direct $blocks 2000 5 || exit 1
		writes check /mnt/new 2048 1500 6 || exit 1
		umount /mnt
	END
	clean
}

repack "$patched"
grep -q "Skipped: .*--zeroout-budget is used up" "$work/got" ||
	fail "the budget: $(cat "$work/got")"
grep -q '"bytes_zeroed": 0' "$work/got" || fail "no report"
! grep -q '"bytes_zeroed": [1-9]' "$work/got" ||
	fail "the last: $(cat "$work/got")"
for name in file direct new; do
	n=$(extents /$name)
	if [ "$n" = 0 ] || [ "$n" -gt 20 ]; then
		fail "$name: $n extents: $(cat "$work/got")"
	fi
	echo "ok: $name: $n extents"
done

repack "$stock"
grep -q "Skipped: .*merged unmounted" "$work/got" ||
	fail "the stock kernel: $(cat "$work/got")"
[ "$(extents /file)" -ge $((blocks / 2)) ] || fail "/file was changed"
echo "ok: counted with the stock kernel"
