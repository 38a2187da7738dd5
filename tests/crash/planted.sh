#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The harness finds lost states if an error is planted in the operation.
. "${top_srcdir:?}/tests/crash/common.sh"

must_lose() {
	crash -1 -e 2 -c csum3-64bit-1k "$@" states >"$TMPDIR/out" 2>&1 &&
		fail "nothing is lost with $*"
	grep -q '^csum3-64bit-1k: .* [1-9][0-9]* lost$' "$TMPDIR/out" ||
		fail "with $*: $(tail -n 3 "$TMPDIR/out")"
	echo "planted $*: $(tail -n 1 "$TMPDIR/out")"
}

# reuse freed blocks before their transaction is durable
must_lose -n 1 -r
# omit the flush between the log of a transaction and the journal's superblock
must_lose -n 1500 -f 8
# omit the flush between the journal's superblock and the checkpoint
must_lose -n 1500 -f 9
# omit the flush between the last checkpoint and the emptying of the journal
must_lose -n 1500 -f 34
# a repack: omit the flush between the journal's superblock and the checkpoint
must_lose -o repack -n 1500 -f 3
# tunables: omit the flush between the journal's superblock and the checkpoint
must_lose -o tunables -n 200 -f 9
# changes by libext2fs: omit the flush between the journal's superblock and the
# checkpoint
must_lose -o change -n 200 -f 9
# a rebuilt directory: omit the flush between the journal's superblock and the
# checkpoint
must_lose -o compact -n 200 -f 27
# renumbered inodes: omit the flush between the journal's superblock and the
# checkpoint
must_lose -o inodes -n 200 -f 3
# discard the blocks that a transaction frees before the transaction is durable
must_lose -o discard -n 200 -d
