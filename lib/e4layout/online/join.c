/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * join: unwritten runs become written.
 *
 * While nobody else has the file open, the kernel grants a write lease.  Under
 * it, what is dirty is written out and the file is asked for its extents again:
 * what is unwritten then reads as zeroes.  Nothing is written over it: the
 * pages are only made dirty, as a store to a mapping would (MADV_POPULATE_WRITE),
 * and the kernel writes them out as they are.  Whoever opens the file breaks the
 * lease, and waits until it is given up, which is between two runs.  Should this
 * process be stopped for longer than the kernel lets them wait (45 s), what they
 * have written meanwhile is what is made dirty then: no zeroes of ours go over
 * it, as they could if they were written.  Only a direct write of theirs that is
 * in flight to that very page at that moment would meet a dirty page.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "resident.h"
#include "way.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define WINDOW_BYTES	(16u << 20)	/* dirty at once, mapped at once */

struct join {
	struct e4l_ways *w;
	struct e4l_file *f;
	const struct e4l_zero_run *runs;
	size_t n, i;
	char *map;
	struct e4l_resident resident;
};

static const char in_use[] = "in use: joined when nobody has it open";

static const char *lease_refused(int error)
{
	return error == EAGAIN || error == EBUSY ? in_use :
	       error == EACCES || error == EPERM ?
	       "only its owner may lease it" : "the kernel leases no such file";
}

static bool leased(const struct e4l_file *f)
{
	return fcntl(f->fd, F_GETLEASE) == F_WRLCK;
}

/* Its contents are what they were; while nobody else could have written. */
static void keep_time(const struct e4l_file *f)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT }, f->st.st_mtim,
	};

	if (leased(f) && futimens(f->fd, times))
		return;
}

/* The runs of one window that @at, a byte of the file, begins. */
static const char *join_window(struct join *j, off_t at, size_t bytes)
{
	const struct e4l_zero_run *run;
	uint64_t bs = j->f->blocksize, blocks = 0;
	const char *why = NULL;
	off_t from;

	for (; j->i < j->n && !why; j->i++) {
		run = &j->runs[j->i];
		from = run->lblk * bs;
		if (from + run->len * bs > (uint64_t)at + bytes)
			break;
		if (j->w->result->stopped || !leased(j->f))
			why = in_use;
		else if (madvise(j->map + (from - at), run->len * bs,
				 MADV_POPULATE_WRITE))
			why = errno == EINVAL ? "the kernel is older than 5.14" :
						"its pages cannot be written";
		else
			blocks += run->len;
	}
	j->w->result->zeroed_blocks += blocks;
	/* who waits for the file need not wait for the disk */
	if (leased(j->f)) {
		e4l_resident_restore(j->f->fd, &j->resident);
		keep_time(j->f);
	}
	free(j->resident.page);
	e4l_ways_stop(j->w, blocks);
	return why;
}

static const char *next_window(struct join *j)
{
	uint64_t bs = j->f->blocksize, page = sysconf(_SC_PAGESIZE);
	off_t at = j->runs[j->i].lblk * bs / page * page;
	size_t bytes = WINDOW_BYTES, run = j->runs[j->i].len * bs + page;
	const char *why;

	if (bytes < run)
		bytes = run;
	if (at + (off_t)bytes > j->f->st.st_size)
		bytes = j->f->st.st_size - at;
	e4l_resident_note(j->f->fd, at, bytes, &j->resident);
	j->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      j->f->fd, at);
	if (j->map == MAP_FAILED) {
		free(j->resident.page);
		return "cannot be mapped";
	}
	madvise(j->map, bytes, MADV_RANDOM);
	why = join_window(j, at, bytes);
	munmap(j->map, bytes);
	return why;
}

/* How many of @n runs the budget allows. */
static size_t within_budget(const struct e4l_ways *w,
			    const struct e4l_zero_run *runs, size_t n)
{
	uint64_t left = w->opt->zeroout_budget_blocks, i;

	if (left == E4L_NO_LIMIT)
		return n;
	left -= w->result->zeroed_blocks;
	for (i = 0; i < n && runs[i].len <= left; i++)
		left -= runs[i].len;
	return i;
}

static const char *join_leased(struct e4l_ways *w, struct e4l_file *f,
			       const struct e4l_rules *rules)
{
	struct e4l_zero_run *runs = NULL;
	struct e4l_rules now = *rules;
	struct join j = { .w = w, .f = f };
	const char *why = NULL;
	size_t n = 0;

	if (fstat(f->fd, &f->st) || e4l_file_map(f->fd, true, f) ||
	    f->unsettled)
		return "cannot be asked for its extents";
	/* part of a page beyond the end is nobody's */
	now.eof_blk = f->st.st_size / f->blocksize;
	if (e4l_find_zero_runs(&now, f->ex, f->n, 0, &runs, &n)) {
		free(runs);
		return "memory is short";
	}
	j.runs = runs;
	j.n = within_budget(w, runs, n);
	while (j.i < j.n && !why && !w->result->stopped)
		why = next_window(&j);
	if (!why && j.n < n)
		why = "the budget of bytes to zero is used up";
	free(runs);
	return w->result->stopped ? NULL : why;
}

const char *e4l_way_join(struct e4l_ways *w, struct e4l_file *f,
			 const struct e4l_rules *rules)
{
	const char *why;

	/* it is asked for between runs; SIGIO would be the end of the process */
	if (fcntl(f->fd, F_SETSIG, SIGURG) ||
	    fcntl(f->fd, F_SETLEASE, F_WRLCK))
		return lease_refused(errno);
	why = join_leased(w, f, rules);
	fcntl(f->fd, F_SETLEASE, F_UNLCK);
	return why;
}
