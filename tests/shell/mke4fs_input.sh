#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An archive is read completely, or unread parts are an error.  The archives are
# concatenated or compressed, have size fields that do not apply, or have data
# that expands without limit.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_program cpio tar gzip xz zstd bzip2 python3

cd "$work"
# has IMAGE PATH CONTENT: fails unless PATH has CONTENT
has() {
	same "$2" "$(debugfs -R "cat $2" "$1" 2>/dev/null)" "$3"
}
pack() {
	(cd "$1" && find . | cpio -o --quiet -H newc)
}
zeroes() {
	head -c "$1" /dev/zero
}
# both FILE: an image of FILE has the contents of a and b.  FILE is also read
# from standard input, without --full in one of three calls.
calls=0
both() {
	calls=$((calls + 1))
	rm -f img
	check "$mke4fs" -q -d "$1" img
	has img one/x 1
	has img two/y 2
	has img same second
	clean img
	in_third $calls 0 || return 0
	"$mke4fs" -q -d - img2 <"$1" || fail "$1: not from its redirection"
	rm -f img2
	# shellcheck disable=SC2002
	cat "$1" | "$mke4fs" -q -d - img2 || fail "$1: not from a pipe"
	has img2 two/y 2
	rm -f img2
}

mkdir -p a/one b/two
echo 1 >a/one/x
echo 2 >b/two/y
echo first >a/same
echo second >b/same
pack a >a.cpio
pack b >b.cpio
tar -C a -cf a.tar .
tar -C b -cf b.tar .

# cpio archives are concatenated as for a Linux initramfs.
cat a.cpio b.cpio >all && both all
{ cat a.cpio; gzip -c b.cpio; } >all && both all
{ cat a.cpio; zeroes 4; gzip -c b.cpio; } >all && both all
{ gzip -c a.cpio; zeroes 100; gzip -c b.cpio; zeroes 512; } >all && both all
{ cat a.cpio; zeroes 3000000; zstd -qc b.cpio; } >all && both all
{ cat a.cpio; xz -c --check=crc32 b.cpio; } >all && both all
{ gzip -c a.cpio; cat b.cpio; } >all && both all
cat a.cpio b.cpio | gzip >all && both all
cat a.cpio b.cpio | bzip2 >all && both all
{ cat a.cpio; zeroes 512; cat b.cpio; } | zstd -q >all && both all
# tar archives are concatenated, as tar --ignore-zeros reads them.
cat a.tar b.tar >all && both all
cat a.tar b.tar | xz >all && both all
{ gzip -c a.tar; gzip -c b.tar; } >all && both all
{ gzip -c a.tar; zeroes 1000; gzip -c b.tar; } >all && both all
{ cat a.tar; gzip -c b.tar; } >all && both all
{ cat a.cpio b.tar; } >all && both all
# Many archives are concatenated, with sizes around the size of a read.
: >all
for i in $(seq 40); do
	mkdir -p "m/$i"
	head -c $((131072 * (i % 11) + i)) /dev/urandom >"m/$i/data"
	pack m >>all
	cp "m/$i/data" "want$i"
	rm -r m
	zeroes $((i * i)) >>all
done
rm -f img
check "$mke4fs" -q -d all img
for i in $(seq 40); do
	debugfs -R "dump $i/data got" img 2>/dev/null
	cmp got "want$i" || fail "archive $i of many differs"
done
rm -f want* all

# Other data after an archive are refused.
for archive in a.cpio a.tar; do
	for packer in cat gzip bzip2 xz zstd; do
		{ $packer <$archive; zeroes 512; echo garbage; } >all
		rm -f img
		mustfail 1 "$mke4fs" -q -d all img
		one_sentence mke4fs
		{ cat $archive; echo garbage; } | $packer >all
		mustfail 1 "$mke4fs" -q -d all img
		one_sentence mke4fs
	done
	{ cat $archive; zeroes 512; echo garbage; } >all
	mustfail 1 "$mke4fs" -q -d all img
	says 'unknown data .*at byte [0-9]+'
	gzip -c b.cpio | head -c 100 >half
	cat $archive half >all
	mustfail 1 "$mke4fs" -q -d all img
	one_sentence mke4fs
