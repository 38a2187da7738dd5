#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --like makes three generations of images that differ little, with many
# features.  If nothing has changed, the bytes are equal.  Some images are
# refused, and shortage and signals leave no image.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_loop
require_program python3

cd "$work" || exit

# changed OLD NEW: prints how many blocks of 1 KiB differ between OLD and NEW
changed() {
	python3 -c '
import sys
with open(sys.argv[1], "rb") as a, open(sys.argv[2], "rb") as b:
    n = 0
    while True:
        x, y = a.read(1 << 20), b.read(1 << 20)
        if not x and not y:
            break
        if x != y:
            n += sum(x[i:i + 1024] != y[i:i + 1024]
                     for i in range(0, len(x), 1024))
print(n)' "$1" "$2"
}

# like OLD NEW OPTION...: makes NEW from OPTIONs and OLD, and does not change
# OLD
like() {
	old=$1
	new=$2
	shift 2
	before=$(b2sum <"$old")
	rm -f "$new"
	check "$mke4fs" -q --like="$old" "$@" "$new"
	[ "$before" = "$(b2sum <"$old")" ] || fail "$old was written"
}

# holds IMAGE DIR: like equals, for a copy of IMAGE.  If another mount namespace
# kept a mount of IMAGE, IMAGE could not be used as an old image.
holds() {
	rm -f looked
	cp --sparse=always "$1" looked
	equals looked "$2"
}

# most BLOCKS OLD NEW: fails if more than BLOCKS blocks of 1 KiB differ between
# OLD and NEW
most() {
	differ=$(changed "$2" "$3")
	[ "$differ" -le "$1" ] || fail "$differ blocks differ, not at most $1"
}

# refuse SENTENCE ARGUMENT...: fails unless mke4fs prints one sentence and makes
# no image
refuse() {
	sentence=$1
	shift
	rm -f new
	mustfail "$@"
	says "$sentence"
	one_sentence mke4fs
	[ ! -e new ] || fail "an image is left of $*"
}

# change_tree: changes files of src in each way
change_tree() {
	(
		cd src || exit
		printf x | dd of=dir/large bs=1 seek=500000 conv=notrunc status=none
		seq 3000 >grown
		seq 5 >shrunken
		rm typed && mkdir typed && echo below >typed/file
		rm -r becomes-file && echo file >becomes-file
		ln -sfn other points
		ln -sfn "$(printf '%0300d' 8)" long-link
		rm joined && ln small joined
		cp -p again split && mv split again
		rm many/a-name-of-some-length-3?
		(cd many && seq -f 'a-new-name-of-some-length-%g' 60 | xargs touch)
		rm -r gone
		setfattr -n user.one -v other small
		setfattr -n user.new -v "$(printf '%0400d' 3)" grown
		chmod 600 hundred
		chown 7:8 nothing
		touch -d @1000000001 fifo
	)
}

make_tree() {
	rm -rf src
	sample src
	(
		cd src || exit
		echo typed >typed
		mkdir becomes-file gone
		echo content | tee becomes-file/a >gone/b
		ln -s target points
		echo joined >joined
		seq 1000 | tee grown >shrunken
	)
}

# round_times OPTION...: for inodes of 128 bytes, sets times that such inodes
# can store
round_times() {
	case " $* " in *" -I128 "*)
		find src -exec touch -h -d @1000000000 {} + ;;
	esac
}

# generations OPTION...: makes three generations of an image with the options
generations() {
	round_times "$@"
	if [ "$made_by" = mke2fs ]; then
		rm -f g0
		check mke2fs -q -t ext4 "$@" -d src g0 "$size"
		# mke2fs 1.47.0 counts the usage of quotas wrongly
		e2fsck -fy g0 >/dev/null 2>&1 || :
	else
		rm -f g0
		check "$mke4fs" -q "$@" -d src g0 "$size"
	fi
	like g0 g1 -d src
	[ "$made_by" = mke2fs ] || check cmp g0 g1
	holds g1 src
	change_tree
	round_times "$@"
	like g1 g2 -d src
	holds g2 src
	rm -r src/many
	seq 60000 >src/new
	round_times "$@"
	like g2 g3 -d src
	holds g3 src
	# the write time in the superblock shows an unnecessary change
	[ "$made_by" = mke2fs ] || sleep 1
	like g3 g4 -d src
	check cmp g3 g4
}

