#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If standard input, output or error is closed, no output of a tool is written
# into the filesystem that the tool opens.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

img=$work/img
aged "$img.0" <"$top_srcdir/tests/shell/layout.recipe"
mkdir "$work/tree"
echo content >"$work/tree/file"

# untouched IMAGE: fails unless the bytes before the superblock are unchanged
# and not all zero.
untouched() {
	head -c 1024 "$1" | tr -d '\0' | grep -q . &&
		fail "$what: the beginning of the image was overwritten"
	[ "$(od -An -tx1 -j 1080 -N 2 "$1")" = ' 53 ef' ] ||
		fail "$what: the superblock was overwritten"
}

# each CLOSED COMMAND...: runs COMMAND with the redirection CLOSED, which closes
# descriptors.
each() {
	closed=$1
	shift
	cp "$img.0" "$img"
	rm -f "$work/new" "$work/undo"
	what="$* $closed"
	(
		exec >"$work/said" 2>&1
		eval "exec $closed"
		"$@"
	) || :
	untouched "$img"
	[ ! -s "$work/new" ] || untouched "$work/new"
}

for closed in '>&-' '2>&-' '<&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	each "$closed" "$e4frag" -v "$img"
	each "$closed" "$e4repack" -v --progress=always "$img"
	each "$closed" "$e4repack" -z "$work/undo" "$img" /none
	each "$closed" "$tune4fs" -E dir_ireserve=64 "$img"
	each "$closed" "$e4check" -v "$img"
	each "$closed" "$mke4fs" -v --progress=always \
		-d "$work/tree" "$work/new" 8M
	for request in help repack findings 'mkdir /new' 'mkdir /none/new' \
		       ls nonsense; do
		each "$closed" "$e4debug" -v -w \
			-R "$request" "$img"
	done
done

# Output that cannot be written is a failure.
# shellcheck disable=SC2016
mustfail 1 sh -c '"$1" -w -R repack "$2" >&-' - \
	"$e4debug" "$img.0"
says 'standard output: cannot write'

# full COMMAND...: fails unless COMMAND fails and reports once that its output
# is full
full() {
	run sh -c '"$@" >/dev/full' - "$@"
	[ "$status" != 0 ] || fail "exit 0, but nothing was written: $*"
	one_sentence "${1##*/}"
	says 'standard output: .*No space left'
}
for tool in "$e4check" "$e4debug" "$e4frag" "$e4repack" "$mke4fs" "$tune4fs"
do
	for option in -h --help -V --version; do
		full "$tool" $option
	done
done
cp "$img.0" "$img"
for option in '' --json --files --groups; do
	full "$e4frag" ${option:+"$option"} "$img"
done
full "$e4check" "$img"
debugfs -w -R 'set_inode_field / links_count 99' "$img" 2>/dev/null
full "$e4check" --json "$img"
cp "$img.0" "$img"
for option in '' --json; do
	full "$e4repack" -n ${option:+"$option"} "$img"
	full "$e4repack" ${option:+"$option"} "$img"
	full "$tune4fs" ${option:+"$option"} "$img"
	full "$tune4fs" ${option:+"$option"} -nE dir_ireserve=64 "$img"
	rm -f "$work/new"
	full "$mke4fs" ${option:+"$option"} -d "$work/tree" "$work/new" 8M
	for request in stats frag extents\ / map freespace locality\ / tree\ / \
		plan repack files trees directories free inodes \
		"write $work/tree/file /n$option" \
		tunables tunables\ dir_ireserve=64 journal findings cachestat \
		help '?' list_requests ls stat\ / 'bmap / 0' \
		"dump / /dev/stdout" logdump show_super_stats ncheck\ 2; do
		full "$e4debug" -w ${option:+"$option"} \
			-R "$request" "$img"
	done
done
# Messages of debugfs on standard error are printed.
mustfail 1 "$e4debug" -R 'stat /no-such' "$img"
says '^/no-such: File not found'
