#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --files=table has the content of the lines of --files, sorted, in any width.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
esc=$(printf '\033')
debugfs -w -R "ln /split \"/data/${esc}[2J two\"" "$img" >/dev/null 2>&1
debugfs -w -R 'unlink /split' "$img" >/dev/null 2>&1

cat >"$work/table.py" <<'END'
import json, sys
table, lines, sort, least, top = sys.argv[1:]
files = [json.loads(line) for line in open(lines)]
def shown(name):
    return "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in name)
for f in files:
    f["excess"] = f["extents"] - f["ideal_extents"]
    f["size"] = f["size_bytes"]
files = sorted((f for f in files if f[sort] and f["extents"] >= int(least)),
               key=lambda f: (-f[sort], f["inode"]))[:int(top)]
rows = open(table).read().splitlines()
titles = rows.pop(0).split()
assert titles == ["excess", "extents", "fragments", "ideal", "splits", "size",
                  "path"], titles
assert len(rows) == len(files), (rows, files)
for row, f in zip(rows, files):
    cells = row.split(None, 5)
    got = [int(c.replace(",", "")) for c in cells[:5]]
    assert got == [f["excess"], f["extents"], f["fragments"],
                   f["ideal_extents"], f["splits"]], (row, f)
    assert row.endswith("  " + shown(f["path"])), (row, f)
END
check "$e4frag" --files "$img"
cp "$out" "$work/lines"
for sort in excess extents fragments size; do
	for limits in '0 1000' '2 3'; do
		check "$e4frag" --files=table --sort=$sort \
			--min-extents="${limits% *}" --top="${limits#* }" "$img"
		[ ! -s "$err" ] || fail 'prints on stderr'
		cp "$out" "$work/table"
		# shellcheck disable=SC2086
		check /usr/bin/python3 "$work/table.py" "$work/table" \
			"$work/lines" $sort $limits
	done
done
check "$e4frag" --files=table --sort=extents "$img"
[ "$(wc -l <"$out")" -gt 5 ] || fail 'not all without --top'
! grep -q "$esc" "$out" || fail 'a name is shown as it is'
for columns in 40 80 200; do
	check env COLUMNS=$columns "$e4frag" --files=table --sort=size "$img"
	[ "$(wc -L <"$out")" -le $columns ] ||
		fail "wider than $columns columns"
	head -n 1 "$out" | grep -q 'size.*path' || fail 'not the size'
done
mustfail 2 "$e4frag" --files=table --json "$img"
mustfail 2 "$e4frag" --files --dirs "$img"
mustfail 2 "$e4frag" --files=table --map "$img"
