# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# series: fixes
# Fast commits and inode formats: synced data survives a power cut after chattr +e
# or -e and after a file outgrew its inode, and files without extents are not
# damaged. The two blocks of the file are allocated at once, because chattr -e does
# not support files with two extents.
. "$(dirname "$0")/common.sh"

# left FROM TO: convert a file from format FROM to TO, and print the numbers of the
# last writes to block 0 and to block 1 that survive a power cut: "1 2" if all do
left() {
	new_disk 32 -O fast_commit
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime,nodelalloc \$disk /mnt || exit 1
		: >/mnt/f
		migrate $1 /mnt/f || exit 1
		dd if=/dev/zero of=/mnt/f bs=8k count=1 conv=notrunc \
			oflag=direct 2>/dev/null || exit 1
		writes once direct /mnt/f 0 0 || exit 1
		writes once direct /mnt/f 1 0 || exit 1
		sync
		migrate $2 /mnt/f || exit 1
		writes once direct /mnt/f 1 1 || exit 1
		sync /mnt/f || exit 1
		poweroff -f -n
	END
	replayed || return 0
	for block in 0 1; do
		debugfs -R "cat /f" "$disk" 2>/dev/null |
			od -An -tu4 -j$((block * 4096 + 4)) -N4 | tr -d ' \n'
		echo
	done | paste -sd ' '
}

# mounts COMMANDS [MKE2FS OPTION...]: run COMMANDS and cut the power; succeed if the
# kernel replays the journal and the filesystem has no errors
mounts() {
	commands=$1
	shift
	new_disk 32 "$@"
	cut_power <<-END >/dev/null
		mount -t ext4 -o noatime \$disk /mnt || exit 1
		$commands
		poweroff -f -n
	END
	replayed
}

# bytes PATH: print the number of bytes of PATH that are "y" or newline
bytes() {
	debugfs -R "cat $1" "$disk" 2>/dev/null | tr -dc 'y\n' | wc -c
}

# outgrown: append to a file with 20 bytes of inline data, and print how many of its
# 8192 bytes survive a power cut
outgrown() {
	mounts "
		yes | head -c 20 >/mnt/f
		sync
		yes | head -c 8172 >>/mnt/f
		sync /mnt/f || exit 1" -O fast_commit,inline_data -I 256 &&
		bytes /f
}

# directory: print how many of 4096 bytes of a file survive a power cut; the
# directory of the file has no extents
directory() {
	mounts "
		: >/mnt/g
		sync
		mkdir /mnt/d
		yes | head -c 4096 >/mnt/d/f
		sync /mnt/d/f || exit 1" -O fast_commit,^extent,^64bit &&
		bytes /d/f
}

# appended: append to a file without extents, and print how many of its 12288 bytes
# survive a power cut
appended() {
	mounts "
		: >/mnt/f
		migrate blocks /mnt/f || exit 1
		yes | head -c 8192 >/mnt/f
		sync
		yes | head -c 4096 >>/mnt/f
		sync /mnt/f || exit 1" -O fast_commit &&
		bytes /f
}

# reused: succeed if the filesystem has no errors after a file without extents
# reused an inode number
reused() {
	mounts "
		: >/mnt/g
		yes | head -c 8192 >/mnt/x
		sync
		rm /mnt/x
		sync
		echo y >/mnt/g
		sync
		: >/mnt/f
		migrate blocks /mnt/f || exit 1
		yes | head -c 8192 >/mnt/f
		sync /mnt/f || exit 1" -O fast_commit
}

kernel=$stock
echo "stock: extents, $(left blocks extents 2>"$work/err") (1 2 was written)"
echo "stock: blocks, $(left extents blocks 2>"$work/err") (1 2 was written)"
echo "stock: without extents, $(left blocks blocks 2>"$work/err") (1 2 was written)"
echo "stock: without extents, $(appended 2>"$work/err") (12288 were written)"
echo "stock: outgrown, $(outgrown 2>"$work/err") (8192 were written)"
echo "stock: a directory, $(directory 2>"$work/err") (4096 were written)"
kernel=$patched
for try in 1 2 3; do
	got=$(left blocks extents)
	[ "$got" = "1 2" ] || fail "to extents: ${got:-nothing}, not 1 2"
	got=$(left extents blocks)
	[ "$got" = "1 2" ] || fail "to blocks: ${got:-nothing}, not 1 2"
done
echo "ok: synced after it was mapped in another way"
got=$(left blocks blocks)
[ "$got" = "1 2" ] || fail "without extents: ${got:-nothing}, not 1 2"
got=$(appended)
[ "$got" = 12288 ] || fail "without extents: ${got:-nothing}, not 12288"
got=$(directory)
[ "$got" = 4096 ] || fail "in a directory without extents: ${got:-nothing}"
echo "ok: without extents"
got=$(outgrown)
[ "$got" = 8192 ] || fail "wrong size of the file that outgrew its inode: ${got:-no file}"
echo "ok: it has outgrown its inode"

kernel=$stock
replayer=$patched
for how in "blocks extents" "extents blocks" "blocks blocks"; do
	# shellcheck disable=SC2086
	got=$(left $how)
	[ "$got" = "1 2" ] || fail "logged by stock, $how: $got, not 1 2"
done
for what in outgrown appended directory; do
	got=$($what 2>"$work/err") || :
	echo "logged by stock: $what: $got"
	grep -q "^exit " "$work/lines" || fail "$what: replay panics"
	[ $what != outgrown ] || [ "$got" = 8192 ] || fail "the file that outgrew its inode is lost"
done
got=$(reused 2>"$work/err") ||
	fail "logged by stock: a used inode: $got: $(cat "$work/fsck")"
echo "ok: replayed what the stock kernel had logged"
