#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Judging the layout needs no extra reads: the contents of directories are known
# from the blocks that the check reads.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs
require_strace

# The image has directories of one block, of several blocks, and of so many
# blocks that the check reads them in several parts.  Half of the files are
# deleted.
aged "$work/img" <<'END'
size 512M
mke2fs -N 90000 -m 0 -O ^has_journal
contents off
many /small count 10000 size 4K perdir 20
many /long count 30000 size 4K perdir 1500
many /huge count 25000 size 0 perdir 25000
delete /small every 2
END

# kib_read [OPTION...]: sets the number of KiB that e4check reads.
kib_read() {
	check strace -f -qq -e trace=pread64 -o "$work/trace" \
		"$e4check" --max-findings=0 "$@" "$work/img"
	awk '/pread64/ { bytes += $NF } END { printf "%d", bytes / 1024 }' \
		"$work/trace"
}

without=$(kib_read --no-layout)
with=$(kib_read)
echo "$without KiB without the layout, $with with it"
# With layout findings, e4check reads at most 64 KiB more, for the tunables.
# The directories have 2,900 KiB.
[ $((with - without)) -le 64 ] || fail "reads $((with - without)) KiB more"
only=$(kib_read --layout-only)
[ "$only" -le "$with" ] || fail "--layout-only reads $only KiB, not $with"
