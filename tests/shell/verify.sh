#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --verify checks the written data, and an error fails the program.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs

probe=$top_builddir/tests/tools/verify_probe
img=$work/img

aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
cp "$img" "$work/copy"
check "$e4repack" --verify "$img"
sound "$img"

# Errors in the filesystem are reported.
check "$probe" "$img"
check debugfs -w -R 'set_inode_field /split links_count 3' "$img"
mustfail 1 "$probe" "$img"
says "$img: inode-links, inode [0-9]*: .* 3, "
says "$img: .*1 error: run e2fsck -f $img"
cp "$work/copy" "$img"
check "$e4repack" -n --verify "$img"

# --verify checks a new filesystem, also at an offset.
mkdir -p "$work/tree/d"
seq 5000 >"$work/tree/d/file"
check "$mke4fs" -q --verify -d "$work/tree" "$work/new" 16M
sound "$work/new"
truncate -s 20M "$work/disk"
check "$mke4fs" -q -F --verify -E offset=4194304 -d "$work/tree" \
	"$work/disk" 16M
tail -c +4194305 "$work/disk" >"$work/part"
sound "$work/part"
