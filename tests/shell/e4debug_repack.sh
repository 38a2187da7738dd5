#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# One session of the shell plans a repack, carries out the plan, and undoes the
# repack.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/repack_common.sh"
require_program /usr/bin/python3 e2undo
no_leak_check

undo=
make_image() {
	rm -f "$img"
	aged "$img" <<-END
		$(cat "$top_srcdir/tests/shell/layout.recipe")
		mosaic /mosaic size 1M written 8K unwritten 8K
	END
	digest -z "$img" >"$work/before"
}
same_content() {
	clean "$img"
	digest -z "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# do_json REQUEST...: runs all requests in one shell; the lines of $out are the
# JSON objects of the requests.
do_json() {
	printf '%s\n' "$@" >"$work/requests"
	# shellcheck disable=SC2086
	check "$e4debug" --json -w $undo -f "$work/requests" "$img"
	what=$*
}
# line N EXPRESSION: prints the value of EXPRESSION for the object in line N of
# $out
line() {
	sed -n "$1p" "$out" >"$work/doc"
	json "$work/doc" "$2"
}

make_image
image=$(cksum <"$img")
check "$e4debug" --json -R plan "$img"
cp "$out" "$work/plan"
same 'planned' "$(json "$work/plan" 'd["done"]["files"],
	d["done"]["transactions"], d["planned"]["files"] > 3')" '(0, 0, True)'
check "$e4debug" --json -R 'plan /data/broken' "$img"
cp "$out" "$work/plan"
same 'planned for one' "$(json "$work/plan" 'd["planned"]["files"],
	d["before"]["fragments"], d["after"]["fragments"]')" '(1, 3, 1)'
mustfail 1 "$e4debug" -R 'plan /missing' "$img"
mustfail 1 "$e4debug" -R 'repack' "$img"
says 'read-only: .*-w'
same 'the image' "$(cksum <"$img")" "$image"

do_json 'trees /data/joinable' 'extents /data/joinable' 'frag /data/broken'
same 'merged' "$(line 1 'd["done"]["files"], d["after"]["extents"]')" '(1, 1)'
same 'one extent' "$(line 2 'len(d["extents"])')" 1
same 'another' "$(line 3 'd["fragments"]')" 3
same_content

do_json 'map /mosaic' 'trees /mosaic 4K' 'trees /mosaic 8K' \
	'frag /mosaic' 'map /mosaic' 'cachestat'
same 'too short' "$(line 2 'd["done"]["bytes_zeroed"]')" 0
same 'zeroed' "$(line 3 'd["done"]["bytes_zeroed"] >= 126 * 4096')" True
same 'joined' "$(line 4 'd["extents"] <= 2')" True
same 'cached anew' "$(line 6 'd["entries"] <= 3')" True
same_content

do_json 'repack <14>' 'extents <14>' repack plan
same 'repacked' "$(line 1 'd["done"]["files"], d["after"]["fragments"]')" '(1, 1)'
same 'one fragment' "$(line 2 'd["fragments"]')" 1
same 'nothing left' "$(line 4 'd["planned"]["files"]')" 0
same_content

# The inodes of all directories are regrouped, and a second run has nothing to
# do.
rm -f "$img"
aged "$img" <<END
size 64M
mke2fs -b 1024 -N 4000
tree /t dirs 5 files 40
END
"$top_builddir/tests/tools/fsdigest" -n "$img" | sort >"$work/before"
do_json 'inodes /t' findings inodes
same 'regrouped' "$(line 1 'd["planned"]["inode_directories"],
	d["done"]["inode_directories"], d["done"]["inodes"] > 150,
	d["after"]["itable_blocks"] == d["after"]["itable_blocks_ideal"]')" \
	'(5, 5, True, True)'
same 'found' "$(line 2 '[f["code"] for f in d["findings"]
	if f["code"] == "directory-spread"]')" '[]'
same 'again' "$(line 3 'd["planned"]["inodes"], d["done"]["transactions"]')" \
	'(0, 0)'
clean "$img"
"$top_builddir/tests/tools/fsdigest" -n "$img" | sort >"$work/after"
unchanged "$work/before" "$work/after"

# Directories are regrouped one by one, and skipped directories are named.
rm -f "$img"
aged "$img" <<END
size 64M
mke2fs -b 1024
many /a count 400 name a-name-that-takes-room-
many /b count 400 name a-name-that-takes-room-
delete /a percent 95
delete /b percent 95
END
check debugfs -w -R 'sif /b flags 0x80010' "$img"
"$top_builddir/tests/tools/fsdigest" -e "$img" >"$work/before"
do_json 'directories /a' findings directories
same 'compacted' "$(line 1 'd["planned"]["directories"],
	d["done"]["directories"], d["after"]["directory_blocks"] <
	d["before"]["directory_blocks"], d["done"]["transactions"]')" \
	'(1, 1, True, 1)'
same 'found' "$(line 2 '[f["code"] for f in d["findings"]
	if f["code"] in ("directory-sparse", "directory-linear")]')" \
	"['directory-sparse']"
same 'left' "$(line 3 'd["done"]["directories"], [s["reason"]
	for s in d["skipped"] if s["kind"] == "directory"]')" "(0, ['immutable'])"
says '^e4debug: directories: directory <[0-9]*> is skipped: immutable$'
clean "$img"
"$top_builddir/tests/tools/fsdigest" -e "$img" >"$work/after"
unchanged "$work/before" "$work/after"

# With an undo file, all changes of a shell are undone together.
make_image
image=$(cksum <"$img")
digest "$img" >"$work/digest"
undo="-z $work/undo"
do_json 'repack' 'mkdir /new' 'link /split /new/split' \
	'tunables dir_ireserve=64' 'extents /new/split' 'frag /data/broken'
same 'repacked' "$(line 1 'd["done"]["files"] > 3')" True
same 'linked' "$(line 3 'd["inode"]')" 12
same 'in one piece' "$(line 4 'd["fragments"]')" 1
clean "$img"
mustfail 1 "$e4debug" -w -z "$work/undo" -R stats "$img"
says 'the file exists'
check e2undo "$work/undo" "$img"
digest "$img" >"$work/digest.back"
unchanged "$work/digest" "$work/digest.back"

rm "$work/undo"
make_image
digest "$img" >"$work/digest"
do_json 'mkdir /new' 'repack /data' undo 'mkdir /new' undo
digest "$img" >"$work/digest.back"
unchanged "$work/digest" "$work/digest.back"
clean "$img"
mustfail 1 "$e4debug" -w -z "$work/undo2" -R undo "$img"
says 'undo: nothing was changed'
mustfail 1 "$e4debug" -w -R undo "$img"
says 'undo: nothing was recorded'
