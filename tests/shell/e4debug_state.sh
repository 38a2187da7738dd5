#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The requests tunables, journal and findings print the state of the filesystem.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs e2fsck /usr/bin/python3

img=$work/img
write=
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"

# figure REQUEST EXPRESSION: prints the value of EXPRESSION for the JSON output
# of REQUEST
figure() {
	# shellcheck disable=SC2086
	check "$e4debug" --json $write -R "$1" "$img"
	cp "$out" "$work/doc"
	json "$work/doc" "$2"
}

same 'nothing logged' "$(figure journal 'd["transactions"]')" '[]'

# ----------------------------------------------------------------- tunables
values='d["count"], [(t["name"], t["value"]) for t in d["tunables"]]'
same 'none kept' "$(figure tunables "$values")" '(0, [])'
mustfail 1 "$e4debug" -R 'tunables dir_ireserve=64' "$img"
says 'is open read-only'
write=-w
same 'one kept' "$(figure 'tunables dir_ireserve=normal' "$values")" \
	"(1, [('dir_ireserve', '64')])"
write=
same 'still kept' "$(figure tunables "$values")" \
	"(1, [('dir_ireserve', '64')])"
check "$tune4fs" --json "$img"
grep -q '"dir_ireserve"' "$out" || fail 'tune4fs does not see it'
for list in dir_ireserve=7 nonsense=1 dir_ireserve; do
	mustfail 1 "$e4debug" -w -R "tunables $list" "$img"
	says "'$list'"
done
write=-w
same 'none again' "$(figure 'tunables ^dir_ireserve' "$values")" '(0, [])'
write=
sound "$img"

# ------------------------------------------------------------------ journal
same 'empty' "$(figure journal 'd["state"], d["start"],
	all(t["state"] == "old" for t in d["transactions"])')" \
	"('empty', 0, True)"
[ "$(figure journal 'len(d["transactions"])')" -ge 1 ] ||
	fail 'what was stored is not in the log'
# The journal has two transactions that were not replayed.
head -c 4096 /dev/zero >"$work/zero"
printf 'jo\njw -b 7000,7001,7002 %s\njw -b 7003 -r 7000 %s\njc\n' \
	"$work/zero" "$work/zero" >"$work/log"
head -c 12288 /dev/zero >"$work/zero"
debugfs -w -f "$work/log" "$img" >/dev/null 2>&1
same 'to be replayed' "$(figure journal 'd["state"]')" 'to be replayed'
same 'replayed' "$(figure journal '[(t["blocks"], t["revoked"])
	for t in d["transactions"] if t["state"] == "replay"]')" \
	'[(3, 0), (1, 1)]'
debugfs -R logdump "$img" 2>/dev/null >"$work/logdump"
same 'as many as logdump has' \
	"$(figure journal 'sum(t["state"] == "replay"
		for t in d["transactions"])')" \
	"$(sed -n 's/^Found expected sequence [0-9]*, type 2.*/x/p' \
		"$work/logdump" | wc -l)"
same 'stats' "$(figure stats 'd["journal"]')" 'needs recovery'
mustfail 1 "$e4debug" -w -R stats "$img"
says 'journal .*: run e2fsck -p'
run e2fsck -fy "$img"
sound "$img"
same 'replayed' "$(figure journal 'd["state"], [t for t in d["transactions"]
	if t["state"] == "replay"]')" "('empty', [])"
rm "$img"
mke2fs -q -F -t ext4 -O ^has_journal "$img" 16M
mustfail 1 "$e4debug" -R journal "$img"
says 'journal: .*no journal'

# ----------------------------------------------------------------- findings
rm "$img"
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
same 'no errors' "$(figure findings 'd["errors"], d["layout"] > 0')" \
	'(0, True)'
debugfs -w -R 'set_inode_field /split links_count 3' "$img" >/dev/null 2>&1
same 'an error' "$(figure findings 'd["errors"],
	[f["inode"] for f in d["findings"] if f["severity"] == "error"]')" \
	'(1, [12])'
