#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tunables of an unmounted filesystem are set, refused, kept and repaired.
# shellcheck disable=SC2016
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
no_leak_check
require_program mke2fs debugfs e2fsck resize2fs e2image dumpe2fs e2undo

img=$work/img

fresh() {
	rm -f "$img"
	mke2fs -qq -F -t ext4 "$@" "$img" 16M >/dev/null
}

# attribute VALUE: fails unless the attribute has the bytes VALUE and the
# filesystem is sound.
attribute() {
	: >"$work/value"
	debugfs -R "ea_get -f $work/value / trusted.ext4.tunables" "$img" \
		>/dev/null 2>&1
	printf '%s' "$1" | cmp -s - "$work/value" || {
		cat "$work/value" >&2
		fail "the attribute is not $1"
	}
	sound "$img"
}

# poke FILE: sets the attribute to the bytes of FILE.
poke() {
	debugfs -w -R "ea_set -f $1 / trusted.ext4.tunables" "$img" \
		>/dev/null 2>&1
}

# refuse STATUS PATTERN ARGUMENT...: fails unless tune4fs fails and changes no
# byte.
refuse() {
	before=$(cksum <"$img")
	want=$1 pattern=$2
	shift 2
	mustfail "$want" "$tune4fs" "$@" "$img"
	says "$pattern"
	[ "$before" = "$(cksum <"$img")" ] || fail "image changed: $*"
}

# out_is TEXT: fails unless the stdout of the last command is TEXT.
out_is() {
	[ "$(cat "$out")" = "$1" ] || { show_run; fail "stdout is not: $1"; }
}

# Tunables are set, replaced and removed.
fresh
check "$tune4fs" -E mb_order2_req=1,extent_max_zeroout_kb=1024,dir_ireserve=low \
	"$img"
out_is 'dir_ireserve: not set -> 16
extent_max_zeroout_kb: not set -> 1024
mb_order2_req: not set -> 1'
attribute 'dir_ireserve=16,extent_max_zeroout_kb=1024,mb_order2_req=1'
check "$tune4fs" -E ^mb_order2_req,dir_ireserve=high "$img"
attribute 'dir_ireserve=128,extent_max_zeroout_kb=1024'
check "$tune4fs" -E dir_ireserve=128 "$img"
out_is 'nothing to change'
check "$tune4fs" -n -E mb_order2_req=1 -E ^dir_ireserve,dir_ireserve_x=1 -f \
	"$img"
out_is 'dir_ireserve: 128 -> not set
dir_ireserve_x: not set -> 1
mb_order2_req: not set -> 1'
before=$(cksum <"$img")
check "$tune4fs" -n -E dir_ireserve=off "$img"
out_is 'dir_ireserve: 128 -> 0'
check "$tune4fs" -n --clear "$img"
[ "$before" = "$(cksum <"$img")" ] || fail "-n changed the image"
check "$tune4fs" "$img"
grep -Eq '^ +dir_ireserve +128 +- +0 +inodes +inodes reserved together' "$out" ||
	{ show_run; fail "not in the list"; }

# These values are refused.
refuse 1 "'dir_ireserve=65': value out of range .expected 0, or a power of two from 16 to 4096" \
	-E mb_order2_req=1,dir_ireserve=65
refuse 1 "'mb_order2_req=33': value out of range .expected 0 to 32" -E mb_order2_req=33
refuse 1 "'mb_order2_req=-1': value out of range .expected" -E mb_order2_req=-1
refuse 1 "'mb_order2_req=33': value out of range .expected" -f -E mb_order2_req=33
refuse 1 "'future=1': unknown tunable .tune4fs --force" -E future=1
refuse 1 "'\.\./x=1': expected name" -f -E ../x=1
refuse 1 "'mb_order2_req': expected name=value or" -E mb_order2_req
refuse 1 "longer than 1024" -f -E \
	"future=$(head -c 1020 /dev/zero | tr '\0' x)"
for twice in mb_order2_req=1,mb_order2_req=2 mb_order2_req=2,mb_order2_req=2 \
	mb_order2_req=1,^mb_order2_req ^mb_order2_req,mb_order2_req=2; do
	refuse 1 ": a tunable is set twice$" -E \
		"extent_max_zeroout_kb=1,$twice"
	refuse 1 ": a tunable is set twice$" -E "${twice%,*}" \
		-E "${twice#*,}"
done
refuse 1 "not mounted" --apply
refuse 2 "cannot be given together" -l --clear
refuse 2 "cannot be given together" -E mb_order2_req=1 --apply
refuse 2 "takes no target" --apply-all
refuse 2 "requires --apply-all" --watch
mustfail 2 "$tune4fs"
says 'no target is given'
mustfail 1 "$tune4fs" -l "$work"
says 'not the root '

