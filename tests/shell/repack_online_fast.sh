#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel does not record the moves of EXT4_IOC_MOVE_EXT in fast commits.
# e4repack must therefore not call EXT4_IOC_MOVE_EXT on a filesystem that is
# mounted with fast commits.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop

aged "$work/img" <<'END'
size 128M
interleave /data count 10 rounds 8 blocks 4
END
check tune2fs -O fast_commit "$work/img"
mount_image "$work/img" "$work/mnt"
check "$e4repack" --json "$work/mnt"
same "what it does" "$(json "$out" '[d["done"]["bytes_copied"], d["done"]["files"],
	[(l["count"], l["reason"]) for l in d["skipped"]]]')" \
	"[0, 0, [(10, 'fast-commit')]]"
umount "$work/mnt"
undefer "umount '$work/mnt'"
losetup -d "$loop"
undefer "losetup -d $loop"
check "$e4repack" --json "$work/img"
same "files, unmounted" "$(json "$out" 'd["done"]["files"]')" 10
sound "$work/img"
