#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every writing tool refuses a filesystem with errors that e4check reports, with
# exit status 1, a sentence with the error and a command to run, and changes no
# byte.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program mke2fs e2fsck debugfs dumpe2fs

img=$work/img

# fresh [MKE2FS-OPTION...]: makes an image with a file of one extent, a
# fragmented file, and a directory.
fresh() {
	aged "$img" <<END
size 16M
mke2fs -b 1024 -g 4096 -J size=1 $*
scatter /a frags 30 blocks 2
file /whole size 100K
dir /d
END
	debugfs -R 'stat /whole' "$img" >"$work/.stat" 2>/dev/null
	mmp=$(dumpe2fs -h "$img" 2>/dev/null |
		sed -n 's/^MMP block number: *//p')
}

# bytes IMAGE: prints everything except the MMP block, which records its users.
bytes() {
	if [ "$mmp" ]; then
		{ head -c $((mmp * 1024)) "$1"
		  tail -c +$((mmp * 1024 + 1025)) "$1"; } | cksum
	else
		cksum <"$1"
	fi
}

# refuses COMMAND...: fails unless COMMAND fails and changes nothing
refuses() {
	mustfail 1 "$@"
	one_sentence '[a-z0-9]*'
	says "$img: $finding.*: run e2fsck -f $img; nothing was written"
	same "$finding: ${1##*/}" "$(bytes "$img")" "$before"
}

# refused FINDING COMMAND...: runs debugfs COMMANDs on the image, and fails
# unless every tool refuses the image because of FINDING.
refused() {
	finding=$1
	shift
	for command; do
		debugfs -w -R "$command" "$img" >/dev/null 2>"$work/.debugfs"
	done
	run e2fsck -fn "$img"
	[ "$status" != 0 ] || fail "$finding: clean to e2fsck"
	before=$(bytes "$img")
	refuses "$e4repack" "$img"
	refuses "$e4repack" -n "$img"
	refuses "$mke4fs" -q --from="$img" "$work/new" 32M
	[ ! -e "$work/new" ] || fail "$finding: a copy was made"
	# each opening for writing waits for 11 seconds with MMP
	[ -z "$mmp" ] || return 0
	refuses "$tune4fs" -E dir_ireserve=64 "$img"
	refuses "$tune4fs" -n -E dir_ireserve=64 "$img"
	refuses "$e4debug" -w -R 'mkdir /new' "$img"
	refuses "$e4debug" -w -R 'link /a /b' "$img"
	refuses "$e4debug" -w -R 'trees' "$img"
	refuses "$e4debug" -w -R 'tunables dir_ireserve=64' "$img"
}

# reserved: prints the first block that is reserved for descriptors.
reserved() {
	dumpe2fs "$img" 2>/dev/null |
		sed -n 's/.*Reserved GDT blocks at \([0-9]*\)-.*/\1/p' |
		head -n 1
}

# A file claims metadata of the filesystem.
fresh
refused block "sif /whole block[5] $(reserved)"
fresh -O mmp
refused block "sif /whole block[5] $mmp"

# A bitmap is in the wrong place.
fresh
refused '' 'set_bg 1 block_bitmap 9000' 'set_bg 1 checksum calc'

# An extent header has the wrong space, a block count is wrong, or blocks are
# beyond the end of the file.
fresh
refused extent 'sif /whole block[1] 1'
fresh
refused inode 'sif /whole blocks 1000'
fresh
refused inode 'sif /whole size 5000'
fresh -O bigalloc -C 16384
refused '' 'sif /whole block[5] 4097'

# A filesystem with an unknown compatible feature can be read but not checked,
# so writing tools refuse it.
fresh
check debugfs -w -R 'feature FEATURE_C13' "$img"
mustfail 1 "$mke4fs" -q --from="$img" "$work/new" 32M
says 'FEATURE_C13, .*not support'
mustfail 1 "$e4repack" -n "$img"
says 'FEATURE_C13, .*not support'
