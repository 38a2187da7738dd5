/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for the size of a new image by making prototypes in memory. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_image.h"
#include "support/say.h"
#include "support/units.h"

/* The tried sizes are multiples of BLOCKSIZE, the block size without -b. */
#define BLOCKSIZE	4096u
#define ROUNDS		64	/* maximum number of sizes to try */
/*
 * After REFUSALS failures of mke2fs, the search ends, because the failures have
 * another reason than the size.
 */
#define REFUSALS	16
/*
 * Number of sizes that look_from_size() tries, each twice as large as the size
 * before.
 */
#define DOUBLINGS	13
/* In smaller filesystems, mke2fs makes a journal only on request. */
#define JOURNAL_BLOCKS	2048u	/* as in ext2fs_default_journal_size() */

/* --------------------------------------------------------------- prototypes */

static bool new_memory(struct image *im, uint64_t bytes)
{
	drop_image(im);
	im->proto_fd = memfd_create("mke4fs", 0);
	if (im->proto_fd < 0 || ftruncate(im->proto_fd, bytes)) {
		say_error(im->name, "cannot create the image in memory", errno);
		return false;
	}
	snprintf(im->path, sizeof(im->path), "/proc/%d/fd/%d", (int)getpid(),
		 im->proto_fd);
	return true;
}

/*
 * If a journal was requested and the prototype has no journal, returns false:
 * mke2fs omits a journal that does not fit.
 */
static bool has_journal_asked_for(const struct config *c,
				  const struct image *im)
{
	return !(c->has_journal_option || c->has_journal_feature) ||
	       ext2fs_has_feature_journal(im->fs->super) ||
	       ext2fs_has_feature_journal_dev(im->fs->super);
}

/*
 * Makes a prototype of @bytes in a file of @file_bytes, and plans it; *@err is
 * the result of planning.  If @bytes is 0, the prototype has the size in @c.
 * Returns false after printing an error.  If @silent is true, and mke2fs fails,
 * sets *@err and prints no error.
 */
static bool try_size(const struct config *c, struct e4l_tree *t,
		     uint64_t file_bytes, uint64_t bytes, uint64_t inodes,
		     bool silent, struct image *im, errcode_t *err)
{
	bool failed;

	if (!new_memory(im, file_bytes))
		return false;
	if (!run_mke2fs(c, im->path, bytes, inodes, silent, &failed)) {
		/* mke2fs may have failed because the size is too small */
		*err = E4L_ET_NO_SPACE;
		im->stats = (struct e4l_populate_stats) { 0 };
		return silent && failed;
	}
	if (!open_image(c, im, im->path))
		return false;
	if (has_journal_asked_for(c, im)) {
		*err = plan_image(c, t, im);
		return true;
	}
	if (!silent)
		say("%s: too small for the requested journal", im->name);
	drop_image(im);
	*err = E4L_ET_NO_SPACE;
	return silent;
}

/*
 * Sets *@g to the properties of the filesystem in @im.  Returns false after
 * printing an error.
 */
static bool note_growth(const struct config *c, const struct image *im,
			struct growth *g)
{
	struct ext2_super_block *super = im->fs->super;
	struct ext2_inode journal = { 0 };
	errcode_t err = super->s_journal_inum ?
			ext2fs_read_inode(im->fs, super->s_journal_inum,
					  &journal) : 0;

	if (err) {
		say_error(c->device, "reading the journal's inode", err);
		return false;
	}
	*g = (struct growth) {
		.blocks = ext2fs_blocks_count(super),
		.block_bytes = im->fs->blocksize,
		.group_bytes = (uint64_t)super->s_blocks_per_group *
			       im->fs->blocksize,
		.inode_bytes = ext2fs_blocks_count(super) * im->fs->blocksize /
			       super->s_inodes_count,
		.group_inodes = super->s_inodes_per_group,
		.journal_mib = EXT2_I_SIZE(&journal) >> 20,
		.resize_inode = ext2fs_has_feature_resize_inode(super),
	};
	return true;
}

/*
 * Determines the properties of a filesystem that mke2fs makes with @bytes (0:
 * the size in @c) in a file of @file_bytes.  Returns false after printing an
 * error.  If mke2fs fails, sets *@failed to true, and prints the error only if
 * @silent is false.
 */
