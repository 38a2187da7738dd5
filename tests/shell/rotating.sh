#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On a rotating disk, the tools read blocks that are close together with one call.
# Their output is the same as on a disk that does not rotate.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_root
require_loop

# The image is in memory, so no device below the loop device reports whether it
# rotates.
memory=$(mktemp -d /dev/shm/e4l-rotating-XXXXXX) || skip "no /dev/shm"
defer "rm -rf $memory"
img=$memory/img
aged "$img" <<'END'
size 256M
contents off
repeat 300 scatter /torn% frags 6 blocks 2 gap 1
END
attach "$img"
flag=/sys/block/${loop#/dev/}/queue/rotational
[ -w "$flag" ] || skip "the kernel lets nobody say that a device rotates"
case $(stat -f -c %T "$memory") in
tmpfs|ramfs) ;;
*) skip "/dev/shm is not in memory" ;;
esac

# reads COMMAND...: sets $reads to the number of reads, and checks whether
# COMMAND reports that the disk rotates
reads() {
	check "$@" -v "$loop"
	says "gaps of up to .* \($suits\)"
	reads=$(sed -nE 's/.* in ([0-9,]+) requests .*/\1/p' "$err" | tr -d ,)
	[ "$reads" ] || { show_run; fail "the number of reads is missing"; }
	cp "$out" "$work/out-$rotates"
}

for tool in "$e4frag --json" "$e4check --json" "$e4repack -n --json"; do
	# shellcheck disable=SC2086
	for rotates in 0 1; do
		echo $rotates >"$flag"
		suits="non-rotating device"
		[ $rotates = 0 ] || suits="rotating device"
		before=${reads:-}
		reads $tool
	done
	echo "$tool: $before reads, $reads where it rotates"
	[ $((reads * 3)) -le $((before * 2)) ] ||
		fail "$tool: $reads reads on a rotating disk, $before on other disks"
	for rotates in 0 1; do
		sed -E '/(seconds|_ns|_per_s|reads|read_bytes)"/d' \
			"$work/out-$rotates" >"$work/told-$rotates"
	done
	cmp "$work/told-0" "$work/told-1" >&2 || fail "$tool: the output differs"
done

for rotates in 0 1; do
	echo $rotates >"$flag"
	check env SOURCE_DATE_EPOCH=1700000000 "$mke4fs" -q \
		-U 9f8c1c1e-3b7c-4a60-8a35-1d1d0a4f7a55 \
		-E hash_seed=9f8c1c1e-3b7c-4a60-8a35-1d1d0a4f7a55 \
		--from="$loop" "$memory/copy-$rotates"
done
cmp "$memory/copy-0" "$memory/copy-1" >&2 || fail "another copy"
sound "$memory/copy-1"
