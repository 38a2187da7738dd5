#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On random filesystems and for any options of e4repack, every name leads to the
# same content, no file has more fragments than before, and the changes equal
# the plan of -n for each word of --only. --all does not increase the number of
# free extents, and does not shorten the largest free extent. SEEDS='N...'
# selects other seeds.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/repack_common.sh"
no_leak_check

# draw SEED: prints a recipe, words for --only, and options.
cat >"$work/draw.py" <<'END'
import random
import sys

seed, out = int(sys.argv[1]), sys.argv[2]
r = random.Random(seed)
block = r.choice((1024, 1024, 2048, 4096))
mib = int(16 * 8 ** r.random())
features, extended = [], []
bigalloc = r.random() < .2
cluster = block * r.choice((4, 16)) if bigalloc else block
mke2fs = f"-b {block} -J size={block // 1024} -N {max(3000, mib * 64)}"
if bigalloc:
    features.append("bigalloc")
    mke2fs += f" -C {cluster}"
    mib = max(mib, 48)
elif r.random() < .3:
    features += ["meta_bg", "^resize_inode"]
else:
    mke2fs += f" -G {r.choice((1, 4, 16))}"
features += [f for f in ("sparse_super2", "inline_data", "ea_inode", "quota",
                         "metadata_csum_seed", "large_dir", "^dir_index")
             if r.random() < .2]
if r.random() < .3:
    extended.append("stride=16,stripe_width=32")
head = [f"size {mib}M", f"mke2fs {mke2fs}"]
if features:
    head.append("mke2fs -O " + ",".join(features))
if extended:
    head.append("mke2fs -E " + ",".join(extended))

kib = max(4096, cluster) // 1024
things = (
    lambda p: [f"many {p} count {r.randint(5, 300)} size 1K-{r.choice((2, 30))}K"
               f" perdir {r.choice((20, 100))}"],
    lambda p: [f"many {p} count {r.randint(50, 600)} size 1K-{r.choice((2, 9))}K"
               f" perdir {r.choice((20, 100))}",
               f"delete {p} " + r.choice(("every 2", "percent 80"))],
    lambda p: [f"many {p} count {r.randint(300, 1200)} name a_name_of_that_kind_",
               f"delete {p} percent {r.choice((50, 95))}"],
    lambda p: [f"interleave {p} count {r.randint(2, 40)}"
               f" rounds {r.randint(2, 20)} blocks {r.choice((1, 2, 9))}"],
    lambda p: [f"mosaic {p} size {r.randint(64, 1024)}K written {kib}K"
               f" unwritten {r.choice((1, 4)) * kib}K"],
    lambda p: [f"scatter {p} frags {r.randint(2, 200)}"
               f" blocks {r.choice((1, 2, 8))} gap {r.choice((1, 2, 5))}"
               + r.choice(("", " hole 3", " shuffle", " alternate"))],
    lambda p: [f"tree {p} dirs {r.randint(2, 20)} files {r.randint(2, 15)}"
               + r.choice(("", " size 1K-20K"))],
)
body = []
for i in range(r.randint(3, 6)):
    body += r.choice(things)(f"/x{i}")
full = r.choice((30, 50, 80, 95, 99, 100))

words = r.choice(("directories", "inodes", "free", "files,trees,directories",
                  "files,trees,directories,free", "trees"))
options = [o for o in ("--max-bytes=256K", "--zeroout=64K", "--mem=20000")
           if r.random() < .3]
with open(out, "w") as f:
    f.write("\n".join(head + body) + "\n")
print(block, full, words, " ".join(options))
END

