#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ids in ACLs and file capabilities are mapped for every kind of source.  An
# archive may have names in place of numbers, or attributes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program tar getfacl

# acls_are IMAGE FILE WANT: compares the mode and the ACL of FILE with WANT
acls_are() {
	clean "$1"
	mkdir -p "$work/mnt"
	mount -t ext4 -o loop,ro,noload "$1" "$work/mnt" ||
		skip "mount does not work here"
	got=$(stat -c %a "$work/mnt/$2"
		getfacl -cnpE "$work/mnt/$2" | tr -s '\n' ' ')
	cap=$(getfattr -d -m security -e hex --absolute-names "$work/mnt/$2" |
		sed -n 's/^security.capability=//p')
	umount "$work/mnt"
	# shellcheck disable=SC2086,SC2116	# one space between words
	same "$2" "$(echo $got $cap)" "$3"
}

mkdir "$work/src"
echo 1 >"$work/src/file"
mkdir "$work/src/dir"
chmod 640 "$work/src/file"
chmod 750 "$work/src/dir"
chown -R 5:6 "$work/src"
setfacl -m u:1001:rw,u:1500:r,u:3:r,g:2000:r "$work/src/file"
setfacl -m u:1001:rx -d -m u::rwx,g::rx,o::-,u:1002:rwx "$work/src/dir"
v3=0x0100000300040000000000000000000000000000
setfattr -n security.capability -v "${v3}e9030000" "$work/src/file" ||
	skip "no capabilities of user namespaces"
tar -C "$work/src" --format=posix --xattrs --xattrs-include='*' --acls \
	-cf "$work/a.tar" .
"$mke4fs" -q -d "$work/src" "$work/from"

maps='--uid-map=1001:9 --uid-map=1000:100000:1000 --gid-map=2000:7'
for source in "-d $work/src" "-d $work/a.tar" "--from=$work/from"; do
	rm -f "$work/img"
	# shellcheck disable=SC2086
	check "$mke4fs" -q $maps $source "$work/img"
	acls_are "$work/img" file "660 user::rw- user:3:r-- user:9:rw-\
 user:100500:r-- group::r-- group:7:r-- mask::rw- other::--- ${v3}09000000"
	acls_are "$work/img" dir "750 user::rwx user:9:r-x group::r-x mask::r-x\
 other::--- default:user::rwx default:user:100002:rwx default:group::r-x\
 default:mask::rwx default:other::---"
	rm -f "$work/img"
	# shellcheck disable=SC2086
	check "$mke4fs" -q --all-root $source "$work/img"
	acls_are "$work/img" file "660 user::rw- user:3:r-- user:1001:rw-\
 user:1500:r-- group::r-- group:2000:r-- mask::rw- other::--- ${v3}e9030000"
	rm -f "$work/img"
	# shellcheck disable=SC2086
	mustfail 1 "$mke4fs" -q --uid-map=1001:3 $source "$work/img"
	one_sentence mke4fs
	says 'file: .*access control list'
	[ ! -e "$work/img" ] || fail "an image is left behind"
done

# The root's permissions are set as by chmod.  Other files that share the root's
# ACL keep the ACL.
mkdir "$work/other"
for dir in "$work/src" "$work/other"; do
	setfacl -b "$dir"
	chmod 750 "$dir"
	setfacl -m u:1001:rwx,g:2000:rwx -d -m u:1002:rwx "$dir"
done
mv "$work/other" "$work/src/other"
rm "$work/from"
"$mke4fs" -q -d "$work/src" "$work/from"
default='default:user::rwx default:user:1002:rwx default:group::r-x
 default:mask::rwx default:other::---'
