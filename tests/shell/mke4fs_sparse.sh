#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# If the map of a sparse member of a tar archive does not agree with the size of
# the file or with the stored data, an error names the archive and the member.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_program tar python3

cd "$work"
# The script writes the archives bad/* and good/*, and the contents want/* of
# good/*.
mkdir bad good want
python3 - <<'P'
import tarfile

DATA = b'0123456789ABCDEFGHIJ'

def padded(data):
    return data + bytes(-len(data) % 512)

def gnu(stored, real, entries, kind=b'S', name=b'a'):
    h = bytearray(512)
    h[:len(name)] = name
    for at, text in ((100, b'0000644\0'), (108, b'0000000\0'),
                     (116, b'0000000\0'), (124, b'%011o\0' % len(stored)),
                     (136, b'%011o\0' % 1000), (148, b' ' * 8), (156, kind),
                     (257, b'ustar  \0'), (483, b'%011o\0' % real)):
        h[at:at + len(text)] = text
    numbers = [b'%011o\0%011o\0' % e for e in entries]
    first = b''.join(numbers[:4])
    h[386:386 + len(first)] = first
    h[482] = len(numbers) > 4
    h[148:155] = b'%06o\0' % sum(h)
    return bytes(h) + padded(b''.join(numbers[4:])) + padded(stored)

def pax(stored, *records):
    text = b''
    for key, value in records:
        line = b' GNU.sparse.%s=%s\n' % (key.encode(), str(value).encode())
        n = len(line) + 2
        text += b'%d' % (n if n < 100 else n + 1) + line
    x, a = tarfile.TarInfo('x'), tarfile.TarInfo('a')
    x.type, x.size, a.size = tarfile.XHDTYPE, len(text), len(stored)
    return (x.tobuf(tarfile.USTAR_FORMAT) + padded(text) +
            a.tobuf(tarfile.USTAR_FORMAT) + padded(stored))

def v00(stored, real, entries, first=0):
    pairs = [(('offset', o), ('numbytes', n)) for o, n in entries]
    return pax(stored, ('size', real), ('numblocks', len(entries)),
               *(r for p in pairs for r in (p[first], p[1 - first])))

def v01(stored, real, entries):
    return pax(stored, ('size', real), ('numblocks', len(entries)),
               ('map', ','.join('%d,%d' % e for e in entries)))

def v10(stored, real, entries):
    text = '\n'.join([str(len(entries))] + ['%d\n%d' % e for e in entries])
    return pax(padded(text.encode() + b'\n') + stored, ('major', 1),
               ('minor', 0), ('name', 'a'), ('realsize', real))

def write(path, members):
    with open(path, 'wb') as f:
        f.write(members + gnu(b'zz', 0, [], b'0', b'z') + bytes(1024))

def want(real, stored, entries):
    data = bytearray(real)
    for o, n in entries:
        data[o:o + n], stored = stored[:n], stored[n:]
    return data

formats = {'gnu': gnu, '0.0': v00, '0.1': v01, '1.0': v10,
           '0.0-swapped': lambda *member: v00(*member, 1)}
good = {
    'two': (10, 200, [(10, 5), (100, 5)]),
    'full': (20, 20, [(0, 20)]),
    'hole': (0, 200, [(200, 0)]),
    'many': (20, 60, [(0, 4), (8, 4), (16, 4), (24, 4), (50, 4), (60, 0)]),
}
bad = {
    'past-size': (14, 10, [(0, 14)]),
    'past-size-later': (10, 10, [(0, 5), (8, 5)]),
    'beyond-size': (5, 9, [(15, 5)]),
    'overlap': (10, 20, [(0, 5), (3, 5)]),
    'descending': (10, 20, [(10, 5), (0, 5)]),
    'too-few-bytes': (5, 200, [(0, 200)]),
    'no-bytes': (0, 200, [(0, 200)]),
    'too-few-later': (10, 200, [(0, 5), (50, 50)]),
    'too-many-bytes': (10, 200, [(0, 5), (50, 2)]),
    'many-too-few': (18, 60, [(0, 4), (8, 4), (16, 4), (24, 4), (50, 4)]),
}
for kind, make in formats.items():
    for name, (stored, real, entries) in good.items():
        member = DATA[:stored], real, entries
        write('good/%s-%s' % (kind, name), make(*member))
        with open('want/%s-%s' % (kind, name), 'wb') as f:
            f.write(want(real, DATA, entries))
    for name, (stored, real, entries) in bad.items():
        write('bad/%s-%s' % (kind, name), make(DATA[:stored], real, entries))
    # two blocks of zeroes in a member look like the end of the archive
    write('bad/%s-block-too-many' % kind, make(bytes(1024), 2000, [(0, 512)]))
for name, members in {
    'gnu-no-map': gnu(DATA, 200, []),
    'plain-with-map': gnu(DATA, 200, [(10, 20)], b'0'),
    '0.0-no-length': pax(DATA, ('size', 200), ('offset', 3)),
    '0.1-not-a-number': pax(DATA[:5], ('size', 20), ('map', '0,5,x')),
    '1.0-no-map': pax(DATA, ('realsize', 200)),
    'unknown-version': pax(DATA, ('major', 2), ('minor', 0)),
}.items():
    write('bad/' + name, members)
P
same 'the number of damaged archives' "$(find bad -type f | wc -l)" 61
for archive in bad/*; do
	mustfail 1 "$mke4fs" -q -d "$archive" img
	one_sentence mke4fs
	says "^mke4fs: $archive: (a|archive): "
	[ ! -e img ] || fail "$archive: an image is left behind"
done
refused=
for archive in good/*; do
	run "$mke4fs" -q -d "$archive" img
	case $archive in *-full)
		if grep -q 'archive: Malformed sparse map data$' "$err"; then
			refused="$refused $archive"
			continue
		fi ;;
	esac
	[ "$status" = 0 ] || { show_run; fail "$archive"; }
	debugfs -R 'cat a' img 2>/dev/null | cmp - "want/${archive#*/}" ||
		fail "$archive: other content"
	same "$archive: the next file" "$(debugfs -R 'cat z' img 2>/dev/null)" zz
	rm img
done
[ ! "$refused" ] || skip_part "this libarchive refuses$refused"

# GNU tar stores sparse files with maps of several blocks.
mkdir src
python3 - <<'P'
with open('src/file', 'wb') as f:
    for i in range(300):
        f.seek(i * 8192)
        f.write(b'%d' % i * 1000)
    f.truncate(3000000)
P
truncate -s 100000 src/hole
for format in gnu oldgnu 'posix --sparse-version=0.0' \
	'posix --sparse-version=0.1' 'posix --sparse-version=1.0'; do
	# shellcheck disable=SC2086
	tar -C src --format=$format -S -cf s.tar hole file
	[ "$(stat -c %s s.tar)" -lt 2500000 ] || fail "$format: not sparse"
	for source in s.tar -; do
		"$mke4fs" -q -d $source img <s.tar || fail "$format"
		debugfs -R 'cat file' img 2>/dev/null | cmp - src/file ||
			fail "$format: other content"
		debugfs -R 'cat hole' img 2>/dev/null | cmp - src/hole ||
			fail "$format: other content of a hole"
		rm img
	done
done