# Each set of features: an image made by mke4fs, or by mke2fs.
size=40M
while read -r made_by options; do
	make_tree
	# shellcheck disable=SC2086
	generations $options
done <<-'END'
	mke4fs -b4096
	mke4fs -b1024 -Oinline_data,quota,project
	mke4fs -b4096 -N2000 -Obigalloc,orphan_file,metadata_csum_seed
	mke4fs -b1024 -I128 -O^metadata_csum,^dir_index,uninit_bg
	mke2fs -b4096 -Oquota
	mke2fs -b1024 -O^extents,^64bit
	mke2fs -b4096 -Oinline_data
END

# Only the blocks of the change, and metadata, differ.
rm -rf src
mkdir -p src/a src/b
for i in $(seq 200); do
	head -c $((i * 300)) /dev/urandom >"src/a/file-$i"
done
head -c 4M /dev/urandom >src/b/large
check "$mke4fs" -q -b1024 -d src one 40M
check dumpe2fs -h one
grep -q 'Filesystem UUID' "$out"
value one 'Filesystem UUID' >uuid
touch -d @1000000000 src/a/file-7
like one two -d src
# The inode's block and the superblock differ.
most 2 one two
same UUID "$(value two 'Filesystem UUID')" "$(cat uuid)"
printf x | dd of=src/b/large bs=1 seek=1000000 conv=notrunc status=none
touch -r src/a/file-7 src/b/large
like two three -d src
# The block of the change, the inode's block and the superblock differ.
most 3 two three
head -c 8192 /dev/urandom >>src/b/large
like three four -d src
# 8 blocks, the bitmap, the descriptors, the inode's block and the superblock
# differ.
most 12 three four
holds four src

# A change of access times changes no byte.  A copy of the source gives equal
# bytes.
cp -a src copy
touch -a -d @1000000000 src/a/file-9
like four five -d src
check cmp four five
like four five -d copy
check cmp four five

# Deleted content is not left in the image.
echo a-secret-that-is-removed >src/a/secret
like four five -d src
grep -q a-secret-that-is-removed five || fail "the new file is not in the image"
rm src/a/secret
like five six -d src
! grep -q a-secret-that-is-removed six || fail "deleted content is left"

