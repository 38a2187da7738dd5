#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# e4repack --only=inodes: the inodes of a directory's entries are moved into the
# number of inode table blocks that -n reports. Every name leads to the same
# content. No directory needs more blocks than before. With enough free inodes,
# a second run finds no work. FEATURES='RECIPE...' selects recipes, FEATURES=all
# takes all of tests/recipes/features. E4L_RANDOM: number of random filesystems
# (12).
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
require_program /usr/bin/python3

# of_inodes KEY: prints the figure KEY of the last run about inodes.
of_inodes() {
	case $1 in
	planned) report planned.inodes ;;
	done) report done.inodes ;;
	directories_planned) report planned.inode_directories ;;
	directories_done) report done.inode_directories ;;
	itable_blocks_before) report before.itable_blocks ;;
	itable_blocks_after | planned_itable_blocks_after)
		report after.itable_blocks ;;
	itable_blocks_ideal) report before.itable_blocks_ideal ;;
	transactions) report done.transactions ;;
	esac
}

# left REASON: fails unless a reason of the last run begins with REASON.
left() {
	json "$work/.report" "[x['reason'] for x in d['skipped']
		if x['kind'] == 'inodes']" |
		grep -q "'$1" || fail "$what: missing in the report: $1: $(cat "$work/.report")"
}

# by_name IMAGE: prints all properties that a repack must not change.
by_name() {
	"$top_builddir/tests/tools/fsdigest" -n "$1" >"$work/.digest" ||
		fail "$what: fsdigest"
	sort "$work/.digest"
}

# made LINE...: makes an image from the recipe with these lines.
made() {
	printf '%s\n' "$@" |
		sed "s#^include \.\./#include $top_srcdir/tests/recipes/#" \
		>"$work/recipe"
	check "$top_builddir/tests/tools/mkaged" -s "${seed:-1}" "$work/recipe" \
		"$img"
}

# needs IMAGE [BLOCKS]: prints the number of inode-table blocks of each
# directory, by name.  With BLOCKS, counts reads of BLOCKS aligned blocks
# instead.
needs() {
	/usr/bin/python3 "$work/needs.py" "$1" "${2:-1}" | sort
}
cat >"$work/needs.py" <<'END'
import re, subprocess, sys
image = sys.argv[1]
def debugfs(*requests):
    return subprocess.run(["debugfs", "-f", "-", image], text=True,
                          input="\n".join(requests) + "\n", check=True,
                          errors="surrogateescape",
                          capture_output=True).stdout
sb = debugfs("stats")
size = int(re.search(r"Inode size:\s+(\d+)", sb).group(1))
block = int(re.search(r"Block size:\s+(\d+)", sb).group(1))
per_group = int(re.search(r"Inodes per group:\s+(\d+)", sb).group(1))
tables = [int(at) for at in re.findall(r"inode table at (\d+)", sb)]
def read_with(ino):
    group, nr = divmod(ino - 1, per_group)
    return (tables[group] + nr // (block // size)) // int(sys.argv[2])
todo, seen = [("/", 2)], set()
while todo:
    out = debugfs(*[f"ls -p <{ino}>" for _, ino in todo])
    parts = re.split(r"^debugfs: ls -p <\d+>$", out, flags=re.M)[1:]
    below = []
    for (path, ino), part in zip(todo, parts):
        inos = {ino}
        for line in part.splitlines():
            fields = line.split("/")
            if len(fields) < 7 or not fields[1].isdigit():
                continue
            child, mode, name = int(fields[1]), int(fields[2], 8), fields[5]
            if name in (".", "..") or not child:
                continue
            if mode >> 12 == 4:
                below.append((path + name + "/", child))
            else:
                inos.add(child)
        print(path, len({read_with(i) for i in inos}))
    todo = below
END

# never_worse BEFORE AFTER: fails if a directory needs more blocks than before.
never_worse() {
	join "$1" "$2" | awk '$3 > $2 { print; bad = 1 } END { exit bad }' \
		>"$work/worse" || fail "$what: worse: $(head -n 3 "$work/worse")"
	same "$what: directories" "$(wc -l <"$2")" "$(wc -l <"$1")"
}

# regrouped OPTION...: makes a plan and a repack of the inodes, and compares the
# plan with the repack.
regrouped() {
	by_name "$img" >"$work/before"
	needs "$img" >"$work/needed"
	before=$(written "$img")
	repack -n --only=inodes "$@" "$img"
	same "$what: written by -n" "$(written "$img")" "$before"
	planned=$(of_inodes planned)
	then=$(of_inodes itable_blocks_after)
	had=$(of_inodes itable_blocks_before)
	repack --only=inodes "$@" "$img"
	same "$what: inodes" "$(of_inodes 'done') of $(of_inodes planned)" \
		"$planned of $planned"
	same "$what: blocks" "$(of_inodes itable_blocks_before) to $(of_inodes \
		itable_blocks_after)" "$had to $then"
	clean "$img"
	by_name "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
	needs "$img" >"$work/needs"
	never_worse "$work/needed" "$work/needs"
	same "$what: as counted" "$(awk '{ sum += $2 } END { print sum }' \
		"$work/needs")" "$then"
	repack --only=inodes "$@" "$img"
	[ "$(of_inodes itable_blocks_after)" -le "$then" ] ||
		fail "$what: worse by a second run"
	again=$(of_inodes planned)
}

# settled: fails unless the second run has nothing to do.
settled() {
	same "$what: a second run" "$again $(of_inodes transactions)" '0 0'
}

# ---- every feature
features 'default block-1k bigalloc casefold ea-inode encrypt ext2 htree
inline-data inode-128 lazy-itable no-csum no-filetype no-journal quota
stable-inodes'
images=0
for what in $recipes; do
	flags=
	case $what in
	casefold | encrypt) flags="flags $what" ;;
	esac
	made "$(cat "$top_srcdir/tests/recipes/features/$what.recipe")" htree \
		"dir /tangled $flags" 'tree /tree dirs 4 files 30' \
		'many /tangled/a-directory-with-long-names count 200 name a-name-of-some-length- step 5' \
		'many /tangled/and-another-directory count 40 name another-name-of-some-length-' \
		'scatter /tangled/a-tree-of-its-own frags 40 blocks 1 gap 1' \
		'link /tangled/a-directory-with-long-names/a-name-of-some-length-7 /tangled/and-another-directory/its-second-long-name' \
		'link /tangled/a-directory-with-long-names/a-name-of-some-length-9 /tangled/a-directory-with-long-names/its-second-long-name'
	case $what in
	no-journal | ext2) regrouped --no-undo ;;
	*) regrouped ;;
	esac
	settled
	images=$((images + 1))
	echo "$what: $planned inodes, $had blocks before, $then after"
	case $what in
	stable-inodes)
		same "$what: moved" "$planned" 0
		left stable-inodes
		;;
	# each inode has a block of its own, so nothing can be saved
	inode-4096) ;;
	*) [ "$planned" -gt 20 ] || fail "$what: nothing is gained" ;;
	esac