# Values that are unknown or out of range are kept.
printf 'mb_order2_req=77,future=x/../y,dir_ireserve=64' >"$work/v"
poke "$work/v"
check "$tune4fs" -E extent_max_zeroout_kb=64 "$img"
attribute 'dir_ireserve=64,extent_max_zeroout_kb=64,future=x/../y,mb_order2_req=77'
check "$tune4fs" -l "$img"
says 'mb_order2_req=77: out of range: .*0 to 32'
grep -Eq '^ +future +x/\.\./y +- .*unknown to' "$out" || fail "not listed"
check "$tune4fs" -f -E future=2 "$img"
attribute 'dir_ireserve=64,extent_max_zeroout_kb=64,future=2,mb_order2_req=77'
check "$tune4fs" --clear "$img"
attribute ''

# If the attribute is damaged, changes are refused, and --clear removes the
# attribute.
fresh -b 4096
for bad in 'a=1,a=2' 'a/b=1' 'a=1\0' '\0' 'no_value' 'mb_order2_req=1,' 'A=1' \
	'../../etc/x=1' 'a=\377' 'a=1\n' \
	"a=$(head -c 1023 /dev/zero | tr '\0' 1)" \
	"$(head -c 3000 /dev/zero | tr '\0' ,)"; do
	# shellcheck disable=SC2059
	printf "$bad" >"$work/v"
	poke "$work/v"
	refuse 1 'the stored tunables are damaged: ' -l
	refuse 1 'run tune4fs --clear' -E mb_order2_req=1
	check "$tune4fs" --clear "$img"
	out_is 'trusted.ext4.tunables: damaged -> not set'
	attribute ''
done
check "$tune4fs" -f -E long="$(head -c 1000 /dev/zero | tr '\0' 1)" "$img"
check "$tune4fs" "$img"
grep -Eq '^ +long +1{13}\.\.\. ' "$out" || { show_run; fail "not cut"; }

# The root has a security label; the attribute needs a separate block; the
# filesystem has no free block.
fresh -b 1024 -I 128
debugfs -w -R 'ea_set / security.selinux system_u:object_r:root_t:s0' \
	"$img" >/dev/null 2>&1
check "$tune4fs" -f -E mb_order2_req=1,x="$(head -c 600 /dev/zero | tr '\0' 1)" \
	"$img"
check "$tune4fs" -E ^x "$img"
attribute mb_order2_req=1
debugfs -R 'ea_get / security.selinux' "$img" 2>/dev/null |
	grep -q system_u:object_r:root_t:s0 || fail "the label is gone"
fresh -b 1024 -I 128
for size in 8192 4096 2048 1024 512 256 128 64 32 16 8 4 2 1; do
	head -c $((size * 1024)) /dev/zero | tr '\0' x >"$work/fill"
	for name in a b; do
		debugfs -w -R "write $work/fill $name$size" "$img" 2>/dev/null
	done >/dev/null
done
dumpe2fs -h "$img" 2>/dev/null | grep -q '^Free blocks: *0$' ||
	fail "the filesystem is not full"
refuse 1 'No space left on device' -E mb_order2_req=1

# Other programs keep the attribute.
fresh
value='dir_ireserve=64,mb_max_to_scan=500'
check "$tune4fs" -E "$value" "$img"
e2fsck -fy "$img" >/dev/null 2>&1 || fail "e2fsck -fy"
attribute "$value"
truncate -s 64M "$img"
resize2fs "$img" >/dev/null 2>&1 || fail "resize2fs"
attribute "$value"
resize2fs "$img" 12M >/dev/null 2>&1 || fail "resize2fs"
attribute "$value"
e2image -ra "$img" "$work/copy" >/dev/null 2>&1 || fail "e2image -ra"
mv "$work/copy" "$img"
attribute "$value"
e2image -r "$img" "$work/copy" >/dev/null 2>&1 || fail "e2image -r"
mv "$work/copy" "$img"
attribute "$value"

# Without a journal, tune4fs requires an undo file or --no-undo.
fresh -O ^has_journal
refuse 1 'has no journal: .*-z FILE' -E mb_order2_req=1
original=$(cksum <"$img")
check "$tune4fs" -z "$work/undo" -E mb_order2_req=1 "$img"
attribute mb_order2_req=1
refuse 1 'the file exists' -z "$work/undo" -E mb_order2_req=0
e2undo "$work/undo" "$img" >/dev/null 2>&1 || fail "e2undo"
[ "$original" = "$(cksum <"$img")" ] || fail "e2undo did not restore the image"
check "$tune4fs" --no-undo -E mb_order2_req=1 "$img"
attribute mb_order2_req=1

# Damage is reported with the remedy.
fresh
check debugfs -w -R 'sif <2> block[0] 0xFFFFFFFF' "$img"
check debugfs -w -R 'sif <2> checksum 0x1' "$img"
run "$tune4fs" "$img"
same 'a damaged root' "$status" 1
says ": run e2fsck -f $img\$"

# Without the feature ext_attr, the message has the command that sets the
# feature.
truncate -s 16M "$work/plain"
check mke2fs -q -F -t ext4 -O ^ext_attr "$work/plain"
mustfail 1 "$tune4fs" --no-undo -E dir_ireserve=64 "$work/plain"
one_sentence tune4fs
says "ext_attr: run debugfs -w -R 'feature ext_attr' $work/plain"
check debugfs -w -R 'feature ext_attr' "$work/plain"
check "$tune4fs" --no-undo -E dir_ireserve=64 "$work/plain"
sound "$work/plain"