static bool look_at_size(const struct config *c, uint64_t file_bytes,
			 uint64_t bytes, bool silent, bool *failed,
			 struct growth *g)
{
	struct image im = { .name = c->device, .proto_fd = -1 };
	bool done;

	*failed = false;
	done = new_memory(&im, file_bytes) &&
	       run_mke2fs(c, im.path, bytes, 0, silent, failed) &&
	       open_image(c, &im, im.path) && note_growth(c, &im, g);
	drop_image(&im);
	return done;
}

/*
 * Calls look_at_size() for @bytes.  Doubles the size until the filesystem has
 * enough space for the journal and the inodes.  Returns false after printing an
 * error.
 */
static bool look_from_size(const struct config *c, uint64_t bytes,
			   struct growth *g)
{
	uint64_t skip = c->offset_bytes;
	bool failed = true;
	int i;

	for (i = 0; failed && i < DOUBLINGS; i++)
		if (look_at_size(c, skip + (bytes << i), bytes << i, true,
				 &failed, g))
			return true;
	if (!failed)
		return false;
	return look_at_size(c, skip + bytes, bytes, false, &failed, g);
}

/*
 * Prints that --grow-to is not larger than the initial size, and returns false.
 * mke2fs would print all of its options instead.
 */
static bool say_no_growth(const struct config *c, uint64_t bytes)
{
	char now[UNITS_LEN], then[UNITS_LEN];

	say("%s: --grow-to: %s is not larger than the initial size, %s",
	    c->device, units_size(c->grow_bytes, then), units_size(bytes, now));
	return false;
}

/*
 * Returns the number of inodes of a filesystem of @bytes that has as many
 * inodes in each group as the filesystem of --grow-to.
 */
static uint64_t growth_inodes(const struct growth *g, uint64_t bytes)
{
	return (bytes + g->group_bytes - 1) / g->group_bytes * g->group_inodes;
}

bool find_growth(struct config *c, uint64_t device_bytes)
{
	struct growth now, then;
	uint64_t bytes;
	bool failed;

	if (!c->grow_bytes)
		return true;
	if (!look_at_size(c, c->offset_bytes + c->grow_bytes, c->grow_bytes,
			  false, &failed, &then))
		return false;
	c->growth = then;
	if (!c->size && !device_bytes)
		return true;
	c->growth.resize_inode = false;
	if (!look_at_size(c, device_bytes, 0, false, &failed, &now))
		return false;
	c->growth = then;
	bytes = now.blocks * now.block_bytes;
	c->growth.inodes = growth_inodes(&then, bytes);
	return bytes < c->grow_bytes || say_no_growth(c, bytes);
}

/*
 * Returns the number of blocks that are reserved for root and for the kernel.
 */
static uint64_t kept_blocks(const struct image *im)
{
	uint64_t clusters = ext2fs_blocks_count(im->fs->super) /
			    EXT2FS_CLUSTER_RATIO(im->fs) / 50;

	if (clusters > 4096)
		clusters = 4096;
	if (!ext2fs_has_feature_extents(im->fs->super))
		clusters = 0;
	return ext2fs_r_blocks_count(im->fs->super) +
	       clusters * EXT2FS_CLUSTER_RATIO(im->fs);
}

static uint64_t missing_inodes(const struct image *im)
{
	return im->stats.wanted_inodes - im->stats.free_inodes;
}

/*
 * Estimates the number of bytes by which the prototype is too large.  A
 * negative result means that the prototype is too small.
 */
static int64_t slack(const struct config *c, const struct image *im,
		     uint64_t size, errcode_t err)
{
	const struct e4l_populate_stats *s = &im->stats;

	if (!im->fs)
		return -(int64_t)size;
	if (err == E4L_ET_NO_INODES)
		return -(int64_t)(missing_inodes(im) *
				  (size / im->fs->super->s_inodes_count));
	return ((int64_t)s->free_blocks - (int64_t)s->wanted_blocks -
		(int64_t)(c->free_bytes ? kept_blocks(im) : 0)) *
	       im->fs->blocksize - (int64_t)c->free_bytes;
}

static uint64_t in_blocks(uint64_t bytes)
{
	return (bytes + BLOCKSIZE - 1) / BLOCKSIZE * BLOCKSIZE;
}

static uint64_t between(uint64_t small, uint64_t large)
{
	return (small + large) / 2 / BLOCKSIZE * BLOCKSIZE;
}

