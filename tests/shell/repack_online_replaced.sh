#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If another program replaces a file that e4repack has repacked on a mounted
# filesystem, e4repack does not count the new file as its work. If another
# program repacks a file, the report has the file's actual state.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_loop

aged "$work/img0" <<'END'
size 128M
interleave /data count 20 rounds 8 blocks 4
END

begin() {
	cp --sparse=always "$work/img0" "$work/img"
	mount_image "$work/img" "$work/mnt"
	"$e4repack" --json --rate=200K "$work/mnt" >"$out" 2>"$err" &
	pid=$!
	defer "kill $pid 2>/dev/null; wait $pid"
}
finish() {
	wait "$pid" || { show_run; fail "e4repack failed"; }
	undefer "kill $pid 2>/dev/null; wait $pid"
}
end() {
	umount "$work/mnt"
	undefer "umount '$work/mnt'"
	sound "$work/img"
}

begin
# Wait for three repacked files, because the last repacked file may still be open.
for _ in $(seq 600); do
	filefrag "$work"/mnt/data/* | sed -n 's/: 1 extent found$//p' \
		>"$work/repaired"
	[ "$(wc -l <"$work/repaired")" -lt 3 ] || break
	[ -s "$work/first" ] || cp "$work/repaired" "$work/first"
	sleep 0.05
done
file=$(head -1 "$work/first")
[ "$file" ] || { show_run; fail "e4repack has repacked no file, or all files at once"; }
/usr/bin/python3 - "$file" <<'END'
import os
import sys
ino = os.stat(sys.argv[1]).st_ino
os.unlink(sys.argv[1])
fds = []
while not fds or os.fstat(fds[-1]).st_ino != ino:
    if len(fds) == 200:
        sys.exit("the inode is not used again")
    fds.append(os.open(f"{sys.argv[1]}.{len(fds)}", os.O_RDWR | os.O_CREAT, 0o644))
fds = [fds[-1], os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)]
for k in range(100):
    for fd in fds:
        os.posix_fallocate(fd, k * 4096, 4096)
END
kill -0 "$pid" 2>/dev/null || fail "e4repack has ended too early"
finish
same "files repacked" "$(json "$out" 'd["done"]["files"]')" 20
same "fragments saved in those that are there" "$(json "$out" \
	'd["before"]["fragments"] - d["after"]["fragments"]')" $((19 * 7))
end

losetup -d "$loop"
undefer "losetup -d $loop"
begin
for _ in $(seq 600); do
	! filefrag "$work"/mnt/data/* | grep -q ': 1 extent found' || break
	sleep 0.05
done
"$e4repack" -q "$work/mnt" || fail "a second one fails"
sync -f "$work/mnt"
finish
same "fragments saved by it and by the second" "$(json "$out" \
	'd["before"]["fragments"] - d["after"]["fragments"]')" $((20 * 7))
end

# files that the second run has already repacked are not copied again
losetup -d "$loop"
undefer "losetup -d $loop"
require_strace
cp --sparse=always "$work/img0" "$work/img"
mount_image "$work/img" "$work/mnt"
strace -D -f -qq -o "$work/trace" -e trace=openat2 \
	-e inject=openat2:delay_enter=5000000:when=1 \
	"$e4repack" --json "$work/mnt" >"$out" 2>"$err" &
pid=$!
defer "kill $pid 2>/dev/null; wait $pid"
until grep -qs openat2 "$work/trace"; do
	sleep 0.01
done
"$e4repack" -q "$work/mnt" || fail "the second one fails"
finish
same "what the first copies" "$(json "$out" '[d["done"]["bytes_copied"],
	d["done"]["files"], d["stopped"]]')" '[0, 20, False]'
end
