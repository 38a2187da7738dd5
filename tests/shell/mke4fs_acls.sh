#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ACLs and file capabilities: ids in them are mapped from every kind of source.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_loop
require_program tar getfacl

# acls_are IMAGE FILE WANT: its mode and its ACL in one line
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
	says 'file: two entries of an access control list'
	[ ! -e "$work/img" ] || fail "an image is left behind"
done
