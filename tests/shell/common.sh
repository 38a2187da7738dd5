# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Common part of every shell test:
#   . "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
# Each test has a directory $work.  At the end of a test, everything that
# require_loop, mount_image and similar helpers have set up is undone in reverse
# order.
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${top_builddir:=$top_srcdir/build}"
LC_ALL=C.UTF-8
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH
unset COLUMNS NO_COLOR
# Without E4L_SYSTEM_MKE2FS, mke2fs has the same defaults on every system.
if [ ! "${E4L_SYSTEM_MKE2FS:-}" ]; then
	MKE2FS_CONFIG=$top_srcdir/tests/mke2fs.conf
	export MKE2FS_CONFIG
fi

# shellcheck disable=SC2034
{
	e4check=$top_builddir/e2fsck/e4check
	e4debug=$top_builddir/debugfs/e4debug
	e4frag=$top_builddir/misc/e4frag
	e4repack=$top_builddir/misc/e4repack
	mke4fs=$top_builddir/misc/mke4fs
	tune4fs=$top_builddir/misc/tune4fs
}

test_name=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/e4l-$test_name-XXXXXX")
chmod 755 "$work"
undo_list=

# defer COMMAND: runs COMMAND at the end of the test.
defer() {
	undo_list="$*
$undo_list"
}

# undefer COMMAND: cancels a command of defer.
undefer() {
	undo_list="$(printf '%s' "$undo_list" | grep -vxF -e "$*" || :)
"
}

undo_all() {
	status=$?
	[ $status != 0 ] || [ ! "$skipped_part" ] || status=77
	trap - EXIT
	printf '%s' "$undo_list" | while IFS= read -r line; do
		eval "$line" </dev/null || :
	done
	rm -rf "$work"
	exit $status
}
trap undo_all EXIT
trap 'exit 1' INT TERM HUP

# fail SENTENCE: prints SENTENCE, and ends the test as failed.
fail() {
	echo "$test_name: $*" >&2
	exit 1
}

# in_full: true unless scripts/check runs without --full, which skips the
# longest parts of tests.
in_full() {
	[ ! "${E4L_QUICK:-}" ]
}

# in_third N FIRST: with --full, always true.  Otherwise true for one in three
# N, from FIRST (0 to 2) on.
in_third() {
	in_full || [ $(($1 % 3)) = "$2" ]
}

# skip REASON: ends the test as skipped.
skip() {
	echo "$test_name: skipped: $*" >&2
	exit 77
}

# skip_part REASON: continues without a part of the test, which then ends as
# skipped if everything else passes.
skipped_part=
skip_part() {
	echo "$test_name: skipped in part: $*" >&2
	skipped_part=yes
}

# man_formats PAGE: fails unless man formats PAGE without warnings, in at most
# 500 lines.
man_formats() {
	for width in 120 80; do
		MANWIDTH=$width run man --warnings -E UTF-8 -l -Tutf8 "$1"
		[ "$status" = 0 ] || fail "man cannot format $1"
		[ ! -s "$err" ] || { show_run; fail "$1"; }
	done
	[ "$(wc -l <"$out")" -le 500 ] || fail "$1: more than 500 lines"
}

# python3: runs /usr/bin/python3, because another python3 in PATH may be a slow
# script.
python3() {
	/usr/bin/python3 "$@"
}

# has_program PROGRAM, can_trace, can_unshare, is_root, can_mount: true if the
# condition holds.  Otherwise, the part of the test is reported as skipped.
has_program() {
	command -v "$1" >/dev/null || { skip_part "no $1"; return 1; }
}

can_trace() {
	has_program strace || return 1
	strace -qq -o /dev/null true 2>/dev/null ||
		{ skip_part "no ptrace"; return 1; }
}

can_unshare() {
	unshare -m true 2>/dev/null ||
		{ skip_part "no mount namespaces"; return 1; }
}

is_root() {
	[ "$(id -u)" = 0 ] || { skip_part "not root"; return 1; }
}

can_mount() {
	is_root || return 1
	losetup -f >/dev/null 2>&1 || { skip_part "no loop devices"; return 1; }
}

require_program() {
	for program; do
		command -v "$program" >/dev/null || skip "no $program"
	done
}

