#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each request prints the expected output, in the order of one session. A line
# of e4debug.transcript that begins with "> " is a request, and the following
# lines are its expected output. With a file as argument, the actual transcript
# is written to the file.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs e2undo
no_leak_check

wanted=$top_srcdir/tests/shell/e4debug.transcript
img=$work/img
COLUMNS=60
export COLUMNS
aged "$img" <<-END
	$(cat "$top_srcdir/tests/shell/layout.recipe")
	mosaic /mosaic size 256K written 8K unwritten 8K
END
# The transcript shows the size of the file, but not its content.
head -c 50000 /dev/zero >"$work/host"
head -c 5000 /dev/zero >"$work/small"
: >"$work/empty"
cd "$work"
grep '^> ' "$wanted" | cut -c3- >requests

# Runs one request at a time, to separate the output; undo needs one shell.
while IFS= read -r request; do
	echo "> $request"
	case $request in
	undo)
		printf 'mkdir /gone\nundo\nfrag /gone\n' |
			"$e4debug" -w -z undo.e2undo img 2>&1 ;;
	'open img')
		printf 'open img\nfrag <12>\nclose\nclose\n' |
			"$e4debug" 2>&1 ;;
	*)
		"$e4debug" -w -R "$request" img 2>&1 ;;
	esac | sed 's/20[0-9][0-9]-[0-9-]*T[0-9:]*Z/TIME/'
done <requests >now
[ $# = 0 ] || cp now "$1"
cmp -s now "$wanted" || {
	diff "$wanted" now >&2 || :
	fail 'the transcript differs'
}
sound img
