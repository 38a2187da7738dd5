#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For times outside the range of the inodes, mke4fs stores another value and
# prints a warning.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
cd "$work"

python3 - <<'EOT'
import tarfile
t = tarfile.open("a.tar", "w", format=tarfile.PAX_FORMAT)
for name, mtime in (("early", "-5000000000.25"), ("first", "-2147483648"),
                    ("half", "1000000000.5"), ("whole", "1000000000"),
                    ("last32", "2147483647"), ("2038", "2147483648"),
                    ("last", "10737418239.75"), ("late", "10737418240.5")):
    i = tarfile.TarInfo(name)
    i.pax_headers = {"mtime": mtime, "atime": mtime, "ctime": mtime}
    t.addfile(i)
    if name in ("late", "half"):
        i.type, i.name, i.linkname = tarfile.LNKTYPE, name + "-link", name
        t.addfile(i)
t.close()
EOT

# time_of FILE: prints the 34-bit seconds and the nanoseconds of FILE, from
# debugfs
time_of() {
	debugfs -R "stat $1" img 2>/dev/null | python3 -c '
import re, sys
low, extra = re.search(r"(?m)^ ?mtime: 0x(\w+)(?::(\w+))?", sys.stdin.read()).groups()
low, extra = int(low, 16), int(extra or "0", 16)
low -= low >> 31 << 32
print(low + ((extra & 3) << 32), extra >> 2)'
}

# make OPTION...: makes a sound image; $out and $err have the output of mke4fs
make() {
	rm -f img
	check "$mke4fs" --json -O ^has_journal -d a.tar "$@" img
	cp "$out" report
	cp "$err" said
	sound img
	cp report "$out"
	cp said "$err"
}

# With 32-bit times, an archive's times are ambiguous, and a directory's are not.
if short_times; then
	make
	says '^mke4fs: a.tar: libarchive .*: [1-9] files .*before 1970'
	mkdir dir
	for time in 1000000000.5 2147483647.0 2147483648.0 2208988800.25; do
		touch -d "@$time" "dir/$time"
	done
	rm -f img
	check "$mke4fs" -q -O ^has_journal -d dir img
	sound img
	for time in 1000000000.5 2147483647.0 2147483648.0 2208988800.25; do
		same "$time" "$(time_of "$time" | sed 's/ /./; s/0*$//')" \
			"${time%0}"
	done
	skip_part "libarchive has 32-bit times"
	exit
fi

make
same "sentences" "$(wc -l <"$err")" 1
says '^mke4fs: img: 2 files .*1901-12-13 to 2310-04-04'
same "counted" "$(json "$out" 'd["far_times"], d["cut_times"]')" "(2, 0)"
for want in 'early -2147483648 0' 'first -2147483648 0' \
	'half 1000000000 500000000' 'whole 1000000000 0' \
	'last32 2147483647 0' '2038 2147483648 0' \
	'last 10737418239 750000000' 'late 10737418239 0'; do
	same "${want%% *}" "$(time_of "${want%% *}")" "${want#* }"
done

make -I 128 -q
same "sentences" "$(wc -l <"$err")" 2
says '^mke4fs: img: 4 files .*1901-12-13 to 2038-01-19'
says "^mke4fs: img: 2 files.* rounded .*seconds"
same "counted" "$(json "$out" 'd["far_times"], d["cut_times"]')" "(4, 2)"
for want in 'early -2147483648 0' 'half 1000000000 0' \
	'last32 2147483647 0' '2038 2147483647 0' 'late 2147483647 0'; do
	same "${want%% *}" "$(time_of "${want%% *}")" "${want#* }"
done

# SOURCE_DATE_EPOCH changes only later times.
SOURCE_DATE_EPOCH=1500000000
export SOURCE_DATE_EPOCH
make
says '^mke4fs: img: 1 file .*1901-12-13'
same "the last" "$(time_of late)" "1500000000 0"
made=$(value img 'Filesystem created')
# A number that begins with 0 is decimal.
SOURCE_DATE_EPOCH=01500000000
make
same "the last" "$(time_of late)" "1500000000 0"
same 'the time of the filesystem' "$(value img 'Filesystem created')" "$made"
