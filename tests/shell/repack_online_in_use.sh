#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On a mounted filesystem, e4repack repacks files that other programs use, or
# skips them with a reason that names the kind of use.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop
require_program chattr

aged "$work/img" <<'END'
size 128M
interleave /data count 9 rounds 8 blocks 4
END
mount_image "$work/img" "$work/mnt"
/usr/bin/python3 - "$work/mnt" "$(command -v sleep)" <<'END'
import os, sys
top, program = sys.argv[1], open(sys.argv[2], "rb").read()
for names, data, mode in ((("sleep", "other"), program, 0o755),
                          (("swap", "unused"), bytes(1 << 20), 0o600)):
    fds = [os.open(f"{top}/{n}", os.O_RDWR | os.O_CREAT, mode) for n in names]
    for at in range(0, len(data), 16384):
        for fd in fds:
            os.pwrite(fd, data[at:at + 16384], at)
            os.fsync(fd)
END
cd "$work/mnt/data"
(md5sum -- *) >"$work/sums"
chattr +i f5
defer "chattr -i '$work/mnt/data/f5'"
chattr +a f6
defer "chattr -a '$work/mnt/data/f6'"
cd "$work"
"$work/mnt/sleep" 600 &
program=$!
defer "kill $program 2>/dev/null"
for _ in $(seq 100); do
	[ "$(readlink "/proc/$program/exe")" != "$work/mnt/sleep" ] || break
	sleep 0.05
done
chmod a-x "$work/mnt/sleep"
swap=
mkswap "$work/mnt/swap" >/dev/null 2>&1
if swapon "$work/mnt/swap" 2>/dev/null; then
	swap=swap
	defer "swapoff '$work/mnt/swap'"
fi

# shellcheck disable=SC2016
hold /usr/bin/python3 -c '
import fcntl, mmap, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fds = [os.open(f"{sys.argv[1]}/f{i}", os.O_RDWR |
               (os.O_DIRECT if not i else 0)) for i in range(4)]
m = mmap.mmap(fds[1], 0)
m[:1], m[-1:] = m[:1], m[-1:]
fcntl.flock(fds[2], fcntl.LOCK_EX)
fcntl.lockf(fds[3], fcntl.LOCK_EX)
lease = os.open(f"{sys.argv[1]}/f4", os.O_RDONLY)
fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_RDLCK)
print("held", flush=True)
sys.stdin.read()' "$work/mnt/data"
check "$e4repack" --json "$work/mnt"
json "$out" '"\n".join(sorted("%s %d" % (l["reason"], l["count"])
	for l in d["skipped"]))' >"$work/reasons"
cp "$out" "$work/report"
release
cat >"$work/wanted" <<END
executable 1
executed 1
immutable 1
leased 1
permission 1
swap 1
END
cmp "$work/wanted" "$work/reasons" || { cat "$work/reasons"; fail "reasons"; }
fragmented() {
	for file in "$work"/mnt/data/* "$work"/mnt/sleep "$work"/mnt/unused; do
		filefrag "$file" | grep -q ': 1 extent found' ||
			basename "$file"
	done | paste -sd' '
}
same "what is left in pieces" "$(fragmented)" "f4 f5 f6 sleep"

# When no program uses the file any more, another run repacks the file.
kill "$program"
wait "$program" 2>/dev/null || :
undefer "kill $program 2>/dev/null"
[ -z "$swap" ] || swapoff "$work/mnt/swap"
undefer "swapoff '$work/mnt/swap'"
check "$e4repack" "$work/mnt"
same "what is left then" "$(fragmented)" "f5 f6"
(cd "$work/mnt/data" && md5sum --quiet -c "$work/sums") ||
	fail "other contents"
umount "$work/mnt"
undefer "umount '$work/mnt'"
undefer "chattr -i '$work/mnt/data/f5'"
undefer "chattr -a '$work/mnt/data/f6'"
losetup -d "$loop"
undefer "losetup -d $loop"
check "$e4repack" --move=immutable,swap "$work/img"
grep -q '^Skipped' "$out" && { show_run; fail "files were skipped"; }
sound "$work/img"
