#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tunables of a new image are set, refused and copied.  They have the same bytes
# as tunables that tune4fs or the kernel sets.  The tests include -R without a
# value.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
attr=trusted.ext4.tunables
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
uuid=01234567-89ab-cdef-0123-456789abcdef

# make NAME OPTIONS...: makes a reproducible image
make() {
	name=$1
	shift
	rm -f "$work/$name"
	image=$work/$name
	check "$mke4fs" -q -U $uuid "$@" "$image" 32M
	mv "$err" "$work/said"
	clean "$image"
	mv "$work/said" "$err"
}

# kept IMAGE: prints the bytes of the attribute, from debugfs
kept() {
	: >"$work/value"
	debugfs -R "ea_get -f $work/value / $attr" "$work/$1" >/dev/null 2>&1
	cat "$work/value"
}

for dir in 1 2 3 4 5 6 7 8; do
	mkdir -p "$work/src/$dir"
	echo $dir >"$work/src/$dir/file"
done

# Tunables are set with and without options of mke2fs, and with other attributes
# of the root.
value=dir_ireserve=64,extent_max_zeroout_kb=1024
make img -E hash_seed=$uuid,tunables=extent_max_zeroout_kb=1024,dir_ireserve=64
same "the tunables" "$(kept img)" $value
run dumpe2fs -h "$work/img"
grep -q "Directory Hash Seed: *$uuid" "$out" || fail "mke2fs lost its part"
check "$tune4fs" -l "$work/img"
grep -Eq '^ +dir_ireserve +64 +- +0 ' "$out" || { show_run; fail "not listed"; }
make img -E hash_seed=$uuid -E tunables=dir_ireserve=normal -d "$work/src"
same "the tunables" "$(kept img)" dir_ireserve=64
make img -I 128 -O quota -E tunables=$value -d "$work/src"
same "the tunables in a block" "$(kept img)" $value
for name in user.a trusted.z security.x; do
	setfattr -n $name -v 1 "$work/src" 2>/dev/null || :
done
make img -E tunables=$value -d "$work/src"
same "the tunables" "$(kept img)" $value
run debugfs -R 'ea_get / user.a' "$work/img"
grep -q '"1"' "$out" || { show_run; fail "another attribute is gone"; }

# refuse STATUS PATTERN OPTION...: fails unless mke4fs fails with PATTERN and
# makes no image
refuse() {
	want=$1
	pattern=$2
	shift 2
	rm -f "$work/none"
	mustfail "$want" "$mke4fs" "$@" "$work/none" 32M
	one_sentence mke4fs
	says "$pattern"
	[ ! -e "$work/none" ] || fail "an image is left behind: $*"
}
refuse 2 "'dir_ireserve=65': value out of range .expected 0, or a power of two from 16 to 4096" \
	-E hash_seed=$uuid,tunables=mb_order2_req=1,dir_ireserve=65
refuse 2 "'mb_order2_req=33': value out of range .expected 0 to 32" -E tunables=mb_order2_req=33
refuse 2 "'mb_order2_req=-1': value out of range .expected 0 to 32" -E tunables=mb_order2_req=-1
refuse 2 "'future=1': unknown tunable" -E tunables=future=1
refuse 2 "'stride=4': unknown tunable" -E tunables=mb_order2_req=1,stride=4
refuse 2 "'mb_order2_req': expected name=value or" -E tunables=mb_order2_req
refuse 2 "expected name=value or" -E tunables=
refuse 2 "is given twice" -E tunables=mb_order2_req=1 -E tunables=mb_order2_req=0
head -c 32M /dev/urandom >"$work/disk"
sum=$(cksum <"$work/disk")
mustfail 2 "$mke4fs" -F -E tunables=mb_order2_req=99 "$work/disk"
[ "$(cksum <"$work/disk")" = "$sum" ] || fail "the device was changed"

# the tunable dir_ireserve is the default of -R
hash="-E hash_seed=$uuid"
for pair in dir_ireserve=low:16 dir_ireserve=off:off mb_order2_req=1:exact; do
	# shellcheck disable=SC2086
	{
		make img $hash,tunables="${pair%:*}" -d "$work/src"
		make with $hash,tunables="${pair%:*}" -R "${pair#*:}" \
			-d "$work/src"
	}
	cmp "$work/img" "$work/with" >&2 || fail "-R is not ${pair#*:}"
done
make img -E hash_seed=$uuid,tunables=dir_ireserve=low -d "$work/src"
make with -E hash_seed=$uuid,tunables=dir_ireserve=low -R exact -d "$work/src"
! cmp -s "$work/img" "$work/with" || fail "-R makes no difference"

# The tunables of another image are copied, and -E takes precedence.
make from -E tunables=dir_ireserve=32,mb_order2_req=1 -d "$work/src"
make img -E hash_seed=$uuid --from="$work/from"
same "the copied tunables" "$(kept img)" dir_ireserve=32,mb_order2_req=1
make with -E hash_seed=$uuid --from="$work/from" -R 32
cmp "$work/img" "$work/with" >&2 || fail "-R is not the source's"
make img --from="$work/from" -E tunables=mb_order2_req=0,mb_max_to_scan=5
same "the tunables" "$(kept img)" dir_ireserve=32,mb_max_to_scan=5,mb_order2_req=0
make img --from="$work/from" -E tunables=^dir_ireserve,^mb_order2_req
same "removed tunables" "$(kept img)" ''
run debugfs -R 'ea_list /' "$work/img"
! grep -q $attr "$out" || fail "the attribute is there"

# Values that are out of range, unknown or damaged are copied.
for bad in 'future=x/../y,mb_order2_req=77' 'mb_order2_req=1,mb_order2_req=1' 'a/b=1'; do
	printf '%s' "$bad" >"$work/bad"
	check debugfs -w -R "ea_set -f $work/bad / $attr" "$work/from"
	make img --from="$work/from"
	same "the copy" "$(kept img)" "$bad"
done
says 'from: .*tunables are damaged \(.*\): .*copy'
make img --from="$work/from" -E tunables=mb_order2_req=1
says 'only the tunables given with -E'
same "the tunables" "$(kept img)" mb_order2_req=1

# mke4fs writes the same bytes as tune4fs and the kernel.
make img -E tunables=$value
rm -f "$work/with"
check mke2fs -q -t ext4 "$work/with" 32M
check "$tune4fs" -E $value "$work/with"
same "tune4fs and mke4fs" "$(kept with)" "$(kept img)"
require_loop
mount_image "$work/img" "$work/mnt"
getfattr --absolute-names --only-values -n $attr "$work/mnt" >"$work/kernel" ||
	fail "the kernel does not see the attribute"
same "the kernel's" "$(cat "$work/kernel")" $value
setfattr -n $attr -v $value "$work/mnt"
rm -f "$work/copy"
SOURCE_DATE_EPOCH='' check "$mke4fs" -q -d "$work/mnt" "$work/copy" 32M
clean "$work/copy"
same "of a mounted filesystem's root" "$(kept copy)" $value
umount "$work/mnt"
same "after the kernel" "$(kept img)" $value