done
[ ! -e img ] || fail 'an image was left'
# Other data after an archive are accepted on a device, because a device is
# larger than the data written to it.
if [ "$(id -u)" = 0 ] && truncate -s 1M disk && attach disk; then
	{ cat a.tar; zeroes 512; echo garbage; } >"$loop"
	check "$mke4fs" -q -d "$loop" img
	has img one/x 1
	rm img
	detach "$loop"
	check mke2fs -q -F disk 1M
	attach disk
	mustfail 1 "$mke4fs" -q -d "$loop" img
	says 'not an archive: use --from='
	detach "$loop"
fi
# A device has nothing but the end of an archive.
if [ -c /dev/zero ]; then
	check timeout 60 "$mke4fs" -q -d /dev/zero img
	rm img
fi
# One zip archive is read, possibly after a program.
python3 - <<'P'
import zipfile
for n in 'one', 'two':
    with zipfile.ZipFile(n + '.zip', 'w') as z:
        z.writestr(n + '/x', n + '\n')
P
{ echo '#!/bin/sh'; cat one.zip; } >sfx.zip
for source in one.zip sfx.zip; do
	check "$mke4fs" -q -d $source img
	has img one/x one
	rm img
done
cat one.zip two.zip >all
mustfail 1 "$mke4fs" -q -d all img
says 'contains data before or after the zip archive'
{ cat one.zip; echo garbage; } >all
mustfail 1 "$mke4fs" -q -d all img
one_sentence mke4fs
"$mke4fs" -q -d - img <one.zip || fail 'no zip archive from its redirection'
has img one/x one
rm img
# only the directory at the end of a zip archive has types and modes, so that the
# archive must be a file
python3 - <<'P'
import zipfile
zipfile.ZipFile('none.zip', 'w').close()
P
gzip -k one.zip
xz -k one.zip
cat a.tar one.zip >after
for zip in one.zip.gz one.zip.xz after; do
	mustfail 1 "$mke4fs" -q -d $zip img
	one_sentence mke4fs
	says "$zip: a zip archive cannot be read .*: give the zip file itself"
done
for zip in one.zip none.zip; do
	# shellcheck disable=SC2016
	mustfail 1 sh -c 'cat "$1" | "$0" -q -d - img' "$mke4fs" $zip
	one_sentence mke4fs
	says 'give the zip file itself'
done
[ ! -e img ] || fail 'an image was left'

# the size of a file that is not sparse is not read from the field for sparse files
printf '14 bytes here\n' >a/plain
seq 5000 >a/longer
tar --format=gnu -C a -cf t.tar plain longer
python3 - <<'P'
d = bytearray(open('t.tar', 'rb').read())
at = 0
for real in b'00000004200\0', b'00000000005\0':
    h = d[at:at + 512]
    h[483:495] = real
    h[148:156] = b' ' * 8
    h[148:156] = b'%06o\0 ' % sum(h)
    size = int(h[124:135], 8)
    d[at:at + 512] = h
    at += 512 + (size + 511) // 512 * 512
open('t.tar', 'wb').write(d)

# The entry of a hard link has a size for sparse files, which does not change
# the file.
import tarfile
with tarfile.open('l.tar', 'w', format=tarfile.GNU_FORMAT) as t:
    t.add('a/plain', 'plain')
    i = tarfile.TarInfo('link')
    i.type, i.linkname = tarfile.LNKTYPE, 'plain'
    t.addfile(i)
d = bytearray(open('l.tar', 'rb').read())
h = d[1024:1536]
h[483:495] = b'00000004200\0'
h[148:156] = b' ' * 8
h[148:156] = b'%06o\0 ' % sum(h)
d[1024:1536] = h
open('l.tar', 'wb').write(d)
P
for archive in t.tar l.tar; do
	check "$mke4fs" -q -d $archive img
	has img plain '14 bytes here'
	[ $archive = l.tar ] || has img longer "$(cat a/longer)"
	[ $archive = t.tar ] || has img link '14 bytes here'
	clean img
	rm img
done
# in a zip archive written to a pipe, the size is after the data
if command -v zip >/dev/null; then
	(cd a && zip -q - plain longer | cat) >stream.zip
	check "$mke4fs" -q -d stream.zip img
	has img plain '14 bytes here'
	has img longer "$(cat a/longer)"
	rm img
fi
# sparse files keep their holes
truncate -s 100000 a/hole
{ seq 100; truncate -s 200000 /dev/stdout; } >a/tail 2>/dev/null
truncate -s 200000 a/tail
for format in gnu posix; do
	tar -C a --format=$format -S -cf s.tar hole tail
	check "$mke4fs" -q -d s.tar img
	for name in hole tail; do
		debugfs -R "dump $name got" img 2>/dev/null
		cmp got a/$name || fail "$name differs"
	done
	rm img
