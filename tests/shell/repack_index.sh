#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --only=directories rebuilds directories that have lost most of their
# entries, in the number of blocks that -n reports. Every entry exists, and the
# kernel finds every entry. A second run finds no work. FEATURES='RECIPE...'
# selects recipes, FEATURES=all takes all of tests/recipes/features.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_program /usr/bin/python3

# of_dirs KEY: prints the figure KEY of the last run about rebuilt directories.
of_dirs() {
	case $1 in
	planned) report planned.directories ;;
	done) report done.directories ;;
	planned_blocks_before | blocks_before) report before.directory_blocks ;;
	planned_blocks_after | blocks_after) report after.directory_blocks ;;
	transactions) report done.transactions ;;
	least_lacking_blocks | most_lacking_blocks)
		json "$work/.report" \
			"d['${1%blocks}bytes'] // d['block_size_bytes']" ;;
	esac
}

long=a-name-that-takes-room-

# left WHY: fails unless the last run reports the reason WHY.
left() {
	[ "$(skipped "$1")" -gt 0 ] || fail "$what: no file was skipped: $1"
}

# emptied RECIPE LINE...: makes the recipe's image with additional lines.
emptied() {
	{
		cat "$top_srcdir/tests/recipes/features/$1.recipe"
		shift
		printf '%s\n' "$@"
	} | sed "s#^include \.\./#include $top_srcdir/tests/recipes/#" \
		>"$work/recipe"
	check "$top_builddir/tests/tools/mkaged" "$work/recipe" "$img"
	seq -f "rm /emptied/${long}%g" 12 400 >"$work/rm"
	debugfs -w -f "$work/rm" "$img" >"$work/rm.log" 2>&1 ||
		fail "$what: cannot delete"
	# e2fsck corrects the quota usage
	run e2fsck -fy "$img"
	[ "$status" -le 1 ] || fail "$what: e2fsck $status"
}

# advised: prints the directories for which e4check recommends compaction.
advised() {
	check "$e4check" --layout-only "$img"
	cp "$out" "$work/.advice"
	grep -c '^layout: directory-\(sparse\|linear\), ' "$work/.advice" || :
}

# compacted OPTION...: makes a plan and a repack of the directories, and
# compares the plan with the repack.  Sets $gained to the number of saved
# blocks.
compacted() {
	digest -e "$img" >"$work/before"
	before=$(written "$img")
	repack -n --only=directories "$@" "$img"
	same "$what: written by -n" "$(written "$img")" "$before"
	planned=$(of_dirs planned)
	found=$(advised)
	[ "$found" -le "$planned" ] ||
		fail "$what: $found found, $planned planned: $(cat "$work/.advice")"
	had=$(of_dirs planned_blocks_before)
	gets=$(of_dirs planned_blocks_after)
	repack --only=directories "$@" "$img"
	same "$what: directories" "$(of_dirs 'done') of $(of_dirs planned)" \
		"$planned of $planned"
	same "$what: blocks" "$(of_dirs blocks_before) to $(of_dirs blocks_after)" \
		"$had to $gets"
	clean "$img"
	digest -e "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	gained=$((had - gets))
	repack --only=directories "$@" "$img"
	same "$what: a second run" "$(of_dirs planned) $(of_dirs transactions)" '0 0'
	same "$what: found afterwards" "$(advised)" 0
}

# ---- every feature
features 'default block-1k bigalloc casefold encrypt ext2 inline-data large-dir
no-csum no-filetype no-journal quota'
images=0
for what in $recipes; do
	flags=
	case $what in
	casefold | encrypt) flags="flags $what" ;;
	esac
	emptied "$what" htree "dir /emptied $flags" "many /emptied count 400 name $long" \
		"many /kept count 400 name $long"
	case $what in
	no-journal | ext2) compacted --no-undo ;;
	*) compacted ;;
	esac
	images=$((images + 1))
	echo "$what: $planned directories, $found found, $gained blocks fewer"
	case $what in
	# nothing can be gained: directories have no extents, or one block holds
	# 400 names
	ext2 | ext3 | indirect | block-16k | block-32k | block-64k) ;;
	*)
		[ "$gained" -gt 0 ] || fail "$what: nothing was gained"
		[ "$found" -gt 0 ] || fail "$what: nothing was found"
		;;
	esac
