# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# Tests in the form of xfstests are run with xfstests/common in place of the
# functions of xfstests. The output is compared with the golden output. The
# stock kernel must fail.
. "$(dirname "$0")/common.sh"
cases=$(dirname "$0")/../xfstests
programs="bash mke2fs e2fsck filefrag setfattr"
for program in $programs; do
	command -v "$program" >/dev/null || skip "no $program"
done

# Programs of the host are copied to the guest, with the libraries that they
# load.
for program in $programs; do
	path=$(command -v "$program")
	echo "$path"
	ldd "$path" | grep -o '/[^ ]*'
done | sort -u >"$work/files"
mkdir -p "$work/case/xfstests"
cp -r "$cases/common" "$cases/ext4" "$work/case/xfstests/"
while read -r path; do
	mkdir -p "$work/case$(dirname "$path")"
	cp -L "$path" "$work/case$path"
done <"$work/files"

# run_cases: print a line for each test: its number, and ok, notrun, or differs
run_cases() {
	new_disk 512
	boot <<-'END'
		export SCRATCH_DEV=$disk SCRATCH_MNT=/mnt
		export PATH=/usr/sbin:/usr/bin:$PATH
		mkdir -p /etc && ln -sf /proc/mounts /etc/mtab
		cd /xfstests
		for out in ext4/*.out; do
			name=${out%.out}
			bash $name >/tmp/out 2>&1
			seq=${name#ext4/}
			if [ -e /tmp/$seq.notrun ]; then
				echo "$seq notrun: $(cat /tmp/$seq.notrun)"
			elif cmp -s /tmp/out $out; then
				echo "$seq ok"
			else
				echo "$seq differs"
				diff $out /tmp/out
				cat /tmp/$seq.full 2>/dev/null
			fi
			umount /mnt 2>/dev/null
		done
		true
	END
}
kernel=$stock
run_cases >"$work/stock"
! grep ' ok$' "$work/stock" || fail "a case passes with the stock kernel"
grep '^9' "$work/stock" | sed 's/^/stock: /'
kernel=$patched
run_cases >"$work/got"
cat "$work/got"
! grep -v ' ok$' "$work/got" >/dev/null || fail "a case does not pass"