# fill PERCENT BLOCK: makes $img from the recipe, and makes $img again with
# additional files until PERCENT of the blocks are used.
fill() {
	"$top_builddir/tests/tools/mkaged" "$work/recipe" "$img" >/dev/null ||
		return
	dumpe2fs -h "$img" 2>/dev/null >"$work/super"
	more=$(awk -v full="$1" '/^Block count:/ { all = $3 }
		/^Free blocks:/ { free = $3 }
		END { print int(free - all * (100 - full) / 100) }' \
		"$work/super")
	while [ "$more" -gt 0 ]; do
		{
			cat "$work/recipe"
			echo "file /full size $((more * $2 / 1024))K holes"
		} >"$work/filled"
		! "$top_builddir/tests/tools/mkaged" "$work/filled" "$img" \
			>/dev/null 2>&1 || return 0
		more=$((more - more / 100 - 16))
	done
	"$top_builddir/tests/tools/mkaged" "$work/recipe" "$img" >/dev/null
}

# layout: prints the figures that no repack may worsen.
layout() {
	check "$e4frag" -q --json "$img"
	json "$out" "f'''fragments {d['files']['fragments']}
extents {d['files']['extents']}
trees {d['files']['tree_blocks']}
itables {d['directories']['itable_blocks']}
runs {d['free_space']['extents']}
longest {d['free_space']['largest_blocks'] *
	 d['filesystem']['block_size_bytes']}'''"
}

# of KEY FILE: prints the figure KEY of FILE, an output of layout.
of() {
	sed -n "s/^$1 //p" "$2"
}

# kept: fails unless $img is sound, its content is unchanged, and no figure is
# worse.
kept() {
	clean "$img"
	digest -enz "$img" | sort >"$work/after"
	unchanged "$work/before" "$work/after"
	layout >"$work/then"
	for key in fragments extents trees itables; do
		[ "$(of "$key" "$work/then")" -le "$(of "$key" "$work/now")" ] ||
			fail "$what: $key: $(paste -sd' ' "$work/now"), then" \
				"$(paste -sd' ' "$work/then")"
	done
}

# free_space_kept: true if the largest free extent has at least 90 % of its
# length before.
free_space_kept() {
	[ $((10 * $(of longest "$work/then"))) -ge \
		$((9 * $(of longest "$work/now"))) ]
}

# planned: prints the figures that -n and the run must share.
planned() {
	json "$work/.report" "json.dumps([d['before'], d['planned'],
		d['skipped'], [(k, v) for k, v in d['after'].items()
		if k != 'large_free_blocks']], indent=1)"
}

# Without --full, half of the seeds are used.
: "${SEEDS:=7 12 18 19 25 28 153$(! in_full || echo ' 2 11 15 23 31 38 4050')}"
for seed in $SEEDS; do
	/usr/bin/python3 "$work/draw.py" "$seed" "$work/recipe" >"$work/drawn"
	read -r block full words options <"$work/drawn"
	what="seed $seed"
	fill "$full" "$block" 2>"$work/why" || {
		echo "$what: not made: $(cat "$work/why")"
		continue
	}
	cp --sparse=always "$img" "$work/img0"
	digest -enz "$img" | sort >"$work/before"
	layout >"$work/now"

	what="seed $seed, --all"
	repack --all "$img"
	kept
	free_space_kept || fail "$what: free space: $(paste -sd' ' "$work/now")," \
		"then $(paste -sd' ' "$work/then")"
	repack --all "$img"
	same "$what: transactions of a second run" \
		"$(report done.transactions)" 0
	case $seed in
	19 | 25 | 28)	# for these seeds, at least half of the extents must be saved
		[ $((2 * $(of extents "$work/then"))) -lt \
			"$(of extents "$work/now")" ] ||
			fail "$what: extents: $(paste -sd' ' "$work/now")," \
				"then $(paste -sd' ' "$work/then")"
		;;
	esac
	echo "$what: $(paste -sd' ' "$work/now"), then" \
		"$(paste -sd' ' "$work/then")"

	cp --sparse=always "$work/img0" "$img"
	what="seed $seed, --only=$words $options"
	# shellcheck disable=SC2086
	repack -n --only="$words" $options "$img"
	planned >"$work/forecast"
	# shellcheck disable=SC2086
	repack --only="$words" $options "$img"
	planned >"$work/done"
	diff "$work/forecast" "$work/done" || fail "$what: not as planned"
	kept
	free_space_kept || fail "$what: free space: $(paste -sd' ' "$work/now")," \
		"then $(paste -sd' ' "$work/then")"
	for pair in extents:extents fragments:fragments tree_blocks:trees \
		free_extents:runs; do
		same "$what: ${pair%:*}" "$(report "after.${pair%:*}")" \
			"$(of "${pair#*:}" "$work/then")"
	done
done