done
echo "$images images"

# ---- with enough free inodes, directories need the fewest blocks
what='room'
made 'size 64M' 'mke2fs -N 8000' 'tree /t dirs 30 files 90 size 1K-5K' htree
regrouped
[ $((then * 100)) -le $(($(of_inodes itable_blocks_ideal) * 105)) ] ||
	fail "$what: $then blocks, at best $(of_inodes itable_blocks_ideal)"

# ---- Linux reads 32 aligned inode-table blocks at a time: directories need nearly
# the fewest such reads, and not more reads than in a copy by mke4fs
what='reads'
made 'size 256M' 'mke2fs -N 40000' 'tree /t dirs 30 files 300 size 1K' htree
regrouped
reads=$(needs "$img" 32 | awk '{ sum += $2 } END { print sum }')
least=$(needs "$img" | awk '{ sum += int(($2 + 31) / 32) } END { print sum }')
check "$mke4fs" -q --from="$img" "$work/copy" 256M
copy=$(needs "$work/copy" 32 | awk '{ sum += $2 } END { print sum }')
echo "$what: $reads, $least at best, $copy of a copy"
[ $((reads * 100)) -le $((least * 105)) ] || fail "$what: $reads, at best $least"
[ "$reads" -le "$copy" ] || fail "$what: $reads, $copy of a copy"
rm "$work/copy"

# ---- with hardly any free inodes, inodes are exchanged
# nearly PERCENT: the directories need at most PERCENT of the minimum of blocks.
nearly() {
	echo "$what: $planned inodes, $had blocks before, $then after, $(of_inodes \
		itable_blocks_ideal) at best"
	[ $((then * 100)) -le $(($(of_inodes itable_blocks_ideal) * $1)) ] ||
		fail "$what: $then blocks, at best $(of_inodes \
			itable_blocks_ideal)"
}

for free in 40 3 1; do
	what="$free free inodes"
	made 'size 64M' 'mke2fs -b 1024 -N 2048' \
		'tree /t dirs 40 files 40' 'many /rest count 300' \
		"many /rest2 left $free"
	regrouped
	settled
	nearly 100
done

what='none is free'
made 'size 64M' 'mke2fs -b 1024 -N 2048' 'tree /t dirs 40 files 40' \
	'many /rest left 0'
regrouped
same "$what: moved" "$planned" 0
left inodes-full

# Each directory fills one block.  Its other inodes fit in no block together
# with the other inodes of another directory.
what='rests'
made 'size 64M' 'mke2fs -N 8192' 'tree /t dirs 250 files 26' \
	'many /rest left 5'
