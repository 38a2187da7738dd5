#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If the device of a mounted filesystem refuses moved data, e4repack gives the
# file its old blocks back, even if other programs change the file at the same
# time.  Until then, the only copy of the data is in memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
shim=$top_builddir/tests/tools/.libs/fail_write_out.so
[ -e "$shim" ] || skip 'built without shared libraries'
require_loop

aged "$work/img0" <<'END'
size 64M
interleave /data count 6 rounds 8 blocks 16
END

back='it was put back'
lost='and it cannot be put back: compare it with a backup'

# put_back WHAT COMMAND OTHER [END]: all data are moved back, although COMMAND runs
# after the write error.  OTHER is not empty if COMMAND changes the contents.  With
# END, the data cannot be moved back.
put_back() {
	case ${4-$back} in
	"$back") expected=put-back ;;
	*) expected=lost ;;
	esac
	cp --sparse=always "$work/img0" "$work/img"
	mount_image "$work/img" "$work/mnt"
	(cd "$work/mnt/data" && md5sum -- *) >"$work/sums"
	before=$(filefrag "$work"/mnt/data/*)
	[ "$1" != writers ] || begin_writers
	run env FAIL_RUN="$2" LD_PRELOAD="$shim" "$e4repack" --json "$work/mnt"
	[ "$1" != writers ] || end_writers
	same "$1: exit status" "$status" 1
	damaged=$(grep -c ': inode [0-9]*: the file is damaged: ' "$err" || :)
	case $expected in
	lost) [ "$damaged" != 0 ] || fail "$1: no damaged file is named" ;;
	*) same "$1: damaged files" "$damaged" 0 ;;
	esac
	sed -i '/: inode [0-9]*: the file is damaged: /d' "$err"
	one_sentence e4repack
	why="$(json "$out" '[l["reason"] for l in d["skipped"]
		if l["reason"] in ("put-back", "lost")]')"
	same "$1: what became of it" "$why" \
		"['$expected']"
	[ "$2" ] || same "$1: fragments" "$(filefrag "$work"/mnt/data/*)" \
		"$before"
	[ ! -e "$work/holder" ] || end_holder
	umount "$work/mnt"
	mount "$loop" "$work/mnt"
	(cd "$work/mnt/data" && md5sum --quiet -c "$work/sums") >"$work/other" \
		2>/dev/null || [ "$3" ] || fail "$1: other contents"
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	losetup -d "$loop"
	undefer "losetup -d $loop"
	sound "$work/img"
}

end_holder() {
	kill "$(cat "$work/holder")"
	while [ -e "/proc/$(cat "$work/holder")/exe" ]; do
		sleep 0.01
	done
	rm "$work/holder"
}

# begin_writers: starts programs that rewrite existing data.
begin_writers() {
	writers=
	for _ in 1 2 3; do
		/usr/bin/python3 -c '
import os, random, sys
fds = [os.open(f, os.O_RDWR) for f in sys.argv[1:]]
while True:
    fd = random.choice(fds)
    at = random.randrange(os.fstat(fd).st_size // 4096) * 4096
    os.pwrite(fd, os.pread(fd, 64, at), at)' "$work"/mnt/data/* &
		writers="$writers $!"
	done
	defer "kill $writers 2>/dev/null"
	sleep 0.3
}
end_writers() {
	# shellcheck disable=SC2086
	kill $writers
	# shellcheck disable=SC2086
	wait $writers 2>/dev/null || :
	undefer "kill $writers 2>/dev/null"
}

put_back nobody '' ''
put_back writers '' ''

cat >"$work/lease.py" <<'END'
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fds = []
for name in sys.argv[2:]:
    fds.append(os.open(name, os.O_RDONLY))
    try:
        fcntl.fcntl(fds[-1], fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError:
        pass
holder = os.fork()
if holder:
    open(f"{sys.argv[1]}/holder", "w").write(str(holder))
else:
    signal.alarm(60)
    signal.pause()
END
put_back leases "/usr/bin/python3 $work/lease.py $work $work/mnt/data/*" ''

# Each command removes one page of each file, at the end or in the middle.
put_back truncate "truncate -s -4096 $work/mnt/data/*" shorter
put_back punch "for f in $work/mnt/data/*; do
	fallocate -p -o 40960 -l 4096 \$f; done" hollow

# If another program moves the data within a file, the cached pages are dropped.
# e4repack does not trust data that it reads again.
each() {
	echo "for f in $work/mnt/data/*; do $1 \$f; cat \$f >/dev/null; done"
}
put_back insert "$(each 'fallocate -i -l 1M')" shifted "$lost"
put_back collapse "$(each 'fallocate -c -l 65536')" shifted "$lost"

# If only the data of one file cannot be written, every other file is counted.
aged "$work/img" <<'END'
size 64M
interleave /data count 40 rounds 8 blocks 4
END
mount_image "$work/img" "$work/mnt"
run env FAIL_ONCE=1 LD_PRELOAD="$shim" "$e4repack" --json "$work/mnt"
same "files that are done or left alone" "$(json "$out" '[d["done"]["files"] +
	sum(l["count"] for l in d["skipped"]), len(d["skipped"])]')" \
	'[40, 2]'
