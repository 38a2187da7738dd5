#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A signal ends e4frag cleanly, with exit status 1 and a sentence that reports
# the progress. A full pipe without a reader delays e4frag until the signal.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs mkfifo

img=$work/img
aged "$img" <<'END'
size 512M
mke2fs -b 1024 -N 40000
many /m count 30000 step 1
END
mkfifo "$work/pipe"
"$e4frag" --files "$img" >"$work/pipe" 2>"$err" &
pid=$!
exec 9<"$work/pipe"
read -r line <&9
case $line in '{"inode":'*) ;; *) fail "no line of JSON: $line" ;; esac
kill -TERM $pid
# The signal was received if no signal is pending, and if all threads wait again.
until ! grep -q '^ShdPnd:.*4000$' "/proc/$pid/status" &&
	! grep -qs '^State:.*[RD] ' "/proc/$pid"/task/*/status; do
	sleep 0.1
done
cat <&9 >"$work/rest"
status=0
wait $pid || status=$?
: >"$out"
[ "$status" = 1 ] || { show_run; fail "exit $status, not 1"; }
one_sentence e4frag
says 'interrupted after [0-9]* of [0-9]* block groups'
