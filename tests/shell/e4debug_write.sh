#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each request that writes has its documented effect and no other: e2fsck finds
# no error, and the other files are unchanged.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/repack_common.sh"
require_program /usr/bin/python3

head -c 1000000 /dev/urandom >"$work/large"
head -c 5000 /dev/urandom >"$work/small"
: >"$work/empty"
truncate -s 8M "$work/holes"
dd if="$work/large" of="$work/holes" bs=4096 seek=100 conv=notrunc status=none
dd if="$work/small" of="$work/holes" bs=4096 seek=1500 conv=notrunc status=none

# request REQUEST: runs a request that writes to the image.
request() {
	what=$1
	# shellcheck disable=SC2086
	check "$e4debug" -w $protect -R "$1" "$img"
	cp "$out" "$work/said"
	sound "$img"
}

# refused REQUEST PATTERN: fails unless REQUEST fails and changes nothing.
refused() {
	what=$1
	cp "$img" "$work/untouched"
	# shellcheck disable=SC2086
	mustfail 1 "$e4debug" -w $protect -R "$1" "$img"
	says "$2"
	cmp "$img" "$work/untouched" || fail "$1 changes the image"
}

# holds PATH HOSTFILE: fails unless the file PATH has the content of HOSTFILE.
holds() {
	debugfs -R "dump $1 $work/dump" "$img" >/dev/null 2>&1
	cmp "$work/dump" "$2" || fail "$what: $1 and $2 differ"
}

# others: prints the digests of the inodes in $kept, which no request changes.
others() {
	digest "$img" | awk -v kept=" $kept " 'index(kept, " " $1 " ")'
}

# figure REQUEST EXPRESSION: prints the value of EXPRESSION for the JSON output
# of REQUEST
figure() {
	"$e4debug" --json -R "$1" "$img" >"$work/doc" || fail "$1"
	json "$work/doc" "$2"
}

all_requests() {
	split=$(figure 'frag /split' 'd["inode"]')
	kept=$(digest "$img" | awk -v linked="$split" \
		'$1 >= 12 && $1 != linked { print $1 }' | paste -sd' ')
	others >"$work/before"
	[ -s "$work/before" ] || fail 'no files to keep'
	request 'mkdir /new'
	request 'mkdir /new/sub'
	refused 'mkdir /new' 'File exists'
	refused 'mkdir /missing/sub' 'mkdir: /missing/sub: no such file or directory'
	refused 'mkdir /split/sub' 'not a directory'
	refused 'mkdir /new/..' 'must end in a file name'
	request 'link /split /new/again'
	same 'links' "$(debugfs -R 'stat /split' "$img" 2>/dev/null |
		sed -n 's/^Links: \([0-9]*\).*/\1/p')" 2
	refused 'link /new /dir' 'cannot have another hard link'
	refused 'link <8> /journal' 'cannot have another hard link'
	refused 'link /split /new/again' 'File exists'

	for file in large small empty holes; do
		request "write $work/$file /new/$file"
		holds "/new/$file" "$work/$file"
	done
	same 'fragments' "$(figure 'frag /new/large' 'd["fragments"]')" 1
	size=$(figure stats 'd["block_size_bytes"]')
	[ "$(figure 'frag /new/holes' "d['blocks'] * $size")" -le 1100000 ] ||
		fail "$what: holes were filled"
	refused "write $work/large /new/large" 'block 0 has content'
	refused "write $work/none /new/none" 'No such file'
	refused "write $work /new/none" 'not a regular file'
	refused "write $work/large /new" 'not a regular file'

	# a file is preallocated, and then partly written
	request "write $work/empty /new/wal"
	request 'fallocate /new/wal 0 4M'
	same 'preallocated' "$(figure 'frag /new/wal' \
		'd["size_bytes"], d["unwritten_blocks"] * '"$size")" \
		'(4194304, 4194304)'
	head -c 4194304 /dev/zero >"$work/wanted"
	holds /new/wal "$work/wanted"
	request "write $work/large /new/wal"
	dd if="$work/large" of="$work/wanted" conv=notrunc status=none
	holds /new/wal "$work/wanted"
	blocks=$(((1000000 + size - 1) / size))
	same 'in states' "$(figure 'extents /new/wal' "sum(x['blocks']
		for x in d['extents'] if x['state'] == 'written')")" "$blocks"
	refused "write $work/small /new/wal" 'block 0 has content'
	request 'punch /new/wal 0 64K'
	dd if=/dev/zero of="$work/wanted" bs=64K count=1 conv=notrunc \
		status=none
	holds /new/wal "$work/wanted"
	same 'a hole' "$(figure 'extents /new/wal' 'd["extents"][0]["state"],
		d["extents"][0]["blocks"] * '"$size")" "('hole', 65536)"
	refused "write $work/small /new/wal" 'block 0 is a hole'
	refused 'punch /new/wal 100 100' 'begin at a block boundary'
	refused 'punch /new/wal 0 1X' '1X: invalid value'
	refused 'punch /new 0 4K' 'not a regular file'
	refused 'fallocate /new/wal 0 20T' 'larger than the maximum'
	request 'fallocate /new/wal 0 64K'
	request "write $work/small /new/wal"
	dd if="$work/small" of="$work/wanted" conv=notrunc status=none
	holds /new/wal "$work/wanted"
	others >"$work/after"
	unchanged "$work/before" "$work/after"
}