/*
 * Returns whether the bounds are so close that no size between them is tried.
 */
static bool is_close(uint64_t small, uint64_t large)
{
	return large - small <= BLOCKSIZE || large - small <= large / 512;
}

/*
 * Returns the next size to try, in bytes.  Size @small is too small.  Size
 * @large is large enough; 0: no such size is known.  Size @now is too large by
 * about @off bytes; a negative @off means that @now is too small.
 */
static uint64_t next_size(uint64_t small, uint64_t large, uint64_t now,
			  int64_t off)
{
	uint64_t next = off > 0 ? now - off : now - off + (-off) / 64 +
						       BLOCKSIZE;

	next = in_blocks(next);
	if (next <= small || (large && next >= large))
		next = large ? between(small, large) :
			       small + (small >> 4) + (1 << 20);
	return next;
}

/*
 * Returns the number of inodes for an image of @bytes that contains @filled
 * copied files, or 0 if mke2fs chooses the number.
 */
static uint64_t count_inodes(const struct config *c, const struct growth *g,
			     uint64_t filled, uint64_t bytes)
{
	uint64_t n = filled, least;

	if (c->has_inodes || (c->has_ratio && !c->growth.blocks))
		return 0;
	if (g->inode_bytes)
		n += c->free_bytes / g->inode_bytes;
	least = c->growth.blocks ? growth_inodes(g, bytes) : 0;
	return n < least ? least : n;
}

static bool has_room_to_grow(const struct config *c, uint64_t bytes)
{
	return !c->grow_bytes || bytes < c->grow_bytes ||
	       say_no_growth(c, bytes);
}

/* State of the search for the smallest image. Sizes are in bytes. */
struct search {
	const struct config *c;
	struct growth growth;
	uint64_t filled;	/* number of inodes for the copied files */
	/*
	 * a size that is too small, and a size that is large enough; 0: not
	 * known
	 */
	uint64_t small, large;
	uint64_t none;	/* the last size that mke2fs refused; 0: no size */
	int refused;		/* number of sizes that mke2fs refused */
	uint64_t next, tried;
	errcode_t err;		/* result of planning an image of size @tried */
	/*
	 * the search has considered the largest size for which mke2fs makes no
	 * journal
	 */
	bool looked_below;
};

static uint64_t inodes_for(const struct search *s, uint64_t bytes)
{
	return count_inodes(s->c, &s->growth, s->filled, bytes);
}

/*
 * If mke2fs refused the lower bound, raises the bound to about the smallest
 * size that mke2fs accepts.  This saves time, because running mke2fs takes much
 * less time than planning.  Returns false after printing an error.
 */
static bool narrow(struct search *s)
{
	struct image im = { .proto_fd = -1 };
	bool taken, refused;
	uint64_t mid;

	s->next = s->large;
	while (!is_close(s->small, s->next)) {
		mid = between(s->small, s->next);
		if (!new_memory(&im, mid))
			return false;
		taken = run_mke2fs(s->c, im.path, mid, inodes_for(s, mid), true,
				   &refused);
		drop_image(&im);
		if (!taken && !refused)
			return false;
		*(taken ? &s->next : &s->small) = mid;
	}
	return true;
}

/*
 * Narrows the bounds of the search by the result for s->tried, and chooses the
 * next size to try.  Sets *@over to true if the search has ended.  Returns
 * false after printing an error.
 */
static bool judge(struct search *s, const struct image *im, bool *over)
{
	int64_t off = slack(s->c, im, s->tried, s->err);
	bool fits = !s->err && off >= 0;

	/*
	 * The lower bound was found for prototypes with a journal.  A smaller
	 * prototype without a journal can fit.
	 */
	if (fits && s->small > s->tried)
		s->small = 0;
	if (fits || s->small < s->tried)
		*(fits ? &s->large : &s->small) = s->tried;
	*over = (fits && (uint64_t)off < s->tried / 256) ||
		(s->large && is_close(s->small, s->large));
	if (*over)
		return true;
	s->next = next_size(s->small, s->large, s->tried, off);
	if (!fits || !s->none || s->small != s->none)
		return true;
	if (!narrow(s))
		return false;
	*over = s->next == s->large;
	return true;
}