# shellcheck disable=SC2086,SC2116	# one space between words
for source in "-d $work/src" "--from=$work/from"; do
	for perms in 700 1604; do
		rm -f "$work/img"
		check "$mke4fs" -q $source -E root_perms=$perms "$work/img"
		chmod $perms "$work/src"
		want=$(getfacl -cnpE "$work/src" | tr -s '\n' ' ')
		acls_are "$work/img" . "$(echo $perms $want)"
		acls_are "$work/img" other "$(echo 770 user::rwx user:1001:rwx\
 group::r-x group:2000:rwx mask::rwx other::--- $default)"
	done
done
# an ACL of three entries has no mask
setfacl -b -m u::rw,g::rw,o::rw "$work/src"
rm -f "$work/img"
check "$mke4fs" -q -d "$work/src" -E root_perms=0 "$work/img"
acls_are "$work/img" . "0 user::--- group::--- other::---"

# archive FILE HEADERS: makes an archive of one file with mode 644 and these
# extended headers
archive() {
	python3 - "$@" <<'EOT'
import sys, tarfile
t = tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT)
i = tarfile.TarInfo("a")
i.pax_headers = dict(h.split("=", 1) for h in sys.argv[2:])
t.addfile(i)
t.close()
EOT
}

# One ACL entry has a name that is known on this host.  Another entry has an
# unknown name and a numeric ID.
daemon=$(id -u daemon) || skip "no user called daemon"
group=$(getent group daemon | cut -d: -f3)
archive "$work/a.tar" SCHILY.acl.access="user::rw-,user:daemon:rw-,\
user:nobody-at-all:r--:4321,group::---,group:daemon:r--,mask::rw-,other::---"
rm -f "$work/img"
check "$mke4fs" -q -d "$work/a.tar" "$work/img"
acls_are "$work/img" a "660 user::rw- user:$daemon:rw- user:4321:r-- group::---\
 group:$group:r-- mask::rw- other::---"
rm "$work/img"
mustfail 1 "$mke4fs" -q --numeric-acls -d "$work/a.tar" "$work/img"
one_sentence mke4fs
says 'a: an ACL contains daemon, which has no numeric ID'
[ ! -e "$work/img" ] || fail "an image is left behind"
check "$mke4fs" -q --numeric-acls --drop-acl-names -d "$work/a.tar" "$work/img"
says 'a: ACL entry omitted: daemon'
acls_are "$work/img" a \
	"660 user::rw- user:4321:r-- group::--- mask::rw- other::---"
archive "$work/a.tar" SCHILY.acl.access="user::rw-,user:nobody-at-all:rw-,\
user:4000000000:rw-,group::r--,mask::rw-,other::---"
rm "$work/img"
mustfail 1 "$mke4fs" -q -d "$work/a.tar" "$work/img"
# libarchive 3.8 drops the entry of 4000000000, with a warning
large_ids=yes
! grep -q ': a: Parse error: SCHILY\.acl\.access$' "$err" || {
	large_ids=
	skip_part "this libarchive refuses IDs above 2147483647 in ACLs"
	sed -i '/: a: Parse error: /d' "$err"
}
one_sentence mke4fs
says 'a: an ACL contains nobody-at-all, which is unknown'
check "$mke4fs" -q --drop-acl-names -d "$work/a.tar" "$work/img"
says 'a: ACL entry omitted: nobody-at-all is unknown'
[ ! "$large_ids" ] || says 'a: ACL entry omitted: 4000000000 is unknown'
acls_are "$work/img" a "660 user::rw- group::r-- mask::rw- other::---"

# ACLs in attributes take precedence over ACLs in text form.
python3 - "$work/a.tar" <<'EOT'
import io, struct, sys, tarfile
def acl(*entries):
    return (struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *e) for e in entries)).decode("latin1")
none = 0xffffffff
t = tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT,
                 encoding="latin1")
