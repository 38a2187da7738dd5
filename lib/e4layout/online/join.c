/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * join: joins extents with EXT4_IOC_JOIN_EXTENTS, an ioctl of the patches in
 * kernel/.  The kernel blocks all writers, finds short unwritten runs, zeroes
 * the runs on the device, and marks the runs as written.  If the file changes
 * after e4l_file_map(), the ioctl is still safe, because the kernel uses its
 * own map.
 */
#include "config.h"
#include <errno.h>
#include <sys/ioctl.h>
#include "e4layout/base/internal.h"
#include "failure.h"
#include "way.h"

struct join_extents {
	uint64_t start, len, longest, done, zeroed;
	uint32_t flags, reserved;
};
#define EXT4_IOC_JOIN_EXTENTS _IOWR('f', 47, struct join_extents)

/* maximum number of bytes that one call of the ioctl may zero */
#define PIECE_BYTES	(4u << 20)

bool e4l_way_joins(int root_fd)
{
	struct join_extents none = { 0 };

	/*
	 * a kernel that has the ioctl returns EBADF, because the directory is
	 * not open for writing
	 */
	return ioctl(root_fd, EXT4_IOC_JOIN_EXTENTS, &none) && errno == EBADF;
}

static const struct e4l_reason reasons[] = {
	{ EOPNOTSUPP, E4L_SKIP_UNSUPPORTED },
	{ ETXTBSY, E4L_SKIP_EXECUTED },
	{ EPERM, E4L_SKIP_PERMISSION },
	{ 0, E4L_SKIP_REFUSED },
};

/*
 * Joins extents in the blocks [@lblk, @end) of the file.  If a signal or the
 * freezer interrupts the ioctl, repeats the ioctl, unless the run was stopped.
 */
static enum e4l_skip join_range(struct e4l_ways *w, struct e4l_open_file *f,
			      uint64_t lblk, uint64_t end)
{
	uint64_t bs = f->blocksize;
	struct join_extents join = {
		.start = lblk * bs, .len = (end - lblk) * bs,
		.longest = w->limits->zero_extent_blocks * bs,
	};
	int error;

	do {
		error = ioctl(f->fd, EXT4_IOC_JOIN_EXTENTS, &join) ? errno : 0;
		if (join.done > join.len)
			join.done = join.len;
		join.start += join.done;
		join.len -= join.done;
		w->result->done.zeroed_blocks += join.zeroed / bs;
		e4l_ways_stop(w, join.zeroed / bs);
	} while (error == EINTR && join.len && !e4l_ways_ended(w));
	return error && error != EINTR ? e4l_reason_skip(error, reasons) :
					 E4L_SKIP_NONE;
}

/*
 * Joins runs[i] and as many following runs as fit into PIECE_BYTES.  Sets *@k
 * to the index after these runs.  Returns E4L_SKIP_NONE, or the reason why the
 * runs were not joined.
 */
static enum e4l_skip join_piece(struct e4l_ways *w, struct e4l_open_file *f,
			      const struct e4l_zero_run *runs, size_t n,
			      size_t i, size_t *k)
{
	uint64_t piece = PIECE_BYTES / f->blocksize, blocks = runs[i].len;
	uint64_t budget = w->limits->zero_blocks;

	for (*k = i + 1; *k < n && blocks + runs[*k].len <= piece; ++*k)
		blocks += runs[*k].len;
	if (budget != E4L_NO_LIMIT && (w->result->done.zeroed_blocks > budget ||
	    blocks > budget - w->result->done.zeroed_blocks))
		return E4L_SKIP_ZERO_LIMIT;
	return join_range(w, f, runs[i].lblk,
			  (uint64_t)runs[*k - 1].lblk + runs[*k - 1].len);
}

enum e4l_skip e4l_way_join(struct e4l_ways *w, struct e4l_open_file *f,
			 const struct e4l_zero_run *runs, size_t n,
			 uint64_t *left)
{
	enum e4l_skip why = E4L_SKIP_NONE;
	size_t i, k;

	if (n && !w->journal)
		why = E4L_SKIP_NO_JOURNAL;
	for (i = 0; i < n && !why && !e4l_ways_ended(w); ) {
		why = join_piece(w, f, runs, n, i, &k);
		if (!why)
			i = k;
	}
	for (*left = 0; i < n; i++)
		*left += runs[i].gain;
	return why;
}
