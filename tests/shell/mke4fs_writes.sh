#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mke4fs makes few writes, writes each data block once, and reads hardly any
# written blocks, for a new image and for an existing image.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_program python3
require_strace

mkdir "$work/src"
python3 -c '
import os, random, sys
data = random.Random(1).randbytes(4096)
for d in range(80):
    os.mkdir("%s/dir%02d" % (sys.argv[1], d))
    for f in range(100):
        with open("%s/dir%02d/file%02d" % (sys.argv[1], d, f), "wb") as out:
            out.write(data)
with open(sys.argv[1] + "/large", "wb") as out:
    out.write(data * 5000)' "$work/src"

# count COMMAND...: counts the system calls on $work/img; sets $writes, $written
# and $read, and writes to $work/times how often each block was written
count() {
	strace -f --seccomp-bpf -y -s 0 -e trace=write,pwrite64,read,pread64 \
		-o "$work/log" "$@" >"$out" 2>"$err" </dev/null ||
		{ show_run; fail "exit status: $*"; }
	python3 - "$work/log" "$work/img" "$work/times" <<'END' >"$work/sums"
import collections, re, sys
log, image, times = sys.argv[1:]
count = collections.Counter()
writes = written = read = 0
call = re.compile(r"\b(p?write|p?read)(64)?\(\d+<" + re.escape(image) +
                  r">, .*?, (\d+)(?:, (\d+))?(?:\)| <unf)")
for line in open(log, errors="replace"):
    found = call.search(line)
    if not found:
        continue
    size = int(found[3])
    if "read" in found[1]:
        read += size
        continue
    writes += 1
    written += size
    if found[4]:
        at = int(found[4])
        count.update(range(at // 4096, (at + size + 4095) // 4096))
print(writes, written, read)
with open(times, "w") as f:
    for blk, n in count.items():
        print(blk, n, file=f)
END
	read -r writes written read <"$work/sums"
}

# once: fails unless each block of each file was written once
once() {
	{
		echo 'blocks large'
		for d in $(seq -w 0 79); do
			for f in $(seq -w 0 99); do
				echo "blocks dir$d/file$f"
			done
		done
	} >"$work/commands"
	debugfs -f "$work/commands" "$work/img" 2>/dev/null |
		grep -v '^debugfs' | tr ' ' '\n' | grep . >"$work/blocks"
	same "blocks of data" "$(wc -l <"$work/blocks")" 13000
	awk 'NR == FNR { times[$1] = $2; next }
	     times[$1] != 1 { print "block", $1, "is written", times[$1]+0,
			      "times"; bad = 1 }
	     END { exit bad }' "$work/times" "$work/blocks" >&2 ||
		fail "data are not written once"
}

make="-q -F -b 4096 -N 9000 -d $work/src"
# shellcheck disable=SC2086
count mke2fs -t ext4 $make "$work/img" 96M
theirs=$writes
[ "$theirs" -gt 8000 ] || fail "mke2fs -d writes only $theirs times"
rm "$work/img"

for target in new there; do
	# shellcheck disable=SC2086
	count "$mke4fs" $make "$work/img" 96M
	clean "$work/img"
	once
	echo "$target: $writes writes of $written bytes, $read read; mke2fs -d:" \
		"$theirs writes"
	[ "$written" -ge $((13000 * 4096)) ] || fail "$written bytes written"
	[ $((read * 100)) -lt "$written" ] || fail "$read bytes read back"
	if [ $target = new ]; then
		[ $((writes * 500)) -le "$theirs" ] ||
			fail "$writes writes, mke2fs -d $theirs"
	fi
done

# mke4fs finds the minimum size with at most four prototypes, although mke2fs
# refuses some sizes. mke4fs opens each prototype once.
python3 -c '
import sys, tarfile
with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(20000):
        tar.addfile(tarfile.TarInfo("file%d" % i))' "$work/tar"
rm "$work/img"
check strace -o "$work/log" -e trace=openat \
	"$mke4fs" -q -b 1024 -g 512 -d "$work/tar" "$work/img"
clean "$work/img"
plans=$(grep -c '"/proc/[0-9]*/fd/' "$work/log") || :
[ "$plans" -gt 0 ] || fail "no prototype was opened"
[ "$plans" -le 4 ] || fail "$plans sizes were planned"
