# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um
# A filesystem made with mke4fs --grow-to grows to the planned size while it is
# mounted, as at the first boot.
. "$(dirname "$0")/common.sh"
[ "${top_builddir-}" ] || skip "no mke4fs without top_builddir"

kernel=$stock
mkdir "$work/src"
head -c 300000 /dev/urandom >"$work/src/file"
for options in "-b 4096" "-b 1024" "-b 4096 -O meta_bg,^resize_inode" \
	"-b 4096 -O bigalloc"; do
	rm -f "$disk"
	# shellcheck disable=SC2086
	"$top_builddir/misc/mke4fs" -q $options --grow-to=3G -d "$work/src" \
		"$disk" || fail "mke4fs $options"
	truncate -s 3G "$disk"
	bs=$(dumpe2fs -h "$disk" 2>/dev/null | sed -n 's/^Block size: *//p')
	boot <<-END >/dev/null
		mount -t ext4 \$disk /mnt || exit 1
		grow /mnt $((3072 * 1048576 / bs)) || exit 1
		umount /mnt
	END
	clean
	blocks=$(dumpe2fs -h "$disk" 2>/dev/null |
		sed -n 's/^Block count: *//p')
	[ "$blocks" = $((3072 * 1048576 / bs)) ] ||
		fail "$options: grown to $blocks blocks of $bs"
	debugfs -R "dump /file $work/file" "$disk" 2>/dev/null
	cmp "$work/file" "$work/src/file"
	echo "ok: $options"
done