regrouped
settled
nearly 135

what='small directories'
made 'size 64M' 'mke2fs -b 1024 -N 8192' 'tree /t dirs 1000 files 6' \
	'many /rest left 2'
regrouped
settled
nearly 130

# Several parts of the inode table have cycles of exchanges.  One inode of a
# cycle, with an extent tree, must move away temporarily.
what='trees'
trees() {
	for part in a b c d; do
		for d in 0 1 2 3; do
			echo "dir /$part$d"
			echo "dir /$part$d/sub"
		done
		for f in $(seq 8); do
			for d in 0 1 2 3; do
				echo "scatter /$part$d/f$f frags 6 blocks 1 gap 1"
			done
		done
	done
	echo 'link /a0/f3 /a0/sub/l'
	echo 'link /b1/f5 /b2/sub/l'
}
made 'size 64M' 'mke2fs -b 1024 -N 256' "$(trees)" \
	'many /rest left 1'
regrouped
settled
nearly 130

# Every fourth block has an inode that is bound to its number and must not move.
what='bound ones in between'
made 'size 64M' 'mke2fs -b 1024 -N 2048' 'tree /t dirs 40 files 40' \
	'many /rest left 4'
number() {
	debugfs -R "stat $1" "$img" 2>/dev/null | sed -n 's/^Inode: *\([0-9]*\) .*/\1/p'
}
printf '\002some bytes of a keyed hash' >"$work/evm"
for f in $(seq 0 39); do
	echo "ea_set -f $work/evm /t/d$((f % 10 * 4))/f$f security.evm"
done >"$work/bind"
check debugfs -w -f "$work/bind" "$img"
regrouped
nearly 110

what='only some'
made 'size 64M' 'mke2fs -b 1024 -N 2048' 'tree /t dirs 40 files 40' \
	'many /rest left 4'
by_name "$img" >"$work/before"
needs "$img" >"$work/needed"
number=$(number /t/d3/f3)
repack -n --only=inodes --exclude=/t/d3 "$img"
then=$(of_inodes itable_blocks_after)
repack --only=inodes --exclude=/t/d3 "$img"
same "$what: blocks" "$(of_inodes itable_blocks_after)" "$then"
[ $((then * 100)) -le $(($(of_inodes itable_blocks_ideal) * 115)) ] ||
	fail "$what: $then blocks, at best $(of_inodes itable_blocks_ideal)"
clean "$img"
same "$what: excluded" "$(number /t/d3/f3)" "$number"
by_name "$img" >"$work/after"
unchanged "$work/before" "$work/after"
needs "$img" >"$work/needs"
never_worse "$work/needed" "$work/needs"

# ---- random filesystems
for seed in $(seq "${E4L_RANDOM:-$(in_full && echo 12 || echo 2)}"); do
	what="random $seed"
	/usr/bin/python3 - "$seed" >"$work/random" <<'END'
import random, sys
r = random.Random(int(sys.argv[1]))
print("size 48M")
print("mke2fs -b", r.choice([1024, 2048, 4096]), "-N",
      r.choice([1500, 2000, 6000]), "-I", r.choice([128, 256, 512]))
dirs = ["/d%d" % i for i in range(r.randint(3, 12))]
paths = []
for d in dirs:
    print("dir", d)
for i in range(900):
    d = r.choice(dirs)
    if r.random() < 0.12 and paths:
        print("link %s %s/l%d" % (r.choice(paths), d, i))
    elif r.random() < 0.04:
        dirs.append("%s/s%d" % (d, i))
        print("dir", dirs[-1])
    else:
        paths.append("%s/n%d" % (d, i))
        print("file %s size %d" % (paths[-1], r.choice([0, 500, 3000])))
gone = r.sample(paths, 200)
for path in gone:
    print("delete", path)
if r.random() < 0.5:
    print("htree")
END
	[ $((seed % 3)) != 0 ] ||
		echo "many /rest left $((seed % 5 + 1))" >>"$work/random"
	check "$top_builddir/tests/tools/mkaged" -s "$seed" "$work/random" "$img"
	regrouped
	echo "$what: $planned inodes, $had blocks before, $then after"
done

# ---- inodes that are bound to their numbers
what='bound'
made 'size 64M' 'mke2fs -b 1024 -N 4000' 'tree /t dirs 3 files 40'
evm=$(number /t/d0/f7)
over=$(number /t/d1/f9)
parent=$(number /t/d1/f11)
printf '\002some bytes of a keyed hash' >"$work/evm"
check debugfs -w -R "ea_set -f $work/evm /t/d0/f7 security.evm" "$img"
# handle TYPE INO GENERATION [PARENT GENERATION]: prints a handle as overlayfs
# stores it
handle() {
	/usr/bin/python3 -c '
import struct, sys
fid = struct.pack("<%dI" % (len(sys.argv) - 2), *map(int, sys.argv[2:]))
sys.stdout.buffer.write(bytes([0, 0xfb, 21 + len(fid), 0, int(sys.argv[1])]) +
                        bytes(16) + fid)' "$@" >"$work/handle"
}
handle 1 "$over" 0
check debugfs -w -R "ea_set -f $work/handle /t/d2/f3 trusted.overlay.origin" \
	"$img"
