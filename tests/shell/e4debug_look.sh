#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each request that reads prints the expected output for files whose layout is
# known.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs /usr/bin/python3

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
before=$(cksum <"$img")

# request REQUEST: fails unless REQUEST prints the text on stdin.
request() {
	check "$e4debug" -R "$1" "$img"
	cat >"$work/wanted"
	cmp -s "$out" "$work/wanted" && return
	diff "$work/wanted" "$out" >&2 || :
	fail "$1"
}

request 'extents /split' <<'END'
inode                      12
fragments                  1
  logical  physical  blocks  state      mark
        0     5,000       8  written    first
        8     5,008       8  unwritten  split
       16     5,016       8  written    split
END
request 'extents /data/holey' <<'END'
inode                      16
fragments                  2
  logical  physical  blocks  state    mark
        0     5,500       4  written  first
        4         -      96  hole     
      100     5,504       4  written  behind
END
request 'extents <15>' <<'END'
inode                      15
fragments                  1
  logical  physical  blocks  state    mark
        0     5,400       4  written  first
        4     5,404       4  written  mergeable
END
request 'extents "/data/broken"' <<'END'
inode                      14
fragments                  3
  logical  physical  blocks  state    mark
        0     5,100       4  written  first
        4     5,200       4  written  moved
        8     5,300       4  written  moved
END
request 'frag /split' <<'END'
inode                      12
map                        extents
depth                      0
damaged                    no
size bytes                 98,304
blocks                     24
unwritten blocks           8
extents                    3
unwritten extents          1
fragments                  1
ideal extents              3
splits                     2
mergeable                  0
tree blocks                0
ideal tree blocks          0
END
request 'locality /data' <<'END'
inode                      13
inodes                     5
itable blocks              2
itable blocks ideal        1
END
request 'tree /split' <<'END'
inode 12: 3 of 4 extent entries used
END
COLUMNS=60
export COLUMNS
request 'map /split' <<'END'
# written, u unwritten, + both, . other files or free
     0 [........................+...............]   0.3 %
END
# the size of the empty hash table depends on the size of a pointer
check "$e4debug" --json -R cachestat "$img"
bytes=$(json "$out" 'd["bytes"]')
[ "$bytes" -gt 0 ] || fail "the cache uses $bytes bytes"
request 'cachestat' <<END
inodes                     0
entries                    0
reclaimable                0
active                     0
bytes                      $bytes
max bytes                  $bytes
limit bytes                67,108,864
hits                       0
misses                     0
scans                      0
visited                    0
max visited                0
reclaimed                  0
END

# a file is read into the cache once
cat >"$work/requests" <<'END'
map /split
map /split

# a comment
cachestat
END
check "$e4debug" --json -f "$work/requests" "$img"
tail -n 1 "$out" >"$work/doc"
same 'cache' "$(json "$work/doc" \
	'[d[k] for k in ("inodes", "entries", "hits", "misses")]')" \
	'[1, 4, 8, 1]'

check "$e4debug" --json -R 'tree /data/deep/tree' "$img"
cp "$out" "$work/doc"
same 'tree' "$(json "$work/doc" 'd["inode"], d["depth"], d["root_entries"],
	[(n["level"], n["logical"], n["entries"], n["room"])
	 for n in d["nodes"]]')" '(18, 1, 1, [(0, 0, 6, 340)])'
check "$e4debug" -R 'tree /data/deep/tree' "$img"
grep -qx '+- block [0-9]*: 6 of 340 extents used, first logical block 0' "$out" ||
	{ show_run; fail 'the tree is not drawn'; }

# agrees REQUEST KEY: fails unless REQUEST prints e4frag's value of KEY.
agrees() {
	check "$e4debug" --json -R "$1" "$img"
	cp "$out" "$work/doc"
	same "$1" "$(json "$work/doc" "[k for k, v in json.load(
		open('$work/frag'))['$2'].items() if d[k] != v]")" '[]'
}
check "$e4frag" --json "$img"
cp "$out" "$work/frag"
agrees stats filesystem
agrees frag files
agrees freespace free_space
check "$e4debug" --json -R 'map' "$img"
cp "$out" "$work/doc"
same 'map' "$(json "$work/doc" 'sum(g["free_blocks"] for g in d["groups"])')" \
	"$(json "$work/frag" 'd["free_space"]["blocks"]')"
check "$e4debug" -R 'frag /data' "$img"
grep -qx ' *6 *1 *6 *18  /data/deep/tree' "$out" ||
	{ show_run; fail 'no worst file'; }

same 'the image' "$(cksum <"$img")" "$before"