for features in '' '-O bigalloc -C 16384' \
	'-b 1024 -O ^has_journal,^metadata_csum,^64bit,^dir_index'; do
	{
		echo 'size 64M'
		echo "mke2fs $features"
		sed -e '/^size/d' -e '/tree/d' -e '/old/d' \
			"$top_srcdir/tests/shell/layout.recipe"
	} >"$work/recipe"
	case $features in
	*bigalloc*) sed -i -e '/ extents /d' "$work/recipe"
		echo 'file /split size 40K' >>"$work/recipe"
		echo 'repeat 9 file /other% size 40K' >>"$work/recipe" ;;
	esac
	protect=
	case $features in *has_journal*) protect=--no-undo ;; esac
	rm -f "$img"
	"$top_builddir/tests/tools/mkaged" "$work/recipe" "$img" >/dev/null ||
		fail "no image with $features"
	all_requests
done

# With quotas, requests that change the usage are refused.
rm -f "$img"
check mke2fs -q -F -t ext4 -O quota "$img" 32M
protect=
for request in 'mkdir /new' "write $work/small /new"; do
	what=$request
	digest "$img" >"$work/before"
	mustfail 1 "$e4debug" -w -R "$request" "$img"
	says 'has quotas: make the change on the mounted filesystem'
	digest "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	sound "$img"
done

# The free space is in a thousand extents, so that a file gets a tree of two
# levels.
rm -f "$img"
aged "$img" <<-END
	size 16M
	mke2fs -b 1024 -N 8000
	many /m count 7000 size 1K
	delete /m percent 50
END
free=$(figure freespace "sum(h['blocks'] for h in d['histogram']
	if h['min_blocks'] >= 64)")
request "write $work/empty /fill"
request "fallocate /fill 0 $((free * 1024))"
request "write $work/empty /pieces"
request 'fallocate /pieces 0 2M'
same 'levels' "$(figure 'frag /pieces' 'd["depth"], d["extents"] > 500')" \
	'(2, True)'
request "write $work/large /pieces"
head -c 2097152 /dev/zero >"$work/wanted"
dd if="$work/large" of="$work/wanted" conv=notrunc status=none
holds /pieces "$work/wanted"
same 'levels then' "$(figure 'tree /pieces' 'd["depth"],
	sum(n["entries"] for n in d["nodes"] if not n["level"]) > 500')" \
	'(2, True)'
refused 'fallocate /pieces 0 64M' 'No space left'
request 'punch /pieces 0 2M'
same 'nothing left' "$(figure 'frag /pieces' 'd["blocks"],
	d["tree_blocks"]')" '(0, 0)'