# no_leak_check: disables the leak checker, because libext2fs' undo manager
# leaks memory, and because the leak checker does not work under ptrace.
no_leak_check() {
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	export ASAN_OPTIONS
}

require_strace() {
	require_program strace
	no_leak_check
	strace -qq -o /dev/null true 2>/dev/null || skip "no ptrace"
}

# built_with LIBRARY: true if the tools use LIBRARY, which is ARCHIVE, ISAL or
# READLINE. configure can omit each library.
built_with() {
	grep -q "^#define HAVE_$1 1" "$top_builddir/config.h"
}

# short_times: true if time_t has 32 bits, as on Debian's i386.  Most programs
# then cannot stat a file of 2040, and libarchive cannot represent its date.
short_times() {
	grep -q '^#define SIZEOF_TIME_T 4' "$top_builddir/config.h"
}

require_root() {
	[ "$(id -u)" = 0 ] || skip "not root"
}

# require_loop: skips the test unless root can attach a loop device and mount
# ext4.
require_loop() {
	require_root
	require_program losetup mount
	losetup -f >/dev/null 2>&1 || skip "no loop devices"
	grep -qw ext4 /proc/filesystems || modprobe -q ext4 2>/dev/null ||
		skip "no ext4 in the kernel"
}

# attach IMAGE: attaches IMAGE to a loop device, and sets $loop.
attach() {
	loop=$(losetup --show -f "$1") || skip "losetup does not work here"
	defer "losetup -d $loop"
}

# gone LOOP FILE: waits until LOOP is detached from FILE.  Another program,
# such as udev, may have LOOP open for a moment, which delays the detachment.
gone() {
	for _ in $(seq 600); do
		[ "$(losetup -nO BACK-FILE "$1" 2>/dev/null)" = "$2" ] || return 0
		sleep 0.1
	done
	fail "$1: is still attached to $2"
}

# detach LOOP: detaches LOOP before the end of the test.
detach() {
	looped_file=$(losetup -nO BACK-FILE "$1")
	losetup -d "$1"
	undefer "losetup -d $1"
	gone "$1" "$looped_file"
}

# umount DIR: unmounts DIR, and waits for the loop device that mount -o loop
# made.
umount() {
	looped=$(findmnt -nfo SOURCE -M "$1") || :
	looped_file=
	[ "$(losetup -nO AUTOCLEAR "$looped" 2>/dev/null | tr -d ' ')" != 1 ] ||
		looped_file=$(losetup -nO BACK-FILE "$looped")
	command umount "$1" || return
	[ -z "$looped_file" ] || gone "$looped" "$looped_file"
}

# mount_image IMAGE DIR [OPTIONS]: attaches IMAGE, mounts it on DIR, and sets
# $loop.
mount_image() {
	attach "$1"
	mkdir -p "$2"
	mount -t ext4 -o "${3:-defaults}" "$loop" "$2" ||
		skip "mount does not work here"
	defer "umount '$2'"
}

# as_nobody COMMAND...: runs COMMAND as a user without privileges.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# nobody_reaches PROGRAM: true if the user of as_nobody can run PROGRAM and
# reach $work.  Parent directories with mode 0700 prevent that.
nobody_reaches() {
	as_nobody test -x "$1" -a -x "$work" ||
		{ skip_part "$1 or $work is below a private directory"; return 1; }
}

# run COMMAND...: runs COMMAND, and sets $out, $err (files) and $status.
out=$work/.out
err=$work/.err
run() {
	status=0
	"$@" >"$out" 2>"$err" </dev/null || status=$?
}

# hold COMMAND...: runs COMMAND until release.  COMMAND prints a line when it
# has begun, and ends at the end of its input.  Sets $held.
hold() {
	rm -f "$work/hold" "$work/held"
	mkfifo "$work/hold" "$work/held"
	"$@" <"$work/hold" >"$work/held" &
	held=$!
	exec 9>"$work/hold"
	read -r _ <"$work/held" || fail "the command printed no line: $*"
}

# release: ends the command of hold, and returns its exit status.
release() {
	exec 9>&-
	wait "$held"
}

show_run() {
	sed 's/^/  stdout: /' "$out" >&2
	sed 's/^/  stderr: /' "$err" >&2
}

