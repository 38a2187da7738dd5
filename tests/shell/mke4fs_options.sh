#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# All options are in the help and in the manual page, the options of mke2fs are
# passed to mke2fs, and the progress bar is shown.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

check "$mke4fs" --help
[ "$(wc -L <"$out")" -le 80 ] || fail "--help is wider than 80 columns"
for option in d from R E free grow-to all-root uid-map gid-map numeric-acls \
	drop-acl-names like skip-damaged keep-generation manifest max-size platform \
	oci-config sort dm-verity verity fs-config \
	threads n progress json quiet verbose help version; do
	grep -Eq -e "(^|[ ,-])-?-$option([[ =,.]|\$)" "$out" ||
		fail "--help does not know $option"
	tr -d '\134' <"$top_srcdir/misc/mke4fs.8" |
		grep -Eq -e "^\.B.*-$option\\b|^fB-$option" ||
		fail "the manual page does not know $option"
done
for option in --version -V; do
	check "$mke4fs" $option
	grep -q '^mke4fs [0-9].* (libext2fs ' "$out" || fail "$option prints no version"
done

mkdir "$work/src"
echo content >"$work/src/file"
img=$work/img

# says_of PATTERN: fails unless a line of the superblock's description matches
says_of() {
	check dumpe2fs -h "$img"
	grep -Eq "$1" "$out" || { show_run; fail "the output of dumpe2fs lacks $1"; }
}

check "$mke4fs" -q -d "$work/src" -b 1024 -g 2048 -G 4 -I 512 -m 3 -L label \
	-M /last -N 512 -o linux -e remount-ro -J size=2 -D -K -v \
	-U 01234567-89ab-cdef-0123-456789abcdef -T small -i 8192 "$img" 16M
clean "$img"
for line in 'volume name: +label' 'mounted on: +/last' 'Inode count: +512' \
	'Filesystem OS type: +Linux' 'Errors behavior: +Remount read-only' \
	'Blocks per group: +2048' 'Flex block group size: +4' \
	'Inode size: +512' 'Reserved block count: +491' \
	'UUID: +01234567-89ab-cdef-0123-456789abcdef' 'Block size: +1024' \
	'journal size: +2048k'; do
	says_of "${line%% +*}[[:space:]]+${line#* +}"
done

# Bad blocks of a device are searched and recorded.
truncate -s 16M "$work/disk"
check "$mke4fs" -q -F -c -b 4096 -d "$work/src" "$work/disk"
clean "$work/disk"
echo 3000 >"$work/bad"
rm "$img"
check "$mke4fs" -q -b 1024 -l "$work/bad" -d "$work/src" "$img" 16M
clean "$img"
check dumpe2fs -b "$img"
same "the bad blocks" "$(cat "$out")" 3000
rm "$img"

check "$mke4fs" --progress=always -d "$work/src" "$img" 16M
says '^writing \[#* *\] *[0-9]* %  (.*/s  )?[-0-9:]* left$'
for options in '--progress=always -q' --progress=never --progress=auto; do
	rm -f "$img"
	# shellcheck disable=SC2086
	check "$mke4fs" $options -d "$work/src" "$img" 16M
	[ ! -s "$err" ] || { show_run; fail "$options: prints on stderr"; }
done
rm -f "$img"

# With -q, mke2fs prints only errors, and still asks its questions.
check "$mke4fs" -q -b 1024 -d "$work/src" "$img" 1M
[ ! -s "$err" ] || { show_run; fail "-q: mke2fs reports the journal"; }
rm "$img"
truncate -s 1M "$work/disk"
check "$mke4fs" -q -F -b 1024 -d "$work/src" "$work/disk"
[ ! -s "$err" ] || { show_run; fail "-q: mke2fs reports the journal"; }
mustfail 1 "$mke4fs" -q -F -d "$work/src" -E stride=x "$work/disk"
says 'Invalid stride parameter'
says 'disk: mke2fs failed'
if has_program script; then
	sum=$(cksum <"$work/disk")
	for asks in "-q -d '$work/src' '$work/disk'" \
		"--json -d '$work/src' '$work/disk'" \
		"--json '$work/disk' 2>'$work/said'" \
		"-v --json -d '$work/src' '$work/disk' 2>'$work/said'"; do
		script -qec "'$mke4fs' $asks" /dev/null <<-EOT >"$out" || :
			n
		EOT
		grep -q Proceed "$out" || fail "$asks: mke2fs did not ask"
		same "what was not to be touched" \
			"$(cksum <"$work/disk")" "$sum"
	done
fi

for bad in -z -S; do
	mustfail 2 "$mke4fs" $bad "$work/undo" "$img" 16M
	one_sentence mke4fs
done
mustfail 1 "$mke4fs" --sort="$work/missing" -d "$work/src" "$img"
one_sentence mke4fs
says 'missing: cannot open: No such file'
mustfail 1 "$mke4fs" -d "$work/src" "$work/no/img" 16M
one_sentence mke4fs
mustfail 1 "$mke4fs" -q -d "$work/src" /dev/null
says '/dev/null: neither .* regular file'
if "$mke4fs" --help >/dev/full 2>"$err"; then
	fail "a full disk goes unnoticed"
fi

# DEVICE can be TAG=VALUE or FILE?offset=BYTES, like the targets of other tools
refuse_name() {
	mustfail 1 "$mke4fs" -q ${3+"$3"} -d "$work/src" "$1" 16M
	one_sentence mke4fs
	says "$2"
	[ "$(ls -A)" = '' ] || fail "$1: made $(ls -A)"
}
mkdir "$work/empty"
cd "$work/empty"
for tag in LABEL UUID PARTLABEL PARTUUID; do
	refuse_name "$tag=no-such-$$" "$tag=no-such-$$: no device has this "
done
for name in 'x?offset=1M' 'x?offset=' 'x?offset=-1' 'x?partition=1' \
	'x?offset=9223372036854775808'; do
	refuse_name "$name" 'invalid offset .expected FILE\?offset=BYTES.$'
done
refuse_name 'x?offset=1048576' 'cannot be given together' -Eoffset=1048576
mustfail 2 "$mke4fs" -E offset=-1 -d "$work/src" x 16M
mustfail 2 "$mke4fs" -E offset=9223372036854775808 -d "$work/src" x 16M
check "$mke4fs" --json --verify -d "$work/src" 'x?offset=1048576' 16M
same 'the target' "$(json "$out" 'd["target"]')" 'x?offset=1048576'
same 'the files' "$(ls)" x
same 'the size' "$(stat -c %s x)" $((17 << 20))
check e2fsck -fn 'x?offset=1048576'
check "$mke4fs" -q -d "$work/src" "./LABEL=a?b" 16M
mv "LABEL=a?b" b
clean b
# an existing file whose name looks like an offset is the target
: >'y?offset=4096'
check "$mke4fs" -q -d "$work/src" 'y?offset=4096' 16M
mv 'y?offset=4096' y
clean y
cd "$work"
can_mount || exit 0
mke2fs -qq -F -L "e4l-$$" "$work/disk" 16M
attach "$work/disk"
check "$mke4fs" -q -d "$work/src" "LABEL=e4l-$$"
check debugfs -R 'cat file' "$loop"
same 'the file on the device' "$(cat "$out")" content
