#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests come from -R, from files and from debugfs. A failure is reported by
# the exit status and by the number of the line.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"

# debugfs runs the other requests.
for request in 'stat /split' 'ls -l /data' 'testb 5000' 'dump_extents /split' \
	'bmap /data/broken 5'; do
	check "$e4debug" -R "$request" "$img"
	debugfs -R "$request" "$img" >"$work/wanted" 2>/dev/null
	[ -s "$work/wanted" ] || fail "debugfs prints nothing for $request"
	cmp "$out" "$work/wanted" || fail "$request is not debugfs's"
done

# refused LINE PATTERN [OPTION...]: fails unless the request LINE fails with a
# message, with -R and in a file.
refused() {
	line=$1
	pattern=$2
	shift 2
	mustfail 1 "$e4debug" "$@" -R "$line" "$img"
	says "$pattern"
	printf 'stat /split\n# nothing\n%s\nhelp\n' "$line" >"$work/file"
	run "$e4debug" "$@" -f "$work/file" "$img"
	same "exit code of $line" "$status" 1
	says "$pattern"
	says "^e4debug: .*/file: line 3: '.*' failed;"
	! grep -q 'list the requests' "$out" || fail "went on after $line"
}
refused 'stat /nix' '^/nix: File not found'
refused 'nonsense' 'Command not found nonsense'
refused 'extents /nix' '^e4debug: extents: /nix: '
refused 'extents <0>' '^e4debug: extents: <0>: '
refused 'extents <99999999>' '^e4debug: extents: <99999999>: '
refused 'extents <11111111111111111111111111>' '^e4debug: extents: '
refused 'extents <30>' 'inode 30 is not in use'
refused 'extents' '^e4debug: usage: extents PATH'
refused 'frag a b' '^e4debug: usage: frag '
refused 'locality /split' 'not a directory'
refused 'tree /data/old' 'the file has no extent tree: run extents'
refused 'frag "a' 'missing closing quote'
for line in 'cd /data' 'change_working_directory /data' 'chroot /data' \
	'change_root_directory /data' 'lcd /' 'set_current_time 20260101' \
	'journal_open' 'jo' 'jw' 'jc' 'close_filesys' "open_filesys $img"; do
	refused "$line" 'has no effect'
done
refused "init_filesys $work/new 100" 'would overwrite'
[ ! -e "$work/new" ] || fail 'init_filesys was carried out'
for line in '?' lr list_requests; do
	check "$e4debug" -R "$line" "$img"
	grep -q '^quit  *leave e4debug$' "$out" || fail "$line does not list requests"
done
check "$e4debug" -R q "$img"
refused "open $img" 'is already open: run close first'
refused 'mkdir /new' 'mkdir'

: >"$work/file"
check "$e4debug" -f "$work/file" "$img"
check "$e4debug" -f - "$img"
mustfail 1 "$e4debug" -f "$work/none" "$img"
one_sentence e4debug
mustfail 1 "$e4debug" -R stats "$work/none"
one_sentence e4debug
mustfail 1 "$e4debug" -R stats
says 'stats: .*open TARGET'
mustfail 2 "$e4debug" -R stats -f "$work/file" "$img"
mustfail 2 "$e4debug" -z "$work/undo" "$img"
mustfail 2 "$e4debug" "$img" "$img"

# A line has no newline, a name has a blank, and a later request opens the
# target.
printf 'open "%s"\nfrag <12>\nclose\nopen %s\nquit\nnonsense' "$img" "$img" \
	>"$work/file"
check "$e4debug" -f "$work/file"
grep -q '^inode  *12$' "$out" || { show_run; fail 'no inode 12'; }
status=0
printf 'frag <12>\nfrag <1' | "$e4debug" "$img" >"$out" 2>"$err" || status=$?
same 'exit code of a pipe' "$status" 1
says "standard input: line 2: '.*' failed;"

for request in frag findings plan; do
	check "$e4debug" --progress=always -R $request "$img"
	says '\[#+\] 100 %'
done

# debugfs opens the image for writing only if e4debug has the option -w.
mustfail 1 "$e4debug" -R 'symlink /link target' "$img"
check "$e4debug" -w -R 'symlink /link target' "$img"
check "$e4debug" -R 'stat /link' "$img"
grep -q 'Type: symlink' "$out" || { show_run; fail 'no link was made'; }
printf 'frag /split\nsymlink /link2 target\nfrag /link2\n' >"$work/file"
check "$e4debug" -w -f "$work/file" "$img"
mustfail 1 "$e4debug" -w -z "$work/undo" -R 'symlink /link3 target' "$img"
sound "$img"