for name, kind, access, default in (
        ("a", tarfile.REGTYPE,
         acl((1, 6, none), (2, 6, 1234), (4, 4, none), (16, 6, none),
             (32, 0, none)), None),
        ("d", tarfile.DIRTYPE, acl((1, 7, none), (4, 5, none), (32, 1, none)),
         acl((1, 7, none), (4, 5, none), (8, 5, 77), (16, 5, none),
             (32, 0, none)))):
    i = tarfile.TarInfo(name)
    i.type, i.mode = kind, 0o640
    headers = {"SCHILY.xattr.system.posix_acl_access": access,
               "SCHILY.acl.access":
               "user::rwx,user:nobody-at-all:rwx,group::rwx,mask::rwx,"
               "other::rwx"}
    if default:
        headers["SCHILY.xattr.system.posix_acl_default"] = default
    # tarfile would encode the values as UTF-8
    records = b""
    for key, value in headers.items():
        tail = b" " + key.encode() + b"=" + value.encode("latin1") + b"\n"
        n = len(tail) + 1
        while len(str(n)) + len(tail) != n:
            n += 1
        records += str(n).encode() + tail
    x = tarfile.TarInfo("x")
    x.type, x.size = tarfile.XHDTYPE, len(records)
    t.addfile(x, io.BytesIO(records))
    t.addfile(i)
t.close()
EOT
rm "$work/img"
check "$mke4fs" -q -d "$work/a.tar" "$work/img"
acls_are "$work/img" a \
	"660 user::rw- user:1234:rw- group::r-- mask::rw- other::---"
acls_are "$work/img" d "751 user::rwx group::r-x other::--x\
 default:user::rwx default:group::r-x default:group:77:r-x default:mask::r-x\
 default:other::---"

# Invalid ACLs are refused.
for bad in access=user::rw-,user:5:rw-,group::r--,other::--- \
	default=user:5:rw-; do
	archive "$work/a.tar" SCHILY.acl.$bad
	rm -f "$work/img"
	mustfail 1 "$mke4fs" -q -d "$work/a.tar" "$work/img"
	one_sentence mke4fs
	says 'a: invalid ACL'
done

# Some types of files cannot have attributes or ACLs.
cat >"$work/odd.py" <<'P'
import os, sys, tarfile
kind, key, value = sys.argv[1:]
i = tarfile.TarInfo('member')
i.type = {'file': tarfile.REGTYPE, 'dir': tarfile.DIRTYPE,
          'link': tarfile.SYMTYPE, 'fifo': tarfile.FIFOTYPE}[kind]
i.linkname = 'x' if kind == 'link' else ''
i.pax_headers = {key: value}
with tarfile.open('odd.tar', 'w', format=tarfile.PAX_FORMAT) as t:
    t.addfile(i)
P
# refuse_odd TYPE KEY VALUE SENTENCE: fails unless mke4fs refuses a file of TYPE
# with the header KEY=VALUE
refuse_odd() {
	python3 odd.py "$1" "$2" "$3"
	rm -f img
	mustfail 1 "$mke4fs" -q -d odd.tar img
	one_sentence mke4fs
	says "odd.tar: member: extended attribute $4"
	check "$mke4fs" -q -E no_copy_xattrs -d odd.tar img
}
cd "$work"
acl=user::rwx,user:1:r--:1,group::r-x,mask::r-x,other::r-x
for kind in link fifo; do
	refuse_odd $kind SCHILY.xattr.user.x y \
		'user.x: only regular files and directories'
done
refuse_odd link SCHILY.acl.access $acl \
	'system.posix_acl_access: symbolic links have no ACL'
for kind in file link; do
	refuse_odd $kind SCHILY.acl.default $acl \
		'system.posix_acl_default: only directories have a default ACL'
done
refuse_odd file SCHILY.xattr.nons y 'nons: the name has no namespace'
refuse_odd file SCHILY.xattr.user. y 'user.: the name consists of a namespace only'
# Attributes of other operating systems are omitted.
for accepted in 'file com.apple.provenance' 'link trusted.x' 'dir user.x'; do
	# shellcheck disable=SC2086
	set -- $accepted
	python3 odd.py "$1" "SCHILY.xattr.$2" y
	rm img
	check "$mke4fs" -q -d odd.tar img
done
