# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Environment of every guest test: $work is a directory for the test; $lane is the
# lane; $stock and $patched are the kernels; $release is their release; $guest has
# the helper programs of the guests; $top_builddir is a build of the tools, or empty.
set -eu
: "${work:?}" "${lane:?}" "${stock:?}" "${patched:?}" "${initrd:?}"
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
# The clock of a guest can be ahead of the clock of the host.
printf '[options]\nbroken_system_clock = true\n' >"$work/e2fsck.conf"
E2FSCK_CONFIG=$work/e2fsck.conf
export E2FSCK_CONFIG
: "${BOOT_SECONDS:=300}"
kernel=$patched

fail() {
	echo "failed: $*" >&2
	exit 1
}

skip() {
	echo "skipped: $*" >&2
	exit 77
}

# new_disk MIB [MKE2FS OPTION...]: create a filesystem on a new $disk.
disk=$work/disk
new_disk() {
	mib=$1
	shift
	rm -f "$disk"
	truncate -s "${mib}M" "$disk"
	mke2fs -q -F -t ext4 -b 4096 -E lazy_itable_init=0 "$@" "$disk"
}

# User Mode Linux may not save some registers (configs/um-6.12.patch).  These
# tunables keep the programs of a guest from using the registers.
plain=GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX_Fast_Unaligned_Load
plain=$plain,-AVX512F,-AVX512VL,-AVX512BW

# run_guest [OPTION...]: boot $kernel with $disk, for BOOT_SECONDS at most.
run_guest() {
	: >"$work/out"
	case $lane in
	um*)
		TMPDIR=$work timeout -s KILL "$BOOT_SECONDS" "$kernel" \
			mem="${GUEST_MEM:-512M}" initrd="$work/initrd" \
			ubd0="$disk" ${disk2:+ubd1="$disk2"} con=null \
			con0=null,fd:1 con1=null,fd:3 ssl=null panic=-1 \
			loglevel=5 kunit.enable=0 "$plain" "$@" \
			</dev/null >"$work/console" 2>&1 3>"$work/out" ;;
	*)
		timeout -s KILL "$BOOT_SECONDS" qemu-system-x86_64 \
			-accel tcg,thread=multi -M pc -cpu max \
			-m "${GUEST_MEM:-512M}" -smp "${GUEST_CPUS:-2}" -display none \
			-no-reboot -kernel "$kernel" -initrd "$work/initrd" \
			-serial "file:$work/console" -serial "file:$work/out" \
			-drive "file=$disk,if=virtio,format=raw,cache=unsafe" \
			${disk2:+-drive "file=$disk2,if=virtio,format=raw,cache=unsafe"} \
			-append "console=ttyS0 panic=-1 no_timer_check \
				rcupdate.rcu_cpu_stall_suppress=1 \
				kunit.enable=0 $*" \
			</dev/null >/dev/null 2>"$work/qemu" ;;
	esac
}

# Reports of KCSAN are written to $RACES, and do not count as failures.
races=^\$
[ "${lane%-kcsan}" = "$lane" ] || races='BUG: KCSAN: '

# start [OPTION...]: run the shell script on stdin in a guest, and save its output
# in $work/lines.  Fail if the kernel reports a problem, including hung tasks,
# other than $expected.  Skip the test if the guest takes too long.
start() {
	mkdir -p "$work/case"
	cat >"$work/case/case"
	(cd "$work/case" && find . | cpio -o -H newc --quiet) >"$work/case.cpio"
	cat "$initrd" "$work/case.cpio" >"$work/initrd"
	status=0
	run_guest "$@" || status=$?
	tr -d '\r' <"$work/out" >"$work/lines"
	grep -aE 'BUG:|WARNING:|EXT4-fs (error|warning)|KASAN|INFO: task|Call Trace' \
		"$work/console" | grep -av "${expected:-^\$}" |
		grep -av "$races" >&2 &&
		[ "${complains-}" != ok ] &&
		fail "the kernel log has warnings"
	[ "${lane%-kcsan}" = "$lane" ] ||
		cat "$work/console" >>"${RACES:-/dev/null}"
	[ "$status" != 137 ] ||
		skip "the guest was not done in $BOOT_SECONDS seconds"
}

# boot [OPTION...]: start a script, print its output, and fail if the script fails.
# shellcheck disable=SC2120
boot() {
	start "$@"
	case $(tail -n 1 "$work/lines") in
	"exit 0") sed '$d' "$work/lines" ;;
	"exit "*) cat "$work/lines" >&2; fail "the guest's script fails" ;;
	*)
		tail -n 20 "$work/console" "$work/lines" >&2
		fail "the guest did not end" ;;
	esac
}

# cut_power [OPTION...]: start a script that ends in "poweroff -f -n", and print its
# output.  Writes in flight may fail then, and abort the journal.
cut_power() {
	expected='ext4_end_bio.*I/O error\|Detected aborted journal'
	expected="$expected\|Journal has aborted\|mark_inode_dirty error"
	expected="$expected\|EXT4-fs warning.*-30"
	start "$@"
	expected=
	! grep '^exit ' "$work/lines" >&2 || fail "the power was not cut"
	cat "$work/lines"
}

