#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A source with errors is refused. With --skip-damaged, the source is copied
# without its damaged files, and the omitted files are named.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"

mkdir -p "$work/src/dir/sub" "$work/src/other"
for name in a b dir/c dir/d dir/sub/e other/f; do
	seq 3000 >"$work/src/$name"
	echo "$name" >>"$work/src/$name"
done
ln "$work/src/a" "$work/src/dir/again"
ln -s /far/away "$work/src/dir/link"
# If a directory has two names, the first name in hash order is used.
seed=hash_seed=00000000-0000-4000-8000-000000000001
check "$mke4fs" -q -b 4096 -N 128 -E $seed -d "$work/src" "$work/sound" 8M

# damaged REQUEST...: makes a damaged source by debugfs REQUESTs
damaged() {
	cp "$work/sound" "$work/from"
	for request; do
		check debugfs -w -R "$request" "$work/from"
	done
}

ino() {
	debugfs -R "stat $1" "$work/from" 2>/dev/null |
		sed -n 's/^Inode: \([0-9]*\).*/\1/p'
}

# refused: fails if an image is made without --skip-damaged
refused() {
	rm -f "$work/img"
	mustfail 1 "$mke4fs" -q --from="$work/from" "$work/img"
	one_sentence mke4fs
	says "run e2fsck -f $work/from"
	[ ! -e "$work/img" ] || fail "an image is left behind"
}

# leaves_out STATUS PATH...: fails unless --skip-damaged omits exactly the files
# PATH... and exits with STATUS
leaves_out() {
	wanted=$1
	shift
	refused
	run "$mke4fs" --json --skip-damaged --from="$work/from" "$work/img" 8M
	[ "$status" = "$wanted" ] || {
		show_run
		fail "exit $status, not $wanted"
	}
	check_json=$(json "$out" '" ".join(sorted(d["left_out"]))')
	same "what is left out" "$check_json" "$*"
	for path; do
		says "from: $path: omitted: "
	done
	clean "$work/img"
	for name in a b dir/c dir/d dir/sub/e other/f dir/again; do
		case " $* " in
		*" $name "* | *" ${name%/*} "*) continue ;;
		esac
		debugfs -R "cat $name" "$work/img" 2>/dev/null |
			cmp - "$work/src/$name" >&2 || fail "$name: other content"
	done
}

# An entry refers to an unused inode.
damaged 'clri dir/c'
leaves_out 3 dir/c
# An entry refers to a deleted inode.
damaged 'sif b links_count 0'
leaves_out 3 b
# Entries refer to an inode without a type, to a reserved inode, or have an
# invalid inode number.
damaged 'sif b mode 0'
leaves_out 3 b
damaged 'link <7> other/seven'
leaves_out 3 other/seven
# A damaged file has two names: both names are omitted.
damaged 'sif a block[5] 4000000000'
leaves_out 3 a dir/again
# Two files share a block: both files are omitted.
damaged 'sif other/f block[5] 1'
blk=$(debugfs -R 'blocks dir/d' "$work/sound" 2>/dev/null | cut -d' ' -f1)
damaged "sif other/f block[5] $blk"
leaves_out 3 dir/d other/f
# A directory is damaged: everything below the directory is omitted.
damaged 'sif dir/sub block[5] 123456'
leaves_out 3 dir/sub
# A directory has two names.
damaged 'link dir/sub other/sub'
leaves_out 3 other/sub
# A symbolic link is invalid.
damaged 'sif dir/link size 300'
leaves_out 3 dir/link
# A link count is wrong: no file is omitted.
damaged 'sif b links_count 7'
leaves_out 0
damaged 'ssv free_blocks_count 1' 'sif b blocks 999'
leaves_out 0
# If the root directory is damaged, no image is made, even with --skip-damaged.
damaged 'sif <2> block[5] 123456'
refused
mustfail 1 "$mke4fs" -q --skip-damaged --from="$work/from" "$work/img"
[ ! -e "$work/img" ] || fail "an image is left behind"

# Without errors, --skip-damaged changes nothing.
cp "$work/sound" "$work/from"
check "$mke4fs" -q --skip-damaged --from="$work/from" "$work/img"
clean "$work/img"
mustfail 2 "$mke4fs" -q --skip-damaged -d "$work/src" "$work/img"

# A source without the feature ext_attr is not damaged.
check mke2fs -q -t ext4 -O ^ext_attr -d "$work/src" "$work/from" 8M
rm -f "$work/img"
check "$mke4fs" -q --from="$work/from" "$work/img"
clean "$work/img"
check debugfs -R 'cat dir/c' "$work/img"
cmp "$out" "$work/src/dir/c" >&2 || fail "dir/c: other content"

# e2fsck accepts inline data without the feature ext_attr. e2fsck also accepts
# inline data that are shorter than the file, and the kernel reads zeroes after
# the data.
mkdir "$work/inline" "$work/inline/d"
echo "all in i_block" | tee "$work/inline/f" >"$work/inline/d/f"
seq 40 >"$work/inline/g"
cp "$work/inline/f" "$work/inline/g" "$work"
# inline REQUEST...: makes a source with inline data, changes it by REQUESTs to
# debugfs, and copies it
inline() {
	rm -f "$work/from" "$work/img"
	check mke2fs -q -t ext4 -I 256 -O inline_data -b 1024 \
		-d "$work/inline" "$work/from" 4M
	for request; do
		check debugfs -w -R "$request" "$work/from"
	done
	check debugfs -R 'stat d/f' "$work/from"
	grep -q 'Size of inline data' "$out" || fail "the file has no inline data"
	clean "$work/from"
	check "$mke4fs" -q --from="$work/from" "$work/img"
	clean "$work/img"
	for file in f g d/f; do
		debugfs -R "cat $file" "$work/img" 2>/dev/null |
			cmp - "$work/inline/$file" >&2 ||
			fail "$file: other content"
	done
}
inline
inline 'feature -ext_attr'
truncate -s 70000 "$work/inline/f" "$work/inline/g"
inline "rm f" "rm g" "write $work/f f" "write $work/g g" \
	'sif f size 70000' 'sif g size 70000'

# The target of a link has a zero byte, which e2fsck accepts in inline data.
rm -f "$work/from" "$work/img"
mkdir "$work/link"
ln -s "$(printf 'y%.0s' $(seq 60))" "$work/link/l60"
check mke2fs -q -t ext4 -I 256 -b 4096 \
	-O inline_data,^metadata_csum,^uninit_bg -d "$work/link" "$work/from" 16M
check debugfs -R 'imap /l60' "$work/from"
at=$(awk '/located at block/ { sub(",", "", $4); print $4, $6 }' "$out")
printf '\0\0' | dd of="$work/from" bs=1 conv=notrunc status=none \
	seek=$((${at% *} * 4096 + ${at#* } + 40 + 30))
clean "$work/from"
mustfail 1 "$mke4fs" -q --from="$work/from" "$work/img"
says 'l60: .*symbolic link'
[ ! -e "$work/img" ] || fail "an image is left behind"
mustfail 3 "$mke4fs" -q --skip-damaged --from="$work/from" "$work/img"
clean "$work/img"