# check COMMAND...: runs COMMAND, and fails unless COMMAND exits with 0.
check() {
	run "$@"
	[ "$status" = 0 ] && return
	show_run
	fail "exit $status, not 0: $*"
}

# sound [E2FSCK-OPTION...] IMAGE: fails unless e2fsck and e4check find no
# errors.
sound() {
	for sound_image; do :; done
	check "$e4check" --no-layout -q "$sound_image"
	check e2fsck -fn "$@"
}

# mustfail STATUS COMMAND...: runs COMMAND, and fails unless COMMAND exits with
# STATUS and writes nothing to stdout.
mustfail() {
	want=$1
	shift
	run "$@"
	if [ "$status" != "$want" ]; then
		show_run
		fail "exit $status, not $want: $*"
	fi
	# e4repack has printed the cost of its plan before the error
	! grep -qv ': will copy .* and zero ' "$out" ||
		fail "wrote to stdout while failing: $*"
}

# says PATTERN: fails unless the stderr of the last command matches the extended
# regular expression PATTERN.
says() {
	grep -Eq -e "$1" "$err" && return
	show_run
	fail "stderr lacks: $1"
}

# one_sentence TOOL: fails unless the stderr of the last command is one line
# that begins with TOOL.  After a usage error, a hint at --help may follow.
one_sentence() {
	[ "$(grep -cvx "Try '$1 --help'\." "$err")" = 1 ] && grep -q "^$1: ..*" "$err" && return
	show_run
	fail "stderr is not one sentence"
}

# is_sanitized: true if the programs are built with sanitizers.
is_sanitized() {
	grep -q '^CFLAGS = .*-fsanitize' "$top_builddir/Makefile"
}

# write_in_turns DIR FILES PIECES [BYTES]: writes FILES files f0, f1, ... in DIR in
# PIECES rounds, each of which appends BYTES (4096) to every file, so that each file
# is fragmented.
write_in_turns() {
	/usr/bin/python3 - "$1" "$2" "$3" "${4:-4096}" <<'END'
import os, sys
files, pieces, len = map(int, sys.argv[2:])
fds = [os.open(f"{sys.argv[1]}/f{n}", os.O_RDWR | os.O_CREAT, 0o644)
       for n in range(files)]
for k in range(pieces):
    for fd in fds:
        os.posix_fallocate(fd, k * len, len)
for n, fd in enumerate(fds):
    for k in range(pieces):
        os.pwrite(fd, bytes([1 + (k + n) % 251]) * len, k * len)
    os.fsync(fd)
END
}

# remove_each DIR N: removes f0, fN, f2N and so on from DIR.
remove_each() {
	find "$1" -name 'f[0-9]*' -printf '%f\n' | sed 's/^f//' |
		awk -v n="$2" '$1 % n == 0 { print "f" $1 }' |
		(cd "$1" && xargs rm)
	sync -f "$1"
}

# aged IMAGE: makes an image from the recipe on stdin with tests/tools/mkaged.
aged() {
	"$top_builddir/tests/tools/mkaged" - "$1" >/dev/null ||
		fail "mkaged cannot make the image"
}

# json FILE EXPRESSION: prints the value of the Python expression EXPRESSION, in
# which d is the document in FILE.
json() {
	/usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

# same WHAT GOT WANTED: fails unless GOT equals WANTED.
same() {
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# documented PROGRAM PAGE OPTION...: fails unless --help, the manual page and
# the completion have each long option ("name", or "name=" if the option takes a
# value), and --version prints a version.
documented() {
	program=$1 page=$2 tool=${1##*/}
	shift 2
	check "$program" --help
	for option; do
		grep -q -e "--$option" "$out" ||
			fail "--help does not show --$option"
		grep -q -e "\\\\-\\\\-$(echo "${option%=}" |
			sed 's/-/\\\\-/g')" "$top_srcdir/$page" ||
			fail "no --$option in the manual"
		grep -q -e "--$option" "$top_srcdir/misc/completions/$tool" ||
			fail "no --$option in the completion"
	done
	[ "$(wc -L <"$out")" -le 80 ] ||
		fail "--help is wider than 80 columns"
	check "$program" --version
	grep -q "^$tool [0-9]" "$out" || fail "--version prints no version"
}