handle 2 "$over" 0 "$parent" 0
check debugfs -w -R "ea_set -f $work/handle /t/d2/f4 trusted.overlay.origin" \
	"$img"
cp "$img" "$work/bound"
regrouped
same "$what: security.evm" "$(number /t/d0/f7)" "$evm"
same "$what: overlay" "$(number /t/d1/f9)" "$over"
same "$what: overlay, parent" "$(number /t/d1/f11)" "$parent"
cp "$work/bound" "$img"
regrouped --renumber-anyway
same "$what: security.evm, anyway" "$(number /t/d0/f7)" "$evm"
[ "$(number /t/d1/f9)" != "$over" ] || fail "$what: --renumber-anyway"
[ "$(number /t/d1/f11)" != "$parent" ] || fail "$what: --renumber-anyway"

# encrypted: makes an image without checksums and with two encrypted directories
encrypted() {
	made 'size 64M' 'mke2fs -b 1024 -N 4000 -O encrypt,^metadata_csum' \
		'dir /e flags encrypt' \
		'many /e/one-encrypted-directory count 30 name a-name-of-some-length- step 5' \
		'many /e/two-encrypted-directory count 30 name a-name-of-some-length- step 5'
}
what='a policy with nonces'
encrypted
regrouped
[ "$planned" -gt 40 ] || fail "$what: $planned"
for flag in 8 16; do
	what="a policy with numbers ($flag)"
	encrypted
	/usr/bin/python3 - "$img" $flag <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    data = f.read()
    old = bytes([2, 1, 4, 3, 0, 0, 0, 0])
    assert data.count(old) > 60
    f.seek(0)
    f.write(data.replace(old, bytes([2, 1, 4, 3 | int(sys.argv[2]), 0, 0, 0, 0])))
END
	regrouped
	same "$what: moved" "$planned" 0
	left encrypted-inodes
done

# ---- only the selected inodes
what='paths'
made 'size 64M' 'mke2fs -b 1024 -N 4000' 'tree /t dirs 4 files 40'
repack -n --only=inodes "$img" /t/d1
same "$what: one" "$(of_inodes directories_planned)" 1
repack -n --only=inodes --exclude=/t/d1 --exclude=/t/d2 "$img"
same "$what: --exclude" "$(of_inodes directories_planned)" 2
repack -n "$img"
same "$what: not asked for" "$(of_inodes planned)" 0
check "$e4repack" -n --only=inodes "$img"
grep -q '^Inode-table blocks  *[0-9]*  *[0-9]*$' "$out" ||
	fail "$what: $(cat "$out")"

# ---- a run that has time to plan only one directory regroups this directory
what='no time'
made 'size 64M' 'mke2fs -b 1024 -N 4000' 'tree /t dirs 4 files 40'
repack -n --only=inodes "$img"
then=$(of_inodes itable_blocks_after)
by_name "$img" >"$work/before"
needs "$img" >"$work/needed"
for run in $(seq 20); do
	check "$top_builddir/tests/tools/stop_probe" "$img" inodes
	said=$(cat "$out")
	clean "$img"
	[ "${said%, left*}" = 'planned 1, done 1' ] || break
done
same "$what: the last run" "$said" 'planned 0, done 0, left 0'
[ "$run" -gt 3 ] || fail "$what: only $run runs"
by_name "$img" >"$work/after"
unchanged "$work/before" "$work/after"
needs "$img" >"$work/needs"
never_worse "$work/needed" "$work/needs"
same "$what: blocks" "$(awk '{ sum += $2 } END { print sum }' "$work/needs")" \
	"$then"

# ---- the kernel continues with the result
require_loop
what='the kernel'
made 'size 64M' 'mke2fs -b 1024 -N 8000' 'tree /t dirs 9 files 90 size 1K' htree
regrouped
mount_image "$img" "$work/mnt"
same "$what: files" "$(find "$work/mnt/t" -type f -size 1k | wc -l)" 810
for d in "$work"/mnt/t/d*; do
	(cd "$d" && seq -f 'new-%g' 50 | xargs touch && rm f1?)
	mkdir "$d/sub"
	mv "$d/f2" "$d/sub"
done
rm -r "$work/mnt/t/d3"
check umount "$work/mnt"
undefer "umount '$work/mnt'"
detach "$loop"
clean "$img"
