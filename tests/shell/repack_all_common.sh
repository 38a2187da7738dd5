# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2154
# Common part of the tests of whole repacks; sourced after repack_common.sh.

# by_name IMAGE: prints all properties that a repack must not change,
# independent of inode numbers.
by_name() {
	digest -nz "$1" | sort
}

# is_measured KEY: fails unless the layout KEY of the last report equals
# e4frag's.
is_measured() {
	check "$e4frag" -q --json "$img"
	/usr/bin/python3 - "$work/.report" "$1" "$out" <<-'PYTHON' ||
	import json, sys
	got = json.load(open(sys.argv[1]))[sys.argv[2]]
	d = json.load(open(sys.argv[3]))
	want = {
	    'files': d['files']['count'],
	    'fragmented_files': d['files']['fragmented'],
	    'extents': d['files']['extents'],
	    'fragments': d['files']['fragments'],
	    'tree_blocks': d['files']['tree_blocks'],
	    'itable_blocks': d['directories']['itable_blocks'],
	    'itable_blocks_ideal': d['directories']['itable_blocks_ideal'],
	    'free_blocks': d['free_space']['blocks'],
	    'free_extents': d['free_space']['extents'],
	    'largest_free_blocks': d['free_space']['largest_blocks'],
	}
	wrong = {k: (got[k], want[k]) for k in want if got[k] != want[k]}
	if wrong:
	    sys.exit(f"{sys.argv[2]}: reported and measured: {wrong}")
	PYTHON
		fail "$what: the report differs from e4frag's"
}

# agrees OPTION...: repacks $img, and fails unless a dry run has planned exactly
# this work and both reports agree with e4frag.
agrees() {
	before=$(written "$img")
	repack -n "$@" "$img"
	same "$what: written by -n" "$(written "$img")" "$before"
	is_measured before
	cp "$work/.report" "$work/dry"
	repack "$@" "$img"
	is_measured after
	/usr/bin/python3 - "$work/dry" "$work/.report" <<-'PYTHON' ||
	import json, sys
	dry, run = (json.load(open(name)) for name in sys.argv[1:])
	bad = [key for key in ('before', 'planned', 'skipped', 'skipped_inodes',
	                       'what') if dry[key] != run[key]]
	inexact = ('large_free_blocks',)
	bad += [f'after.{key}: {dry["after"][key]}, {run["after"][key]}'
	        for key in run['after']
	        if key not in inexact and dry['after'][key] != run['after'][key]]
	bad += [f'{key}: {run["planned"][key]}, {run["done"][key]}'
	        for key in run['done']
	        if key != 'bytes_discarded' and
	        run['planned'][key] != run['done'][key]]
	if bad:
	    sys.exit('\n'.join(bad))
	PYTHON
		fail "$what: -n and the run differ"
}

# kept: fails unless $img is sound and its content is unchanged.
kept() {
	clean "$img"
	by_name "$img" >"$work/after"
	unchanged "$work/before" "$work/after"
}

# no_worse: fails if a figure of the last report is worse than before.
no_worse() {
	/usr/bin/python3 - "$work/.report" "$what" <<-'PYTHON' ||
	import json, sys
	d = json.load(open(sys.argv[1]))
	was, now = d['before'], d['after']
	# a new index needs one more block, its root
	was['directory_blocks'] += d['indexes_planned']
	bad = [key for key in ('fragmented_files', 'extents', 'fragments',
	                       'excess_fragments', 'tree_blocks',
	                       'directory_blocks', 'itable_blocks')
	       if now[key] > was[key]]
	if 10 * now['largest_free_blocks'] < 9 * was['largest_free_blocks']:
	    bad.append('largest_free_blocks')
	if bad:
	    sys.exit('\n'.join(f'{key}: {was[key]}, then {now[key]}'
	                       for key in bad))
	figures = ', '.join(f'{key} {was[key]} > {now[key]}' for key in
	                    ('excess_fragments', 'tree_blocks', 'itable_blocks',
	                     'free_extents', 'largest_free_blocks'))
	print(f'{sys.argv[2]}: {figures}')
	PYTHON
		fail "$what: worse"
}

# all_saved: fails unless all remaining work was reported as skipped.
all_saved() {
	left=$(report skipped_saved)
	[ "$(report after.excess_fragments)" -le "$left" ] ||
		fail "$what: excess, and $left extents were skipped"
}

# until_done OPTION...: repacks $img until nothing is left to do.
until_done() {
	runs=0
	while :; do
		repack "$@" "$img"
		[ "$(report done.transactions)" != 0 ] || break
		runs=$((runs + 1))
		[ "$runs" -le 8 ] || fail "$what: no end after $runs runs"
	done
}
