# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154
# Common part of the tests of mke4fs; sourced after common.sh.
require_program mke2fs e2fsck debugfs getfattr setfattr setfacl

# require_archives: skips the test if mke4fs is built without libarchive.  Before
# that, checks that mke4fs refuses an archive before it makes an image.
require_archives() {
	! built_with ARCHIVE || return 0
	printf x >"$work/archive"
	mustfail 1 "$mke4fs" -d "$work/archive" "$work/img" 16M
	says "$work/archive: .* without libarchive"
	[ ! -e "$work/img" ] || fail "mke4fs created an image before refusing an archive"
	skip 'built without libarchive'
}

# value IMAGE NAME: prints the value NAME of the superblock
value() {
	dumpe2fs -h "$1" 2>/dev/null | sed -n "s/^$2: *//p"
}

# need_theirs: makes the file theirs of 3 GiB with mke2fs
need_theirs() {
	truncate -s 3G theirs
	check mkfs.ext4 -q -F -b 4096 theirs
}

# grown IMAGE: fails unless IMAGE is sound and has the size and counts of the
# file theirs
grown() {
	for name in 'Block count' 'Inode count' 'Total journal size'; do
		same "$name" "$(value "$1" "$name")" "$(value theirs "$name")"
	done
	sound "$1"
}

# list_attributes: prints attributes of the files whose names are read.
# getfattr(1) fails for files of 2040 if time_t has 32 bits.
list_attributes() {
	python3 -c '
import os, sys
for path in sys.stdin.buffer.read().split(b"\0"):
    for name in sorted(os.listxattr(path, follow_symlinks=False)) if path else ():
        value = os.getxattr(path, name, follow_symlinks=False)
        print(path, name, value.hex())'
}

# near_times DIR: sets times that archives and all programs can represent.
near_times() {
	! short_times || touch -d '2030-01-02 03:04:05.000000001 UTC' "$1/nothing"
}

# list_tree DIR: prints a line for each property that a copy must have, with
# checksums.
list_tree() {
	(
		cd "$1" || exit
		find . -path ./lost+found -prune -o -printf \
			'%P %y %m %U %G %T@ %n %l' \
			\( -type f -printf ' %s' -o -true \) -printf '\n' |
			sed '/^ d /s/ [0-9]* $//' | sort
		find . -path ./lost+found -prune -o \( -type b -o -type c \) \
			-exec stat -c '%n %t:%T' {} + | sort
		find . -path ./lost+found -prune -o -type f -print0 | sort -z |
			xargs -0r b2sum
		find . -path ./lost+found -prune -o -print0 | sort -z |
			list_attributes
		find . -path ./lost+found -prune -o -type f -links +1 \
			-printf '%i %P\n' | sort | awk '
			{ if ($1 in first) print first[$1], $2
			  else first[$1] = $2 }' | sort
	)
}

clean() {
	sound "$@"
}

# equals IMAGE DIR: fails unless IMAGE is sound and has the content of DIR.  If
# $listed is DIR, the content of DIR has not changed since the last call.
listed=
equals() {
	clean "$1"
	mkdir -p "$work/mnt"
	mount -t ext4 -o loop,ro,noload "$1" "$work/mnt" ||
		skip "mount does not work here"
	[ "$listed" = "$2" ] || list_tree "$2" >"$work/want"
	list_tree "$work/mnt" >"$work/got"
	if command -v rsync >/dev/null && ! short_times; then
		rsync -n -aHAXci --delete --exclude=/lost+found "$2/" \
			"$work/mnt" >"$work/differs" 2>&1 ||
			echo "rsync failed" >>"$work/differs"
	fi
	umount "$work/mnt"
	[ ! -s "$work/differs" ] || {
		cat "$work/differs" >&2
		fail "rsync finds differences between $1 and $2"
	}
	diff "$work/want" "$work/got" >&2 || fail "$1 and $2 differ"
}

# sample DIR: makes a tree with one file of each kind.
sample() {
	mkdir -p "$1/dir/deep/er" "$1/empty" "$1/many" "$1/names"
	echo hello >"$1/small"
	printf '%s' "$(seq 40)" >"$1/hundred"	# longer than i_block
	: >"$1/nothing"
	seq 200000 >"$1/dir/large"
	ln "$1/dir/large" "$1/dir/deep/other-name"
	ln "$1/small" "$1/again"
	ln -s small "$1/link"
	ln -s "$(printf '%0200d' 7)" "$1/long-link"
	ln -s "$(printf '%059d' 7)" "$1/link59"
	ln -s "$(printf '%060d' 7)" "$1/link60"
	mkfifo "$1/fifo"
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1/sock"
	if [ "$(id -u)" = 0 ]; then
		mknod "$1/chr" c 5 300
		mknod "$1/blk" b 259 70000
		chown -h 1000:100000 "$1/link" "$1/dir/large"
		setfattr -n trusted.t -v secret "$1/dir"
		setfattr -n security.capability \
			-v 0x0100000200040000000000000000000000000000 \
			"$1/hundred"
	fi
	chmod 4711 "$1/hundred"
	chmod 1777 "$1/empty"
	(cd "$1/many" && seq -f 'a-name-of-some-length-%g' 700 | xargs touch)
	touch "$1/names/$(printf '%0255d' 1)" "$1/names/$(printf 'x\377\201')" \
		"$1/names/ sp ace" "$1/names/$(printf 'new\nline')"
	setfattr -n user.one -v 1 "$1/small" "$1/many/a-name-of-some-length-5"
	setfattr -n user.two -v "$(printf '%0600d' 2)" "$1/dir/large"
	setfacl -m u:1234:rw,g:77:r "$1/small" "$1/dir"
	setfacl -d -m u:1234:rwx "$1/dir"
	truncate -s 3M "$1/all-hole"
	python3 -c '
import sys
with open(sys.argv[1], "wb") as f:
    for i in range(40):
        f.seek(i * 100000 + i * i)
        f.write(b"%d" % i * 3000)
    f.truncate(5000001)' "$1/holes"
	touch -d '1960-01-02 03:04:05.678901234 UTC' "$1/dir"
	touch -d '2040-01-02 03:04:05.000000001 UTC' "$1/nothing"
	touch -h -d '2001-02-03 UTC' "$1/link"
}
