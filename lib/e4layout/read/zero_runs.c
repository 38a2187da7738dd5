/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "runs.h"
#include "zero_runs.h"

errcode_t e4l_find_zero_runs(const struct e4l_extent *ex, size_t n_ex,
			     uint32_t max_blocks, uint64_t eof_blk,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n)
{
	struct e4l_state_run prev, run = { 0 }, next;
	unsigned int gain;
	size_t i = 0;
	errcode_t err;

	for (e4l_next_state_run(ex, n_ex, &i, &next); next.len; ) {
		prev = run;
		run = next;
		e4l_next_state_run(ex, n_ex, &i, &next);
		gain = e4l_runs_touch(&prev, &run) +
		       e4l_runs_touch(&run, &next);
		if (!run.unwritten || run.len > max_blocks ||
		    !gain || run.lblk + run.len > eof_blk)
			continue;
		err = e4l_grow(runs, *n, sizeof(**runs));
		if (err)
			return err;
		(*runs)[(*n)++] = (struct e4l_zero_run) {
			.file = file, .lblk = run.lblk,
			.len = run.len, .gain = gain,
			.before = e4l_runs_touch(&prev, &run),
			.behind = e4l_runs_touch(&run, &next),
		};
	}
	return 0;
}

const struct e4l_zero_run *e4l_zero_of_file(const struct e4l_zero_run *runs,
					    size_t n, size_t file,
					    size_t *n_file)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (runs[mid].file < file)
			low = mid + 1;
		else
			high = mid;
	}
	for (high = low; high < n && runs[high].file == file; high++)
		;
	*n_file = high - low;
	return runs + low;
}

static errcode_t write_run(struct e4l_extent *ex, size_t n,
			   const struct e4l_state_run *run,
			   struct e4l_block_run **zero, size_t *n_zero)
{
	errcode_t err = e4l_grow(zero, *n_zero, sizeof(**zero));

	if (err)
		return err;
	(*zero)[(*n_zero)++] = (struct e4l_block_run) { run->pblk, run->len };
	for (; n; n--, ex++)
		ex->unwritten = 0;
	return 0;
}

errcode_t e4l_zero_apply(struct e4l_extent *ex, size_t n_ex,
			 const struct e4l_zero_run *runs, size_t n,
			 struct e4l_block_run **zero, size_t *n_zero)
{
	const struct e4l_zero_run *end = runs + n;
	struct e4l_state_run prev, run = { 0 }, next;
	size_t i = 0, first, last = 0;
	errcode_t err = 0;

	e4l_next_state_run(ex, n_ex, &i, &next);
	while (next.len && !err) {
		prev = run;
		run = next;
		first = last;
		last = i;
		e4l_next_state_run(ex, n_ex, &i, &next);
		while (runs < end && (!runs->chosen || runs->lblk < run.lblk))
			runs++;
		if (runs == end)
			break;
		if (runs->lblk == run.lblk && runs->len == run.len &&
		    run.unwritten && (e4l_runs_touch(&prev, &run) ||
				      e4l_runs_touch(&run, &next)))
			err = write_run(ex + first, last - first, &run, zero,
					n_zero);
	}
	return err;
}