# Deleted content is left neither in a cluster that a file keeps, nor below an
# unwritten extent.
rm -rf kept && mkdir kept
yes a-secret-that-is-removed | head -c 200000 >kept/file
cp kept/file kept/gone
check "$mke4fs" -q -b4096 -Obigalloc -C65536 -d kept old 16M
rm kept/gone
echo short >kept/file
like old new -d kept
! grep -q a-secret-that-is-removed new || fail "content is left in a cluster"
holds new kept
yes a-secret-that-is-removed | head -c 200000 >kept/file
rm -f old
check "$mke4fs" -q -b4096 -d kept old 16M
rm kept/file
truncate -s 200000 kept/file kept/taken
# mke2fs drops nanoseconds, and the time of the root directory
touch -d @1000000000 kept kept/*
rm -f unwritten
check mke2fs -q -t ext4 -b4096 -d kept unwritten 16M
check debugfs -w -R 'fallocate /file 0 48' unwritten
check debugfs -w -R 'fallocate /taken 0 48' unwritten
check debugfs -w -R 'set_inode_field <2> mtime @1000000000' unwritten
like old new --from=unwritten
! grep -q a-secret-that-is-removed new ||
	fail "content is left below unwritten extents"
holds new kept
like new again --from=unwritten
check cmp new again

# e2fsck does not count inline symbolic links in quotas.
rm -rf kept && mkdir kept
ln -s "$(printf '%060d' 7)" kept/link
echo file >kept/file
rm -f old
check mke2fs -q -t ext4 -Oinline_data,quota -d kept old 16M
e2fsck -fy old >/dev/null 2>&1 || :
rm kept/link
like old new -d kept
holds new kept
rm -f old new

# A symbolic link with another target keeps its creation time.
crtime() {
	debugfs -R "stat $2" "$1" 2>/dev/null | sed -n 's/^ *crtime: //p'
}
ln -s one kept/link
check env SOURCE_DATE_EPOCH=1000000000 "$mke4fs" -q -d kept old 16M
ln -sfn another kept/link
check env SOURCE_DATE_EPOCH=1100000000 "$mke4fs" -q --like=old -d kept new
[ -n "$(crtime old /link)" ] || fail "no creation time"
same 'creation time' "$(crtime new /link)" "$(crtime old /link)"
sound new
rm -f old new

# An archive or another image as source gives the same bytes as the directory.
if built_with ARCHIVE; then
	tar -C src --format=pax -cf src.tar .
	like six seven -d src.tar
	holds seven src
fi
like six seven --from=one
mkdir -p one.mnt
mount -o loop,ro,noload one one.mnt
defer "umount '$work/one.mnt'"
holds seven one.mnt

# A dry run and a shortage write nothing, and the printed numbers are exact.
check "$mke4fs" -n --like=six -d src new
[ ! -e new ] || fail "-n wrote an image"
check "$mke4fs" -q -b4096 -N 300 -d src full 16M
head -c 40M /dev/urandom >src/too-large
refuse 'new: not enough blocks: 10,2[0-9]* are needed, [0-9,]* are free' \
	1 "$mke4fs" --like=full -d src new
rm src/too-large
(mkdir src/c && cd src/c && seq 300 | xargs touch)
refuse 'new: not enough inodes: 301 are needed, ' 1 "$mke4fs" --like=full -d src new
rm -r src/c

# A failed allocation results in the same image, or in a sentence and no image.
shim=$top_builddir/tests/tools/.libs/fail_malloc.so
if [ -e "$shim" ] && ! is_sanitized; then
	seq 30000 >src/a/file-3
	set -- env SOURCE_DATE_EPOCH=1000000000 LD_PRELOAD="$shim"
	check "$@" FAIL_MALLOC_COUNT="$work/count" "$mke4fs" -q --threads=1 \
		--like=six -d src whole
	count=$(cat count)
	for n in $(seq 1 $((count / 20 + 1)) "$count"); do
		rm -f new
		run "$@" FAIL_MALLOC="$n" "$mke4fs" -q --threads=1 --like=six \
			-d src new
		case $status in
		0)	check cmp whole new ;;
		1)	[ ! -e new ] || fail "allocation $n fails: an image" ;;
		98)	;;	# libext2fs or a system library has crashed
		*)	show_run
			fail "allocation $n fails: exit $status" ;;
		esac
	done
	rm -f new whole
fi

# These old images are refused.
refuse 'six: the source is the image six itself' 1 "$mke4fs" --like=six -d src six
cp six other
refuse 'other: --like requires a new image' 1 "$mke4fs" --like=six -d src other
refuse 'new: the new image gets the size of six .40 MiB.' \
	1 "$mke4fs" --like=six -d src new 41M
check "$mke4fs" -q --like=six -d src new 40M
for option in -b1024 -Oquota -Estride=4 --free=1M --grow-to=1G --sort=x \
	--dm-verity; do
	refuse '^mke4fs: --like keeps the properties of the old image' \
		2 "$mke4fs" --like=six -d src $option new
done
refuse 'requires -d' 2 "$mke4fs" --like=six new
cp six damaged
check debugfs -w -R 'set_inode_field /a/file-3 links_count 3' damaged
refuse 'damaged: ' 1 "$mke4fs" --like=damaged -d src new
cp six damaged
check debugfs -w -R 'set_super_value state 0' damaged
refuse 'damaged: not clean: run e2fsck' 1 "$mke4fs" --like=damaged -d src new
head -c 1000000 six >damaged
refuse 'damaged: ' 1 "$mke4fs" --like=damaged -d src new
for feature in casefold encrypt ea_inode; do
	rm -f other
	check mke2fs -q -t ext4 -O $feature other 16M
	refuse "other: --like does not support the feature $feature" \
		1 "$mke4fs" --like=other -d src new
done
mkdir src/dir
echo file >src/lost+found
refuse 'lost.found' 1 "$mke4fs" --like=six -d src new
rm src/lost+found

# A killed run leaves no image, or an image without a superblock.
head -c 20M /dev/urandom >src/more
for n in 1 2 3; do
	rm -f new
	timeout -s KILL 0.0$((n * 3)) "$mke4fs" -q --like=six -d src new || :
	[ ! -e new ] || ! e2fsck -fn new >/dev/null 2>&1 ||
		holds new src
done
same 'the old image' "$(b2sum <six)" "$before"
exit 0