done
echo "$images images"

# ---- an index for a directory that has outgrown the linear form
what='linear'
printf '%s\n' 'mke2fs -b 1024 -N 4000' "many /linear count 3000 name $long" \
	>"$work/recipe"
check "$top_builddir/tests/tools/mkaged" "$work/recipe" "$img"
check tune2fs -O ^dir_index "$img"
compacted
same "$what: without dir_index" "$planned" 0
check tune2fs -O dir_index "$img"
compacted
case $(debugfs -R 'stat /linear' "$img" 2>/dev/null) in
*'Flags: 0x81000'*) ;;
*) fail "$what: no index: $(debugfs -R 'stat /linear' "$img" 2>&1)" ;;
esac

# ---- encrypted and casefolded names are followed by their hashes
# hashes DO: writes hashes ("set"), or lists names and hashes ("get")
hashes() {
	# shellcheck disable=SC2046
	/usr/bin/python3 - "$1" "$img" $(debugfs -R 'blocks /emptied' "$img" \
		2>/dev/null) <<'END'
import struct, sys
do, path, *blocks = sys.argv[1:]
found = []
with open(path, "r+b") as f:
    for block in map(int, blocks):
        f.seek(block * 1024)
        data = bytearray(f.read(1024))
        at = 0
        while at < 1024:
            ino, room, length = struct.unpack_from("<IHB", data, at)
            if ino and length > 2 and do == "set":
                assert room >= 40
                data[at + 6] = 24
                data[at + 8:at + 40] = b"%024d" % ino + \
                    struct.pack("<II", ino * 7919 * 2, ino)
            elif ino and length > 2:
                found.append(bytes(data[at + 8:at + 40]).hex())
            at += room
        f.seek(block * 1024)
        f.write(data)
print("\n".join(sorted(found)))
END
}
for feature in ^dir_index dir_index; do
	what="hashes on disk, $feature"
	printf '%s\n' 'mke2fs -b 1024 -N 2000 -O casefold,encrypt,^metadata_csum' \
		"mke2fs -O $feature" 'dir /emptied flags encrypt' \
		"many /emptied count 400 name ${long}xxxxx" >"$work/recipe"
	check "$top_builddir/tests/tools/mkaged" "$work/recipe" "$img"
	seq -f "rm /emptied/${long}xxxxx%g" 100 400 >"$work/rm"
	debugfs -w -f "$work/rm" "$img" >"$work/rm.log" 2>&1 ||
		fail "$what: cannot delete"
	hashes set >"$work/set"
	check debugfs -w -R 'sif /emptied flags 0x40080800' "$img"
	hashes get >"$work/had"
	[ "$(wc -l <"$work/had")" -gt 90 ] || fail "$what: few names"
	compacted
	same "$what: directories" "$planned" 1
	hashes get >"$work/has"
	cmp "$work/had" "$work/has" || fail "$what: names or hashes differ"
done

# ---- free space does not become worse if there is a suitable free extent
# has EXPRESSION: prints a figure of sparse directories or of free space
has() {
	check "$e4frag" -q --json "$img"
	json "$out" "$1"
}
spare="d['repack']['directories']['spare_blocks']"
runs="d['free_space']['extents']"
longest="d['free_space']['largest_blocks']"
for option in --only=directories --all; do
	what="free runs, $option"
	aged "$img" <<-END
		size 64M
		mke2fs -b 1024
		many /d count 4000 name $long
		delete /d percent 95
	END
	[ "$(has "$spare")" -gt 100 ] || fail "$what: $(has "$spare") to spare"
	had=$(has "$runs") most=$(has "$longest")
	repack "$option" "$img"
	clean "$img"
	same "$what: blocks to spare" "$(has "$spare")" 0
	[ "$(has "$runs")" -le "$had" ] || fail "$what: $(has "$runs"), not $had"
	[ "$(has "$longest")" -ge "$most" ] ||
		fail "$what: longest $(has "$longest"), not $most"
