#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack repacks a filesystem that is mounted in several places, some of them
# bind mounts of a subtree or read-only.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program unshare getfattr

aged "$work/img" <<'END'
size 128M
interleave /data count 8 rounds 8 blocks 1
interleave /more count 8 rounds 8 blocks 1
interleave /rest count 8 rounds 8 blocks 1
END
mount_image "$work/img" "$work/mnt"
fragments() { filefrag "$@" | sed 's/.*: \([0-9]*\) ex.*/\1/' | sort -n | tail -1; }
bind() {
	mkdir -p "$2"
	check mount --bind "$1" "$2"
	defer "umount '$2'"
}

# A directory that is also mounted elsewhere selects the filesystem of the
# directory.
bind "$work/mnt/data" "$work/part"
check "$e4repack" "$work/part"
same "fragments of the target" "$(fragments "$work"/mnt/data/*)" 1
same "fragments of others" "$(fragments "$work"/mnt/more/*)" 8

# A filesystem with a writable mount is not read-only, even if the last mount is
# read-only.
bind "$work/mnt" "$work/all"
check mount -o remount,bind,ro "$work/all"
check "$e4repack" "$work/mnt/more"
same "fragments" "$(fragments "$work"/mnt/more/*)" 1

# Tunables are read from the root of the filesystem, not from the root of the
# last mount.
bind "$work/mnt/data" "$work/late"
check "$tune4fs" -E extent_max_zeroout_kb=64 "$loop"
same "where tunables are" "$(getfattr --absolute-names -m trusted -R \
	"$work/mnt" | grep '^# file')" "# file: $work/mnt"

# If only a subtree of the filesystem is mounted, the run is refused.
can_unshare || exit 0
# shellcheck disable=SC2016
mustfail 1 unshare -m sh -c 'umount "$2" && umount "$3" && "$1" "$4"' sh \
	"$e4repack" "$work/all" "$work/mnt" "$work/part"
one_sentence e4repack
says 'root directory .*visible'
check "$e4repack" "$work/mnt"
same "fragments of all" "$(fragments "$work"/mnt/*/*)" 1
