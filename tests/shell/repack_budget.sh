#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With a budget, zeroing reaches the lowest possible number of extents at the
# lowest possible cost, compared with every other choice.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_program /usr/bin/python3

/usr/bin/python3 - "$work" <<'END'
import itertools
import random
import sys

random.seed(3)


def extents(runs, zeroed):
    """How many a file has; no run is long enough to be cut."""
    states = [r[1] or i in zeroed for i, r in enumerate(runs)]
    return sum(not i or s != states[i - 1] for i, s in enumerate(states))


with open(sys.argv[1] + "/recipe", "w") as recipe, \
        open(sys.argv[1] + "/cases", "w") as cases:
    for case in range(16):
        written = random.random() < .5
        runs = []
        for i in range(random.randint(3, 17)):
            runs.append((random.randint(1, 6), written))
            written = not written
        unwritten = [i for i, r in enumerate(runs) if not r[1]]
        budget = random.randint(0, 18)
        best = min((extents(runs, c), sum(runs[i][0] for i in c))
                   for n in range(len(unwritten) + 1)
                   for c in itertools.combinations(unwritten, n)
                   if sum(runs[i][0] for i in c) <= budget)
        at, text = 0, ""
        for length, written in runs:
            text += f" {at}+{length}{'w' if written else 'u'}"
            at += length
        recipe.write(f"file /f{case} extents{text}\n")
        cases.write(f"/f{case} {budget * 4} {best[0]} {best[1] * 4096}\n")
END
aged "$img" <"$work/recipe"
digest -z "$img" >"$work/before"
while read -r path budget extents bytes; do
	what="$path, $budget KiB"
	repack --only=trees --zeroout=1M \
		--zeroout-budget="${budget}K" "$img" "$path"
	reported "after.extents $extents" "cost.bytes_zeroed $bytes"
done <"$work/cases"
digest -z "$img" >"$work/after"
unchanged "$work/before" "$work/after"
clean "$img"