done

# ---- without a free block, a directory is rebuilt in its own blocks
free_blocks() {
	dumpe2fs -h "$img" 2>/dev/null | sed -n 's/^Free blocks: *//p'
}
# fill NAME BLOCKS: makes the file NAME of BLOCKS blocks, including its tree
# block
fill() {
	: >"$work/empty"
	printf '%s\n' "write $work/empty /$1" "fallocate /$1 0 $(($2 - 1))" |
		debugfs -w -f - "$img" >"$work/fill.log" 2>&1
}
# crowd RECIPE: makes an image with a sparse directory and without free blocks
crowd() {
	what="no free block, $1"
	emptied "$1" htree "many /emptied count 400 name $long"
	# one file takes all but 32 free blocks, and small files take the others
	fill full "$(($(free_blocks) - 32))"
	i=0
	while [ "$(free_blocks)" -gt 0 ] && [ $i -lt 40 ]; do
		i=$((i + 1))
		fill "full$i" 1
	done
	run e2fsck -fy "$img"
	[ "$status" -le 1 ] || fail "$what: e2fsck $status"
	same "$what: free" "$(free_blocks)" 0
}
for recipe in default block-1k bigalloc no-csum quota; do
	crowd "$recipe"
	compacted
	same "$what: directories" "$planned" 1
	echo "$what: $gained blocks fewer"
	# with bigalloc, the directory has one cluster before and after
	[ "$recipe" = bigalloc ] ||
		same "$what: free" "$(free_blocks)" "$gained"
done
# Without a journal, a crash would leave a half-written directory, so the
# directory is skipped.
crowd no-journal
repack -n --only=directories --no-undo "$img"
same "$what: planned" "$(of_dirs planned)" 0
left no-free-extent

# ---- the root, which is read from a copy during planning
what='the root'
aged "$img" <<-END
	size 64M
	repeat 1000 file /$long% size 4K
END
seq -f "rm /${long}%g" 20 1000 >"$work/rm"
debugfs -w -f "$work/rm" "$img" >"$work/rm.log" 2>&1 ||
	fail "$what: cannot delete"
compacted
same "$what: directories" "$planned" 1
[ "$gained" -gt 5 ] || fail "$what: only $gained blocks fewer"

# ---- skipped directories, and the reasons
what='left alone'
emptied ext2 htree "many /emptied count 400 name $long"
repack -n --only=directories --no-undo "$img"
left block-mapped
emptied default htree 'dir /other' "many /emptied count 400 name $long"
check debugfs -w -R 'sif /emptied flags 0x81010' "$img"
repack -n --only=directories "$img"
same "$what: immutable" "$(of_dirs planned)" 0
left immutable
repack -n --only=directories --move=immutable "$img"
same "$what: --move=immutable" "$(of_dirs planned)" 1
check debugfs -w -R 'sif /emptied flags 0x81000' "$img"
repack -n --only=directories --max-bytes=1 "$img"
left max-bytes
repack -n --only=directories --exclude=/emptied "$img"
same "$what: --exclude" "$(of_dirs planned)" 0
repack -n --only=directories "$img" /other
same "$what: another path" "$(of_dirs planned)" 0
repack -n --only=files,trees,free "$img"
same "$what: not asked for" "$(of_dirs planned)" 0

# ---- the kernel finds every name, and continues with the rebuilt directories
require_loop
what='the kernel'
rm -f "$img"
truncate -s 64M "$img"
check mke2fs -q -F -t ext4 -b 1024 -N 20000 "$img"
mount_image "$img" "$work/mnt"
mkdir "$work/mnt/d"
(cd "$work/mnt/d" && seq -f 'a-name-of-some-length-%g' 6000 | xargs touch &&
	seq -f 'a-name-of-some-length-%g' 301 6000 | xargs rm)