done

# symbolic links get mode 0777, as in Linux; a member without a name is refused
python3 - <<'P'
import io, tarfile
with tarfile.open('links.tar', 'w') as t:
    for mode in 0, 0o644, 0o755, 0o7777:
        i = tarfile.TarInfo('link%o' % mode)
        i.type, i.linkname, i.mode = tarfile.SYMTYPE, 'x', mode
        t.addfile(i)
with tarfile.open('noname.tar', 'w') as t:
    t.add('a/plain', 'plain')
    t.addfile(tarfile.TarInfo(''))
P
check "$mke4fs" -q -d links.tar img
for mode in 0 644 755 7777; do
	debugfs -R "stat link$mode" img 2>/dev/null |
		grep -q 'Type: symlink.*Mode:  0777 ' ||
		fail "a link of mode $mode has not become one of 0777"
done
rm img
mustfail 1 "$mke4fs" -q -d noname.tar img
says 'noname.tar: .*member 2 '

# the checksum of compressed data detects a changed byte, in any place
mkdir sums
head -c 20000 /dev/urandom >sums/random
tar -C sums -cf sums.tar random
cat >change.py <<'P'
import sys
d = bytearray(open(sys.argv[1], 'rb').read())
d[int(sys.argv[2])] ^= int(sys.argv[3])
open('changed', 'wb').write(d)
P
for packer in gzip bzip2 xz 'zstd -q --check'; do
	$packer <sums.tar >packed
	len=$(stat -c %s packed)
	for at in 600 5000 19000 $((len - 7)) $((len - 3)); do
		python3 change.py packed "$at" 4
		mustfail 1 "$mke4fs" -q -d changed img
		one_sentence mke4fs
	done
	for at in 100 15000 $((len - 8)) $((len - 1)); do
		head -c "$at" packed >changed
		mustfail 1 "$mke4fs" -q -d changed img
		one_sentence mke4fs
	done
done
# a changed byte is detected in each member of a gzip file, and in gzip data that
# are compressed again
{ head -c 7000 sums.tar | gzip; tail -c +7001 sums.tar | gzip; } >packed
check "$mke4fs" -q -d packed img
debugfs -R 'dump random got' img 2>/dev/null
cmp got sums/random || fail 'a tar archive in two gzip members differs'
rm img
python3 change.py packed 6000 1
mustfail 1 "$mke4fs" -q -d changed img
says 'changed: .*damaged gzip data: incorrect data check'
xz <changed >packed
mustfail 1 "$mke4fs" -q -d packed img
says 'packed: .*damaged gzip data: incorrect data check'

# the checksum of a cpio archive is that of the data, also for several names
mkdir crc
echo hello >crc/a
ln crc/a crc/b
: >crc/empty
ln -s a crc/to
head -c 3000000 /dev/urandom >crc/large
(cd crc && find . | cpio -o --quiet -H crc) >c.cpio
check "$mke4fs" -q -d c.cpio img
has img b hello
rm img
LC_ALL=C sed s/hello/jello/ c.cpio >changed
mustfail 1 "$mke4fs" -q -d changed img
one_sentence mke4fs
says '(a|b): the data do not match their checksum'

# odd_cpio MODE TARGET: makes a cpio archive of a file with MODE and the content
# TARGET.  The target of a symbolic link must not be cut at a NUL byte.
odd_cpio() {
	python3 - "$@" <<'P'
import sys
def member(name, mode, data):
    name += b'\0'
    fields = 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0
    head = b'070701' + b''.join(b'%08x' % f for f in fields) + name
    return b''.join(p + bytes(-len(p) % 4) for p in (head, data))
open('odd.cpio', 'wb').write(
    member(b'odd', int(sys.argv[1], 8), eval("b'%s'" % sys.argv[2])) +
    member(b'TRAILER!!!', 0, b''))
P
}
odd_cpio 120777 'ab\0cd'
mustfail 1 "$mke4fs" -q -d odd.cpio img
one_sentence mke4fs
says 'odd.cpio: odd: the target of the symbolic link contains a NUL byte'
for target in abcd 'abcd\0'; do
	odd_cpio 120777 "$target"
	check "$mke4fs" -q -d odd.cpio img
	debugfs -R 'stat odd' img 2>/dev/null | grep -q 'link dest: "abcd"' ||
		fail "wrong target of a link in a cpio archive: $target"
	rm img
