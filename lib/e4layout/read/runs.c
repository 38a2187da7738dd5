/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/format/format.h"
#include "runs.h"

bool e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run)
{
	if (*i >= n) {
		run->len = 0;
		return false;
	}
	*run = (struct e4l_state_run) {
		.lblk = ex[*i].lblk, .pblk = ex[*i].pblk, .len = ex[*i].len,
		.unwritten = ex[*i].unwritten,
	};
	while (++*i < n && ex[*i].unwritten == run->unwritten &&
	       ex[*i].lblk == run->lblk + run->len &&
	       ex[*i].pblk == run->pblk + run->len)
		run->len += ex[*i].len;
	return true;
}

static uint32_t max_blocks(bool unwritten)
{
	return unwritten ? E4L_UNWRITTEN_MAX_BLOCKS : E4L_WRITTEN_MAX_BLOCKS;
}

size_t e4l_cut_run(const struct e4l_state_run *run, struct e4l_extent *out)
{
	uint32_t max = max_blocks(run->unwritten), len;
	uint64_t at;
	size_t n = 0;

	for (at = 0; at < run->len; at += len, n++) {
		len = run->len - at < max ? run->len - at : max;
		if (out)
			out[n] = (struct e4l_extent) {
				.lblk = run->lblk + at, .pblk = run->pblk + at,
				.len = len, .unwritten = run->unwritten,
			};
	}
	return n;
}

size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out)
{
	struct e4l_state_run run;
	size_t i = 0, count = 0;

	while (e4l_next_state_run(ex, n, &i, &run))
		count += e4l_cut_run(&run, out ? out + count : NULL);
	return count;
}

bool e4l_well_formed(const struct e4l_extent *ex, size_t n)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (ex[i].lblk < end || !ex[i].len ||
		    ex[i].len > max_blocks(ex[i].unwritten))
			return false;
		end = ex[i].lblk + (uint64_t)ex[i].len;
	}
	return end <= FILE_MAX_BLOCKS;
}

uint64_t e4l_count_fragments(const struct e4l_extent *ex, size_t n,
			     uint64_t *largest)
{
	uint64_t fragments = 0, len = 0, most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!i || ex[i].lblk != ex[i - 1].lblk + ex[i - 1].len ||
		    ex[i].pblk != ex[i - 1].pblk + ex[i - 1].len) {
			fragments++;
			len = 0;
		}
		len += ex[i].len;
		if (most < len)
			most = len;
	}
	if (largest)
		*largest = most;
	return fragments;
}

uint64_t e4l_count_excess(const struct e4l_extent *ex, size_t n)
{
	uint64_t excess = 0;
	size_t i;

	for (i = 1; i < n; i++)
		excess += ex[i - 1].lblk + (uint64_t)ex[i - 1].len ==
				ex[i].lblk &&
			  ex[i - 1].pblk + ex[i - 1].len != ex[i].pblk;
	return excess;
}
