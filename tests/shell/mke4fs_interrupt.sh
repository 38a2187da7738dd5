#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After a signal or an error during writing, a new image is removed or, after
# SIGKILL, has no superblock.  An existing file or device has nothing that could
# be mounted.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_strace

mkdir "$work/src"
head -c 40M /dev/urandom >"$work/src/file"

# stop SIGNAL ARGUMENTS...: delays each write by 0.4 s, and sends SIGNAL when
# the image has its structures; sets $status
stop() {
	blocks=$([ -e "$target" ] && stat -c %b "$target" || echo 0)
	signal=$1
	shift
	status=0
	# a shell makes background processes ignore SIGINT and SIGQUIT
	env --default-signal=INT,QUIT strace -D -f -o /dev/null -e trace=pwrite64 \
		-e inject=pwrite64:delay_enter=400000 -P "$target" \
		"$mke4fs" -q -b 4096 -F -d "$work/src" "$@" "$target" 64M \
		>"$out" 2>"$err" </dev/null &
	pid=$!
	tries=600
	while [ "$(stat -c %b "$target" 2>/dev/null || echo 0)" -lt $((blocks + 32)) ]; do
		[ $((tries -= 1)) -gt 0 ] || fail "nothing was written"
		sleep 0.1
	done
	kill "-$signal" $pid
	wait $pid || status=$?
}

target=$work/img
for signal in INT TERM; do
	stop $signal --threads=1
	same "status after $signal" "$status" 1
	one_sentence mke4fs
	says 'img: .*: interrupted'
	[ ! -e "$target" ] || fail "an image is left behind after $signal"
done

for signal in KILL QUIT; do
	stop $signal --threads=1
	[ "$status" -gt 128 ] || fail "not ended by $signal"
	run dumpe2fs -h "$target"
	[ "$status" != 0 ] || fail "an incomplete image is a filesystem"
	rm "$target"
done

# An existing file is not removed, and has no filesystem.
truncate -s 64M "$target"
stop INT --threads=1
same "status" "$status" 1
one_sentence mke4fs
says 'img: .*: interrupted'
same "size" "$(stat -c %s "$target")" $((64 << 20))
run dumpe2fs -h "$target"
[ "$status" != 0 ] || fail "a filesystem is left behind"

# If the signal comes while mke2fs formats the file, the file has no filesystem
# either.
real=$(command -v mke2fs || echo /sbin/mke2fs)
mkdir "$work/bin"
cat >"$work/bin/mke2fs" <<-END
	#!/bin/sh
	"$real" "\$@" || exit
	for word; do
		[ "\$word" != "$target" ] || kill -INT \$PPID
	done
END
chmod +x "$work/bin/mke2fs"
for options in "-text4" "-text4 -O ^64bit"; do
	check mke2fs -q -F -text4 "$target"
	status=0
	# shellcheck disable=SC2086
	PATH=$work/bin:$PATH env --default-signal=INT "$mke4fs" -q -F $options \
		-d "$work/src" "$target" 64M >"$out" 2>"$err" || status=$?
	same "status after a signal while formatting" "$status" 1
	one_sentence mke4fs
	says 'img: .*: interrupted'
	run dumpe2fs -h "$target"
	[ "$status" != 0 ] || fail "a filesystem is left behind"
done

# A device fails in the middle of a run.
rm "$target"
for new in yes no; do
	rm -f "$target"
	[ $new = yes ] || truncate -s 64M "$target"
	run strace -f -o /dev/null -e trace=pwrite64 \
		-e inject=pwrite64:error=EIO:when=4+ -P "$target" \
		"$mke4fs" -q -b 4096 -d "$work/src" --threads=1 "$target" 64M
	same "status" "$status" 1
	says 'img: .*: Input/output error'
	if [ $new = yes ]; then
		[ ! -e "$target" ] || fail "an image is left behind"
	else
		[ -e "$target" ] || fail "an existing file was removed"
	fi
done

# The disk of the image is full.
mkdir "$work/full"
if is_root && mount -t tmpfs -o size=8M none "$work/full"; then
	defer "umount '$work/full'"
	mustfail 1 "$mke4fs" -q -d "$work/src" "$work/full/img"
	one_sentence mke4fs
	says 'full/img is full: '
	[ ! -e "$work/full/img" ] || fail "an image is left behind"
fi