done
odd_cpio 0 abcd
mustfail 1 "$mke4fs" -q -d odd.cpio img
one_sentence mke4fs
says 'odd: unknown file type$'

# If a cpio header is damaged, libarchive skips to the next header. mke4fs
# reports an error.
python3 - <<'P'
d = open('a.cpio', 'rb').read()
at = d.rindex(b'070701', 0, d.rindex(b'070701'))
open('all', 'wb').write(d[:at] + b'x' + d[at:])
P
mustfail 1 "$mke4fs" -q -d all img
one_sentence mke4fs
says 'Skipped'

# repeated compression expands a few bytes to any size
python3 - <<'P'
import gzip
d = gzip.compress(bytes(1 << 26), 9)
d = gzip.compress(d * 30, 9) * 100
d = gzip.compress(gzip.compress(d, 9), 9)
open('bomb.gz', 'wb').write(d)
P
mustfail 1 "$mke4fs" -q -d bomb.gz img
one_sentence mke4fs
says 'bomb.gz: cannot read: .*unpacked size'
# a compressed stream without data is not an archive
printf '\004\042\115\030\144\100\247\000\000\000\000\005\135\314\002' >none.lz4
python3 - <<'P'
import lzma, struct
lz = lzma.compress(b'', format=lzma.FORMAT_ALONE, filters=[
    {'id': lzma.FILTER_LZMA1, 'dict_size': 1 << 16}])[13:]
m = b'LZIP\x01\x10' + lz + struct.pack('<IQ', 0, 0)
open('none.lz', 'wb').write(m + struct.pack('<Q', len(m) + 8))
P
: | xz >none.xz
: | zstd -q >none.zst
: | bzip2 >none.bz2
for none in none.lz4 none.lz none.xz none.zst none.bz2; do
	rm -f img
	mustfail 1 "$mke4fs" -q -d $none img
	one_sentence mke4fs
	says "$none: neither .*archive"
done
# an empty lz4 or bzip2 stream before or after an archive is skipped; libarchive
# reads nothing after an empty lz, xz or zstd stream, which is refused
for none in none.lz4 none.bz2; do
	cat $none a.tar b.tar >all && both all
	cat a.tar $none b.tar $none >all && both all
done
for none in none.lz none.xz none.zst; do
	cat $none a.tar b.tar >all
	rm -f img
	mustfail 1 "$mke4fs" -q -d all img
	one_sentence mke4fs
done

# libarchive ignores global pax headers, so mke4fs accepts only records without
# an effect on files.
with_global() {
	python3 - "$@" <<'P'
import io, sys, tarfile
name, *records = sys.argv[1:]
with tarfile.open(name, 'w', format=tarfile.PAX_FORMAT,
                  pax_headers=dict(r.split('=', 1) for r in records)) as t:
    for n in 'one', 'two':
        i = tarfile.TarInfo(n)
        i.size = 4
        t.addfile(i, io.BytesIO(n.encode() + b'\n'))
P
}
with_global g.tar comment=8a7b6c uname=root gname=root
check "$mke4fs" -q -d g.tar img
[ ! -s "$err" ] || fail "a comment in a global header is not silent"
has img two two
rm img
for record in uid=77 mtime=1000 SCHILY.xattr.user.a=b path=three; do
	with_global g.tar comment=x $record
	gzip -k g.tar
	for archive in g.tar g.tar.gz; do
		mustfail 1 "$mke4fs" -q -d $archive img
		one_sentence mke4fs
		says "$archive: the global pax header sets ${record%%=*}, "
	done
	rm g.tar.gz
done

# Headers that are too long to be kept are refused.
python3 - <<'P'
import tarfile

def header(kind, keyword, value):
    record = ' %s=%s\n' % (keyword, value)
    size = len(record)
    while size != len(str(size)) + len(record):
        size = len(str(size)) + len(record)
    i = tarfile.TarInfo('pax')
    i.type, i.size = kind, size
    data = (str(size) + record).encode()
    return i.tobuf() + data + bytes(-len(data) % 512)

long = header(b'g', 'comment', 'c' * 1000000) * 4
file = tarfile.TarInfo('f').tobuf() + bytes(1024)
with open('global.tar', 'wb') as t:
    t.write(header(b'g', 'uid', '5') + long + file)
