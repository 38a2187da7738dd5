#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The helpers of common.sh fail if the checked condition is false.
# shellcheck disable=SC2016
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"

# ends STATUS SCRIPT: fails unless SCRIPT, which begins like a test, exits with
# STATUS.
ends() {
	got=0
	printf '%s\n' '. "$top_srcdir/tests/shell/common.sh"' "$2" >"$work/t.sh"
	top_srcdir=$top_srcdir sh "$work/t.sh" >/dev/null 2>&1 || got=$?
	[ "$got" = "$1" ] || fail "exit $got, not $1: $2"
}
ends 0 'check true'
ends 1 'check false; true'
ends 0 'mustfail 3 sh -c "exit 3"'
ends 1 'mustfail 3 sh -c "exit 1"; true'
ends 1 'mustfail 1 sh -c "echo out; exit 1"; true'
ends 0 'mustfail 1 sh -c "echo x: no. >&2; exit 1"; says no; one_sentence x'
ends 1 'mustfail 1 sh -c "echo x: no. >&2; exit 1"; says yes; true'
ends 1 'run sh -c "echo x: a >&2; echo b >&2"; one_sentence x; true'
ends 1 'run sh -c "echo y: a >&2"; one_sentence x; true'
ends 1 'false; true'
ends 77 'skip "no reason"'
ends 77 'require_program /no/such/program; exit 0'
ends 5 'exit 5'

# Deferred commands run in reverse order after any exit, and $work is removed.
log=$work/log
export log
ends 1 'defer "echo 1 >>$log"; defer "echo 2 >>$log"; defer false
	echo "$work" >"$log"; false'
[ "$(sed 1d "$log" | tr '\n' ' ')" = '2 1 ' ] || fail "deferred: $(cat "$log")"
[ ! -e "$(head -n 1 "$log")" ] || fail "the directory was not removed"
