# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# dir_ireserve in difficult cases: inode tables that were never zeroed, no free
# inodes, windows that have to be found again after remounts, and a power cut.
. "$(dirname "$0")/common.sh"
on=dir_ireserve=normal

# The inode tables are full of garbage that is never zeroed.
rm -f "$disk"
yes "this was a file once and looks like an inode" | head -c 64M >"$disk"
mke2fs -q -F -t ext4 -b 4096 -N 16384 -g 8192 -E nodiscard,lazy_itable_init=1 \
	"$disk"
boot <<-END
	mount -t ext4 -o $on,noinit_itable \$disk /mnt || exit 1
	trees create /mnt 50 15 >/dev/null
	umount /mnt
END
clean
echo "ok: inode tables that were never zeroed"

# A hole in a directory does not affect placement.
new_disk 32
debugfs -w -R "mkdir d" "$disk" 2>/dev/null
debugfs -w -R "set_inode_field d size 8192" "$disk" 2>/dev/null
boot <<-END
	mount -t ext4 -o $on \$disk /mnt || exit 1
	: >/mnt/d/file || exit 1
	umount /mnt
END
(after_cut="$after_cut|^Inode 12, i_size is 8192, should be 4096" && recover)
echo "ok: a directory whose last block is a hole"

# With dir_ireserve, as many inodes can be used as without dir_ireserve.
for options in dir_ireserve=off $on; do
	new_disk 64 -N 4096 -g 4096
	boot <<-END >"$work/got"
		mount -t ext4 -o $options \$disk /mnt || exit 1
		trees create /mnt 20 15 >/dev/null
		trees fill /mnt/d00000
		umount /mnt
	END
	clean
	free=$(dumpe2fs -h "$disk" 2>/dev/null | sed -n 's/^Free inodes: *//p')
	[ "$free" = 0 ] || fail "$options: $free inodes were not used"
	sed "s/$/ files until no inode is left, $options/" "$work/got"
done
echo "ok: all inodes"

# grown REMOUNT_EVERY FILES RUN OPTIONS [MKE2FS OPTION...]: creates FILES files in
# each of five directories, alternately, with a remount after each REMOUNT_EVERY
# files.  Prints the number of aligned runs of RUN inodes that a directory occupies
# on average, in hundredths.
grown() {
	every=$1 count=$2 run=$3 options=$4
	shift 4
	new_disk 256 -N 65536 "$@"
	boot <<-END
		mount -t ext4 -o $options \$disk /mnt || exit 1
		for d in 0 1 2 3 4; do mkdir /mnt/d0000\$d; done
		n=0
		while [ \$n -lt $count ]; do
			for d in 0 1 2 3 4; do : >/mnt/d0000\$d/file\$n; done
			n=\$((n + 1))
			[ \$((n % $every)) != 0 ] || {
				umount /mnt
				mount -t ext4 -o $options \$disk /mnt || exit 1
			}
		done
		trees locality /mnt 5 $run
		umount /mnt
	END
	clean
}

# A directory that grows over several remounts has its inodes in the same
# windows as a directory that grows during one mount, with rare exceptions.
# After a remount, the kernel finds the window by the inodes of the names in the
# block of the next name, which may have no name in the newest window yet.  With
# 30 remounts, chance does not cause one additional run per directory; a new
# window after each remount would cause 25 additional runs.
remounts() {
	name=$1
	shift
	once=$(grown 1000 "$@")
	again=$(grown 10 "$@")
	[ "$again" -le $((once + 100)) ] ||
		fail "$name: $again/100 windows for each, at once $once/100"
	echo "ok: found again after remounts, $name, $again/100 windows for each," \
		"at once $once/100"
}
remounts "300 files" 300 64 $on
remounts "300 files, no index" 300 64 $on -O ^dir_index
remounts "300 encrypted files" 300 64 $on,test_dummy_encryption -O encrypt
remounts "60 files, inline data" 60 16 dir_ireserve=low -O inline_data -I 1024

# The inodes of files that are created directory after directory are dense.  If
# files are created alternately, only the first one or two files of each
# directory are dense.
new_disk 64 -N 16384 -g 8192 -O ^flex_bg
boot <<-END >"$work/got"
	mount -t ext4 -o dir_ireserve=low \$disk /mnt || exit 1
	for d in 0 1 2 3 4 5 6 7 8 9; do
		mkdir -p /mnt/top/go\$d
		for n in 1 2 3 4 5 6 7; do : >/mnt/top/go\$d/\$n; done
	done
	ls -1id /mnt/top/go* /mnt/top/go*/* | sort -n | sed -n '1p;\$p'
	for n in 1 2 3 4 5 6 7 8 9; do
		for d in 0 1 2 3 4; do : >/mnt/top/go\$d/turn\$n; done
	done
	ls -1i /mnt/top/go3/turn*
	umount /mnt
END
clean
awk 'NR == 1 { first = $1 } NR == 2 { last = $1; next }
	NR > 2 && !(int(($1 - 1) / 16) in seen) {
		seen[int(($1 - 1) / 16)] = 1; blocks++ }
	END { exit NR != 11 || last - first != 79 || blocks > 2 }' "$work/got" || {
	cat "$work/got" >&2
	fail "80 inodes are not 80 in a row, or 9 in turns not in two blocks"
}
echo "ok: dense what is made in one go, apart what is made in turns"

# Without a journal, recently deleted inodes are not reused: the inodes of two
# directories with their own windows stay apart.
new_disk 64 -N 4096 -O ^has_journal
boot <<-END >"$work/got"
	mount -t ext4 -o dir_ireserve=low \$disk /mnt || exit 1
	mkdir /mnt/a /mnt/b
	for n in 1 2 3 4 5 6 7 8 9 10; do
		for d in a b; do : >/mnt/\$d/\$n; done
	done
	rm /mnt/a/*
	sleep 2
	for n in 1 2 3 4 5 6 7 8 9 10; do : >/mnt/a/\$n; done
	ls -1i /mnt/b/10
	ls -1i /mnt/a
	umount /mnt
END
clean
awk 'NR == 1 { b = int(($1 - 1) / 16); next }
	int(($1 - 1) / 16) == b { bad = 1 }
	END { exit bad || NR != 11 }' "$work/got" ||
	fail "files made again are in another directory's window"
echo "ok: files made again keep to their directory's windows"

# The power fails while directories and files are created and removed.
for round in 1 2 3; do
	new_disk 64 -N 16384
	cut_power <<-END >/dev/null
		mount -t ext4 -o $on,commit=1 \$disk /mnt || exit 1
		trees script /mnt $round 100000 0 &
		trees script /mnt $round 100000 1 &
		sleep 1.$round
		poweroff -f -n
	END
	recover
done
echo "ok: the power was cut three times"