with open('member.tar', 'wb') as t:
    t.write(long + header(b'x', 'uid', 'abc') + file)
P
for archive in global.tar member.tar; do
	mustfail 1 "$mke4fs" -q -d $archive img
	one_sentence mke4fs
done
rm global.tar member.tar

# a malformed record of a pax header would leave a wrong name or owner
cat >records.py <<'P'
import sys, tarfile
name, records = sys.argv[1], eval("b'%s'" % sys.argv[2])
h = tarfile.TarInfo('PaxHeaders/m')
h.type, h.size = tarfile.XHDTYPE, len(records)
open(name, 'wb').write(h.tobuf() + records + bytes(-len(records) % 512) +
                       tarfile.TarInfo('member').tobuf() + bytes(1024))
P
# refuse_record RECORD SENTENCE: fails unless mke4fs refuses RECORD in a pax
# header with SENTENCE
refuse_record() {
	python3 records.py bad.tar "$1"
	mustfail 1 "$mke4fs" -q -d bad.tar img
	one_sentence mke4fs
	says "bad.tar: $2"
}
python3 records.py good.tar '12 path=new\n16 mtime=-1.500\n9 uid=77\n'
check "$mke4fs" -q -d good.tar img
[ ! -s "$err" ] || fail 'valid records of a pax header are reported'
debugfs -R 'stat new' img 2>/dev/null | grep -q 'User: *77 ' ||
	fail 'the records of a pax header have no effect'
rm img
for record in '11 path=new\n' '99 path=new\n' 'x path=new\n' '12 path new\n' \
	'12 path=newx' '9 uid=77\n\0'; do
	refuse_record "$record" 'member: malformed pax header'
done
refuse_record '11 uid=abc\n' 'member: invalid value of uid in the pax header'
refuse_record '7 gid=\n' 'member: invalid value of gid in the pax header'
refuse_record '13 mtime=1.x\n' 'member: invalid value of mtime in the pax header'
refuse_record '14 path=ab\0cd\n' 'ab: invalid value of path in the pax header'

# File types that are not supported are reported.
python3 - <<'P'
import tarfile
t = tarfile.TarInfo('continued')
t.size, t.type = 3, b'M'
open('volume2.tar', 'wb').write(t.tobuf(tarfile.GNU_FORMAT) + b'abc' +
                                bytes(509 + 1024))
P
rm -f img
mustfail 1 "$mke4fs" -q -d volume2.tar img
one_sentence mke4fs
says 'continued: unknown file type'
python3 - <<'P'
import tarfile
d = bytearray(open('volume2.tar', 'rb').read())
d[156:157] = b'0'
d[100:108] = b'\xad000644\0'
d[148:156] = b' ' * 8
d[148:156] = b'%06o\0 ' % sum(d[:512])
first = tarfile.TarInfo('first').tobuf(tarfile.GNU_FORMAT)
open('mode.tar', 'wb').write(first + d)
P
mustfail 1 "$mke4fs" -q -d mode.tar img
one_sentence mke4fs
says 'continued: .*(mode|type)'
for epoch in -1 +5 ' 5' '5 ' abc 0x10 1e3 2147483648 99999999999999999999; do
	mustfail 2 env SOURCE_DATE_EPOCH="$epoch" "$mke4fs" -q -d a.tar img
	says 'SOURCE_DATE_EPOCH: invalid value .*1970, .*2147483647'
done

# A pipe can have endless zeroes instead of an archive, or after an archive.
for first in /dev/null a.tar; do
	# shellcheck disable=SC2016
	mustfail 1 sh -c 'cat "$1" /dev/zero |
		"$0" -q --max-size=2M -d - img' "$mke4fs" "$first"
	one_sentence mke4fs
	says 'cannot read: too many zero bytes .--max-size'
	in_full || continue	# this case reads gigabytes
	# shellcheck disable=SC2016
	mustfail 1 sh -c 'cat "$1" /dev/zero | "$0" -q -d - img' "$mke4fs" "$first"
	one_sentence mke4fs
	says 'cannot read: too many zero bytes .--max-size'
done
# shellcheck disable=SC2016
check sh -c 'head -c 100M /dev/zero | cat a.tar - | "$0" -q -d - img' "$mke4fs"

# Data that were compressed only once can be all zeroes.
if in_full; then
	zeroes 30000000 | bzip2 >z
	cat z z z z z z z z z z >z.bz2
	check "$mke4fs" -q -d z.bz2 img
fi
