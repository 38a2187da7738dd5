# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# Run by measure/mosaic only: EXT4_IOC_JOIN_EXTENTS joins a file of MOSAIC_MIB
# MiB.  In the file, runs of MOSAIC_RUN written blocks and of MOSAIC_RUN
# unwritten blocks alternate.
. "$(dirname "$0")/common.sh"
: "${MOSAIC_MIB:=1024}" "${MOSAIC_RUN:=4}" "${GUEST_MEM:=768M}"
blocks=$((MOSAIC_MIB * 256))
printf '%-22s%9s%9s%9s%9s%9s%9s\n' "" reads blocks writes blocks s "cpu ms"

garbage_disk $((MOSAIC_MIB * 5 / 4))
boot <<-END
	mount -t ext4 -o noatime \$disk /mnt || exit 1
	. /guest/functions.sh
	step mosaic join mosaic /mnt/file $blocks $MOSAIC_RUN
	umount /mnt
END
clean
echo "$(extents /file) extents, $(tree_blocks /file) blocks of the tree"
boot <<-END
	mount -t ext4 -o noatime \$disk /mnt || exit 1
	. /guest/functions.sh
	step "joined" join call /mnt/file $MOSAIC_RUN
	umount /mnt
	mount -t ext4 -o noatime \$disk /mnt || exit 1
	step read join check /mnt/file $blocks $MOSAIC_RUN
	step again join call /mnt/file $MOSAIC_RUN
	umount /mnt
END
clean
echo "$(extents /file) extents, $(tree_blocks /file) blocks of the tree"

# e4repack joins the extents of the file while another program has the file
# open.
[ "${top_builddir-}" ] || exit 0
take_e4repack
garbage_disk $((MOSAIC_MIB * 5 / 4))
boot <<-END
	export LD_LIBRARY_PATH=/lib
	mount -t ext4 -o noatime \$disk /mnt || exit 1
	. /guest/functions.sh
	join mosaic /mnt/file $blocks $MOSAIC_RUN || exit 1
	exec 8</mnt/file
	step e4repack /e4repack -q --zeroout=1M /mnt
	exec 8<&-
	step read join check /mnt/file $blocks $MOSAIC_RUN
	umount /mnt
END
clean
echo "$(extents /file) extents, $(tree_blocks /file) blocks of the tree"