static bool try_bytes(struct search *s, struct e4l_tree *t, struct image *im,
		      uint64_t bytes, bool silent)
{
	return try_size(s->c, t, bytes, bytes, inodes_for(s, bytes), silent, im,
			&s->err);
}

/* Returns whether a larger size can succeed. */
static bool is_too_small(const struct search *s)
{
	return s->err == E4L_ET_NO_SPACE ||
	       (s->err == E4L_ET_NO_INODES && !s->c->has_inodes);
}

/*
 * If the prototype has too few inodes, requests more inodes and returns true.
 * mke2fs can make fewer inodes than requested, because it rounds the inodes of
 * a group down to a multiple of 8.
 */
static bool ask_for_more(struct search *s, const struct image *im)
{
	uint64_t more = 0;

	if (!inodes_for(s, s->tried))
		return false;
	if (im->stats.roomy_inodes > s->filled)
		more = im->stats.roomy_inodes - s->filled;
	else if (s->err == E4L_ET_NO_INODES)
		more = missing_inodes(im) + 8ULL * im->fs->group_desc_count;
	if (!more)
		return false;
	s->filled += more;
	s->next += more * EXT2_INODE_SIZE(im->fs->super);
	s->large = 0;	/* with more inodes, the old @large may be too small */
	return true;
}

/*
 * Returns the largest size, in bytes, for which mke2fs makes no journal by
 * default.  Returns 0 if the journal does not depend on the size, if s->tried
 * is not larger, or if the size is too small for the files.
 */
static uint64_t without_journal(const struct search *s, const struct image *im)
{
	uint64_t bytes = (JOURNAL_BLOCKS - 1) * im->fs->blocksize / BLOCKSIZE *
			 BLOCKSIZE;

	if (s->c->has_journal_option || s->c->has_journal_feature ||
	    s->growth.journal_mib || s->tried <= bytes ||
	    !ext2fs_has_feature_journal(im->fs->super))
		return 0;
	return im->stats.wanted_blocks < JOURNAL_BLOCKS &&
	       s->c->free_bytes < bytes ? bytes : 0;
}

/*
 * Makes and plans a prototype of the next size, and sets *@over to true if the
 * search has ended.  Returns false after printing an error.
 */
static bool try_next(struct search *s, struct e4l_tree *t, struct image *im,
		     bool *over)
{
	uint64_t below;

	s->tried = s->next = in_blocks(s->next);
	if (!try_bytes(s, t, im, s->tried, true))
		return false;
	if (im->fs && ask_for_more(s, im))
		return true;
	*over = s->err && !is_too_small(s);
	if (!im->fs) {
		s->none = s->tried;
		*over |= ++s->refused == REFUSALS;
	}
	if (*over)
		return true;
	if (!judge(s, im, over))
		return false;
	below = im->fs && !s->looked_below ? without_journal(s, im) : 0;
	s->looked_below |= im->fs != NULL;
	if (below) {
		s->next = below;
		*over = false;
	}
	return true;
}

static bool find_smallest(const struct config *c, struct e4l_tree *t,
			  struct image *im)
{
	struct search s = {
		.c = c, .growth = c->growth,
		.filled = e4l_tree_entries(t) * 33ULL / 32 + 64,
	};
	bool over = false;
	int round;

	s.next = (8 << 20) + s.filled * 300;
	if (c->free_bytes && !s.growth.blocks &&
	    !look_from_size(c, s.next + c->free_bytes, &s.growth))
		return false;
	for (round = 0; round < ROUNDS && !over; round++)
		if (!try_next(&s, t, im, &over))
			return false;
	if (s.large && (!s.err || is_too_small(&s)) &&
	    (s.tried == s.large || try_bytes(&s, t, im, s.large, false)) &&
	    !s.err)
		return has_room_to_grow(c, s.large);
	if (im->fs)
		say_plan(c, t, im, s.err);
	else	/* run mke2fs again to print its error */
		try_bytes(&s, t, im, s.tried, false);
	return false;
}

bool make_prototype(const struct config *c, struct e4l_tree *t,
		    uint64_t device_bytes, struct image *im)
{
	errcode_t err;

	*im = (struct image) { .name = c->device, .proto_fd = -1 };
	if (!c->size && !device_bytes)
		return find_smallest(c, t, im);
	if (!try_size(c, t, device_bytes, 0, 0, false, im, &err))
		return false;
	if (err)
		say_plan(c, t, im, err);
	return !err;
}
