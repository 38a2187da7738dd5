#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On a terminal, e4debug completes requests and paths.  A signal ends the
# running request, but not the shell.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs debugfs tmux pgrep
built_with READLINE || skip 'built without readline'

img=$work/img
aged "$img" <"$top_srcdir/tests/shell/layout.recipe"
printf 'mkdir "odd dir"\nmkdir "odd dir/within"\n' |
	debugfs -w -f - "$img" >/dev/null 2>&1
# A slow request reads 8 GiB of inode tables.
truncate -s 512G "$work/large"
check mke2fs -q -F -t ext4 -O ^has_journal,^resize_inode \
	-O ^metadata_csum,^uninit_bg "$work/large"

screen() {
	tmux -S "$work/tmux" "$@" </dev/null
}

# start TARGET: runs the shell in its own terminal; sets $pid.
start() {
	TERM=xterm screen -f /dev/null new-session -d -x 100 -y 50 \
		"exec '$e4debug' '$1'" || skip 'tmux does not work here'
	pid=$(screen list-panes -F '#{pane_pid}')
	shows '^e4debug:'
}
defer "tmux -S '$work/tmux' kill-server 2>/dev/null"

# shows PATTERN: fails unless the screen shows PATTERN within a moment.
shows() {
	tries=0
	until screen capture-pane -p >"$out" && grep -Eq -e "$1" "$out"; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { : >"$err"; show_run
			fail "the screen does not show $1"; }
		sleep 0.1
	done
}

# types KEY...: sends keys to the terminal
types() {
	screen send-keys "$@"
}

# clear: leaves an empty line at the top of the screen.
clear() {
	types C-c
	types C-l
	tries=0
	until screen capture-pane -p >"$out" &&
		[ "$(grep -c . "$out")" = 1 ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || fail 'the screen is not cleared'
		sleep 0.1
	done
}

start "$img"
types -l 'loc'
types Tab
shows '^e4debug: locality *$'
types -l '/da'
types Tab
shows '^e4debug: locality /data/$'
types Enter
shows '^itable blocks  *2$'
clear

types -l 'extents /data/b'
types Tab Enter
shows '^inode  *14$'
clear
# Several candidates are listed.
types -l 'frag /data/'
types Tab Tab
shows '^broken  *deep/  *holey  *joinable  *old *$'
clear
types -l 'fr'
types Tab Tab
shows '^frag  *free  *freespace *$'
clear
# The word is not the name of a request.
types -l 'frag od'
types Tab
shows 'frag "odd dir/$'
types -l 'w'
types Tab
types -l '"'
types Enter
shows '^count  *1$'
clear
# Ctrl-C only clears the line.
types -l 'quit'
types C-c
types -l 'frag /split'
types Enter
shows '^inode  *12$'
clear
types -l 'nonsense'
types Enter
shows 'Command not found nonsense'
clear
# Neither the list of e4debug nor the output of debugfs waits for a key in a
# pager.
types -l '?'
types Enter
shows '^quit  *leave'
types -l 'stats'
types Enter
shows '^e4debug: *$'
clear
types -l 'show_super_stats -h'
types Enter
shows '^Journal '
shows '^e4debug: *$'
clear
shows '^e4debug: *$'
types -l 'quit'
types Enter
tries=0
while kill -0 "$pid" 2>/dev/null && [ $tries -lt 600 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
[ $tries -lt 600 ] || fail 'quit does not leave'
screen kill-server 2>/dev/null || :

start "$work/large"
types -l 'frag'
types Enter
# The request runs as soon as the thread that waits for signals exists.
tries=0
while [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]; do
	tries=$((tries + 1))
	[ $tries -lt 600 ] || fail 'the request does not start'
	sleep 0.1
done
types C-c
# The terminal may show ^C after the message.
shows 'e4debug: frag: .*: interrupted *(\^C)?$'
shows '^e4debug: *$'
clear
types -l 'locality /lost+found'
types Enter
shows '^itable blocks ideal  *1$'

# debugfs is ended by Ctrl-C as well.
mkfifo "$work/fifo"
types -l "dump /lost+found $work/fifo"
types Enter
tries=0
until pgrep -P "$pid" -x debugfs >/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 600 ] || fail 'debugfs does not start'
	sleep 0.1
done
types C-c
shows 'debugfs: killed by signal 2'
types -l 'stats'
types Enter
shows '^groups  *4,096$'
