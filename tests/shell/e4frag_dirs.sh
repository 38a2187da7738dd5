#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --dirs prints the totals of --files, in every order, for the whole filesystem
# and for parts of it. Loops of directories and lost directories cause neither a
# crash nor an endless loop.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
esc=$(printf '\033')
debugfs -w -f - "$img" >/dev/null 2>&1 <<END
ln /data/broken /data/deep/second
ln /data/old /old
mkdir "/data/${esc}[31mred"
END

cat >"$work/sums.py" <<'END'
import json, posixpath, sys
report, files, sort = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
keys = ("blocks", "extents", "fragments", "ideal_extents", "splits")
sums = {}
only = report.get("paths")
for line in open(files):
    f = json.loads(line)
    at = f["path"] if f["type"] == "directory" else posixpath.dirname(f["path"])
    if only and not at.startswith(only[0]):
        at = only[0]    # the path is a hard link outside of the selected directory
    while True:
        s = sums.setdefault(at, dict.fromkeys(keys + ("files",), 0))
        s["files"] += 1
        for key in keys:
            s[key] += f[key]
        if at == "/":
            break
        at = posixpath.dirname(at)
def bad(s):
    return s["extents"] - s["ideal_extents"] if sort == "excess" else \
        s[{"size": "blocks"}.get(sort, sort)]
got = report["subtrees"]
if only:
    sums = {p: s for p, s in sums.items() if p.startswith(only[0])}
assert len(got) == sum(bad(s) > 0 for s in sums.values()), (got, sums)
assert [bad(s) for s in got] == sorted((bad(s) for s in got), reverse=True)
for s in got:
    s.pop("inode")
    path = s.pop("path")
    assert s == sums[path], (path, s, sums[path])
END
for path in '' /data/deep; do
	# shellcheck disable=SC2086
	check "$e4frag" --files "$img" $path
	cp "$out" "$work/files"
	for sort in excess extents fragments size; do
		# shellcheck disable=SC2086
		check "$e4frag" --json --dirs --top=1000 --sort=$sort "$img" \
			$path
		cp "$out" "$work/report"
		check /usr/bin/python3 "$work/sums.py" "$work/report" \
			"$work/files" $sort
	done
done

# The root has the report's totals, --top limits the list, and the text has the
# same figures.
check "$e4frag" --json --dirs --top=2 "$img"
same top "$(json "$out" 'len(d["subtrees"])')" 2
same root "$(json "$out" 'all(d["subtrees"][0][k] == d["files"][k] for k in
	("blocks", "extents", "fragments", "ideal_extents", "splits"))')" True
same files "$(json "$out" 'd["subtrees"][0]["files"] -
	d["files"]["count"]')" 0
check "$e4frag" --dirs --sort=extents --top=1000 "$img"
grep -q '^Worst subtrees, by extents$' "$out" ||
	fail 'no table'
grep -qF '  /data/\x1b[31mred' "$out" || fail 'a name is shown as it is'
for columns in 40 80 200; do
	check env COLUMNS=$columns "$e4frag" --dirs --sort=size "$img"
	[ "$(sed -n '/^Worst/,/^$/p' "$out" | wc -L)" -le $columns ] ||
		fail "wider than $columns columns"
done

# One directory contains itself, and one directory has no path from the root.
debugfs -w -f - "$img" >/dev/null 2>&1 <<'END'
ln /data/deep /data/deep/loop
ln /data/deep /data/deep/again
unlink /data/deep
END
check timeout 60 "$e4frag" --dirs --sort=extents --top=1000 "$img"
grep -q '  (inode [0-9]*)$' "$out" || fail 'what is lost is not shown'
check timeout 60 "$e4frag" --json --dirs --sort=extents --top=1000 "$img"
same lost "$(json "$out" 'sum(s["path"] is None for s in d["subtrees"])')" 1