# garbage_disk MIB [MKE2FS OPTION...]: like new_disk, on a disk that was full of
# 0xAA.
garbage_disk() {
	mib=$1
	shift
	rm -f "$disk"
	head -c "${mib}M" /dev/zero | tr '\0' '\252' >"$disk"
	mke2fs -q -F -t ext4 -b 4096 -E nodiscard,lazy_itable_init=0 "$@" "$disk"
}

# clean [OPTION]...: fail if e2fsck, with OPTIONs, or e4check finds errors on $disk.
# shellcheck disable=SC2120,SC2119
clean() {
	e2fsck -fn "$@" "$disk" >"$work/fsck" 2>&1 || {
		head -n 20 "$work/fsck" >&2
		fail "e2fsck has found errors"
	}
	[ ! "${top_builddir-}" ] ||
		"$top_builddir/e2fsck/e4check" "$disk" >"$work/fsck" 2>&1 || {
		head -n 20 "$work/fsck" >&2
		fail "e4check has found errors"
	}
}

# Output of e2fsck that recover() accepts.
after_cut="^\$|^e2fsck |^Pass |recovering journal\$|^Clearing orphaned inode"
after_cut="$after_cut|^Free (blocks|inodes) count wrong \(|^Fix\\? yes|Optimize\\? yes"
after_cut="$after_cut|FILE SYSTEM WAS MODIFIED|: clean, |files .*blocks\$"

# repair: let e2fsck replay the journal of $disk and repair the filesystem.
repair() {
	e2fsck -fy "$disk" >"$work/fsck" 2>&1 || [ $? = 1 ] || {
		head -n 20 "$work/fsck" >&2
		fail "e2fsck cannot recover"
	}
}

# recover: let e2fsck replay the journal of $disk, and fail if e2fsck finds
# errors other than orphans and the free counts of the superblock.
recover() {
	repair
	! grep -Ev "$after_cut" "$work/fsck" >&2 || fail "e2fsck has found the errors above"
	clean
}

# ended: fail unless the guest ended normally, although its filesystem was shut
# down, and let e2fsck repair $disk.
ended() {
	[ "$(tail -n 1 "$work/lines")" = "exit 0" ] || {
		tail -n 20 "$work/console" "$work/lines" >&2
		fail "the guest did not end"
	}
	repair
}

# replay: let the kernel replay the journal of $disk.
# shellcheck disable=SC2119
replay() {
	boot <<-END
		mount -t ext4 \$disk /mnt && umount /mnt
	END
}

# replayed [COMMAND...]: let $kernel, or $replayer if that is set, replay the journal
# of $disk, and run COMMAND while $disk is mounted.  If $disk cannot be mounted, or
# has errors, print "not mounted" or "errors" and fail.  Messages of the stock kernel
# are accepted.
replayer=
# shellcheck disable=SC2119
replayed() {
	[ "$kernel" = "$patched" ] || complains=ok
	kernel=${replayer:-$kernel}
	start <<-END
		mount -t ext4 \$disk /mnt || exit 1
		$*
		umount /mnt
	END
	[ "$(tail -n 1 "$work/lines")" = "exit 0" ] || {
		echo "not mounted"
		return 1
	}
	e2fsck -fn "$disk" >"$work/fsck" 2>&1 && return
	echo "errors"
	return 1
}

# set_tunables NAME=VALUE[,...]: store tunables in the root directory of $disk.
set_tunables() {
	if [ "${top_builddir-}" ]; then
		"$top_builddir/misc/tune4fs" -q -E "$1" "$disk" >/dev/null
	else
		set_attribute "$1"
	fi
}

# set_attribute TEXT: store any text in the attribute for tunables.
set_attribute() {
	printf %s "$1" >"$work/text"
	debugfs -w -R "ea_set -f $work/text / trusted.ext4.tunables" "$disk" \
		>/dev/null 2>&1
}

# extents PATH: print the number of extents of the file on $disk.
extents() {
	debugfs -R "dump_extents -l $1" "$disk" 2>/dev/null | awk '
		NR > 1 && $1 ~ /^[0-9]/ { n++ } END { print n + 0 }'
}

# bytes_of CHARACTER PATH: print how often the file on $disk has CHARACTER.
bytes_of() {
	debugfs -R "cat $2" "$disk" 2>/dev/null | tr -dc "$1" | wc -c
}

# tree_blocks PATH: print the number of blocks of the file's extent tree on $disk.
tree_blocks() {
	debugfs -R "dump_extents -n $1" "$disk" 2>/dev/null | awk '
		NR > 1 && $1 != "0/" { n++ } END { print n + 0 }'
}

# take_e4repack: copy e4repack and its libraries to the guest, which has to set
# LD_LIBRARY_PATH=/lib.
take_e4repack() {
	[ "${top_builddir-}" ] || skip "e4repack is not there"
	mkdir -p "$work/case/lib" "$work/case/lib64"
	"$top_builddir/libtool" --quiet --mode=execute ldd \
		"$top_builddir/misc/e4repack" >"$work/ldd" ||
		skip "what e4repack is linked to is not known"
	tool=$top_builddir/misc/.libs/e4repack
	[ -x "$tool" ] || tool=$top_builddir/misc/e4repack
	cp "$tool" "$work/case/e4repack"
	awk '$2 == "=>" { print $3 }' "$work/ldd" | xargs -I {} cp {} "$work/case/lib/"
	loader=$(awk '$1 ~ "ld-linux" { print $1 }' "$work/ldd")
	cp "$loader" "$work/case/lib64/"
}
