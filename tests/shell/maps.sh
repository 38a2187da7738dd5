#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The block map is tested as text, with its characters, colours and widths.
# e4repack prints the maps before and after a run.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"

# map_of TITLE: prints the map below TITLE in the last output
map_of() {
	sed -n "/^$1: /,/^\$/p" "$out" | sed '1d; /^$/d'
}

# Each character of the map is computed from the cells in --json.
check "$e4frag" --json --map "$img"
cp "$out" "$work/json"
cat >"$work/draw.py" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))["map"]["blocks"]
width = int(sys.argv[2])
width -= 12 if width >= 40 else 0
n = len(m["free"])
k = -(-n // (width * 16))
marks = {"other": "o", "contiguous": "=", "fragmented": "#", "split": "%",
         "unwritten": "~", "free": "."}
text = ""
for i in range(0, n, k):
    sums = {s: sum(m[s][i:i + k]) * (4 if s in ("fragmented", "split") else 1)
            for s in marks}
    text += marks[max(marks, key=lambda s: sums[s])]
print(text)
END
for columns in 1 7 39 40 80 200 1024; do
	check env COLUMNS=$columns "$e4frag" --map "$img"
	[ "$columns" -lt 40 ] ||
		[ "$(map_of 'Block map' | wc -L)" -le $columns ] ||
		fail "wider than $columns columns"
	skip=13
	[ "$columns" -ge 40 ] || skip=1
	map_of 'Block map' | grep -v '\.[0-9] %' | cut -c $skip- | tr -d '\n' \
		>"$work/drawn"
	echo >>"$work/drawn"
	[ "$(map_of 'Block map' | grep -vc '\.[0-9] %')" -le 16 ] ||
		fail "more than 16 lines in $columns columns"
	check /usr/bin/python3 "$work/draw.py" "$work/json" $columns
	cmp -s "$out" "$work/drawn" || {
		diff "$out" "$work/drawn" >&2
		fail "another map in $columns columns"
	}
done
grep -q '#' "$work/drawn" || fail 'nothing fragmented is seen'
grep -q '%' "$work/drawn" || fail 'nothing split is seen'

# The shares are percentages of all blocks.
check "$e4frag" --map "$img"
for state in contiguous fragmented split unwritten free other; do
	same "$state" "$(map_of 'Block map' | grep -o " $state [0-9.]* %" |
		tr -d 'a-z %')" "$(json "$work/json" '"%.1f" % (100 *
		sum(d["map"]["blocks"]["'$state'"]) /
		sum(sum(b) for b in d["map"]["blocks"].values()))')"
done

# Colours are used only on a terminal, and only without NO_COLOR.
on_terminal() {
	/usr/bin/python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
		env -u NO_COLOR TERM=xterm "$@" "$e4frag" --progress=never \
		--map "$img" </dev/null >"$work/terminal"
}
esc=$(printf '\033')
on_terminal
grep -q "$esc\\[31m#" "$work/terminal" || fail 'no colours on a terminal'
sed "s/$esc\\[[0-9]*m//g" "$work/terminal" | tr -d '\r' >"$work/plain"
check env COLUMNS=80 "$e4frag" --map "$img"
cmp -s "$out" "$work/plain" || fail 'colours are more than colours'
for plain in NO_COLOR=1 TERM=dumb; do
	on_terminal $plain
	! grep -q "$esc" "$work/terminal" || fail "$plain: colours"
done
check env -u NO_COLOR TERM=xterm "$e4frag" --map "$img"
! grep -q "$esc" "$out" || fail 'colours in a pipe'
mustfail 2 "$e4frag" --prometheus --map "$img"

# e4repack --map draws the maps that e4frag --map draws before and after the run
check "$e4frag" --map "$img"
map_of 'Block map' >"$work/before"
cp "$img" "$work/copy"
check "$e4repack" -n --map "$img"
map_of Now | cmp -s - "$work/before" || fail 'another map before'
! grep -q '^After: ' "$out" || fail 'a map of what was not done'
cmp -s "$img" "$work/copy" || fail 'a dry run wrote'
check "$e4repack" --map "$img"
map_of Before | cmp -s - "$work/before" || fail 'another map before'
map_of After >"$work/after"
check "$e4frag" --map "$img"
map_of 'Block map' | cmp -s - "$work/after" || fail 'another map after'
cmp -s "$work/before" "$work/after" && fail 'nothing changed'
check "$e4repack" -q --map "$img"
[ ! -s "$out" ] || fail '--quiet shows a map'
mustfail 2 "$e4repack" --json --map "$img"
sound "$img"

# The filesystem is nearly empty and has small blocks.
rm "$img"
mke2fs -qq -F -t ext4 -b 1024 "$img" 8M >/dev/null
check "$e4frag" --map "$img"
map_of 'Block map' | grep -q '^ *[0-9.]* [A-Zi]*B  [o.]*$' || fail 'no map'