check umount "$work/mnt"
undefer "umount '$work/mnt'"
detach "$loop"
compacted
[ "$gained" -gt 100 ] || fail "$what: only $gained blocks fewer"
mount_image "$img" "$work/mnt"
for i in $(seq 300); do
	[ -f "$work/mnt/d/a-name-of-some-length-$i" ] || fail "$what: no $i"
done
(cd "$work/mnt/d" && seq -f 'another-%g' 2000 | xargs touch)
same "$what: names" "$(find "$work/mnt/d" | wc -l)" 2301
check umount "$work/mnt"
undefer "umount '$work/mnt'"
detach "$loop"
clean "$img"

# ---- the missing space is reported, if the directory's own blocks are
# scattered
what='no free block, in pieces'
rm -f "$img"
truncate -s 64M "$img"
check mke2fs -q -F -t ext4 -b 1024 "$img"
: >"$work/empty"
{
	echo 'mkdir /d'
	echo "write $work/empty /between"
	for i in $(seq 2000); do
		printf 'write %s /d/%0100d\n' "$work/empty" "$i"
		[ $((i % 7)) != 0 ] || echo "fallocate /between $i $i"
	done
	seq -f 'rm /d/%0100g' 1300
} >"$work/pieces"
debugfs -w -f "$work/pieces" "$img" >"$work/pieces.log" 2>&1 ||
	fail "$what: $(cat "$work/pieces.log")"
fill full "$(($(free_blocks) - 32))"
for i in $(seq 40); do
	[ "$(free_blocks)" = 0 ] || fill "full$i" 1
done
same "$what: free" "$(free_blocks)" 0
repack -n --only=directories "$img"
same "$what: planned" "$(of_dirs planned)" 0
left no-free-extent
n=$(of_dirs least_lacking_blocks)
[ "$n" -gt 4 ] || fail "$what: $n blocks lacking"
[ "$(of_dirs most_lacking_blocks)" -ge "$n" ] || fail "$what: most"
check "$e4repack" -n --only=directories "$img"
grep -q '^Largest free extent: .*; skipped files need ' "$out" ||
	fail "$what: $(cat "$out")"
echo "$what: $n blocks lacking"

# The savings of directories are part of the totals, also with --all.
# frag KEY [OBJECT]: prints a figure of files, or of another object of the report
frag() {
	check "$top_builddir/misc/e4frag" -q --json "$img"
	sed -n '/^  "'"${2-files}"'": {/,/^  }/s/^    "'"$1"'": \([0-9]*\),*/\1/p' \
		"$out"
}
for option in --only=directories,files,free --all; do
	what="counted with $option"
	aged "$img" <<-END
		size 64M
		many /d count 3000 name ${long}twice-and-more- size 4K
		interleave /logs count 4 rounds 40 blocks 1
		delete /d percent 95
	END
	had=$(frag extents)
	in_pieces=$(frag fragments)
	repack "$option" "$img"
	has=$(frag extents)
	[ "$has" -lt "$had" ] || fail "$what: nothing is saved"
	reported "before.extents $had" "after.extents $has" \
		"before.fragments $in_pieces" \
		"after.fragments $(frag fragments)" \
		"after.tree_blocks $(frag tree_blocks)" \
		"after.free_extents $(frag extents free_space)"
	clean "$img"
done

# the text report about one directory has singular forms
what='one directory'
aged "$img" <<END
size 64M
many /d count 400 name $long
delete /d percent 98
END
check "$e4repack" -n --only=directories "$img"
grep -q '^Directories to rebuild  *1$' "$out" || fail "$what: $(cat "$out")"
grep -q '^Directory blocks  *[1-9][0-9]*  *[1-9][0-9]*$' "$out" ||
	fail "$what: $(cat "$out")"
check "$e4repack" --only=directories "$img"
grep -q '^Directories rebuilt  *1$' "$out" || fail "$what: $(cat "$out")"
grep -q '^Transactions  *1$' "$out" || fail "$what: $(cat "$out")"
