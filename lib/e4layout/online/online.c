/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * online: repacks a mounted filesystem.
 *
 *  1. find: the run scans the device.  Other programs can change the filesystem
 *     during the scan, so that apparent damage is skipped.
 *  2. plan (planning.c): a file without a name, the donor, reserves free space.
 *     The planner may use only the blocks of the donor as free space.  All
 *     other blocks that cannot move are walls.
 *  3. carry out (carry.c): batch by batch, the kernel exchanges blocks of files
 *     with blocks of the donor.
 *  4. count: the run scans the device again for the final figures.
 */
#include "config.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <e4layout/model.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "e4layout/open/opened.h"
#include "e4layout/open/refusals.h"
#include "e4layout/base/map.h"
#include "e4layout/read/runs.h"
#include "work.h"

/* ------------------------------------------------------------------ 1. find */

/*
 * If the file cannot be moved while the filesystem is mounted, returns the
 * reason; otherwise, returns E4L_SKIP_NONE.
 */
static enum e4l_skip reason_to_leave(const struct e4l_online *o,
				     const struct e4l_piece *p)
{
	const struct ext2_super_block *sb = o->e->fs->super;

	if (!LINUX_S_ISREG(p->inode->i_mode))
		return E4L_SKIP_OFFLINE_DIRS;
	/*
	 * the run cannot open an encrypted file, because the name on disk is
	 * encrypted; Linux does not move the blocks of encrypted files anyway
	 */
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		return E4L_SKIP_OFFLINE_ENCRYPTED;
	if (!o->ways.journal)
		return E4L_SKIP_NO_JOURNAL;
	/*
	 * Linux up to 6.19 does not log an exchange of blocks in fast commits
	 */
	if (ext2fs_has_feature_fast_commit((struct ext2_super_block *)sb))
		return E4L_SKIP_FAST_COMMIT;
	if (EXT2FS_CLUSTER_RATIO(o->e->fs) > 1)
		return E4L_SKIP_UNSUPPORTED;
	/*
	 * a process of a user other than root can usually not open files of
	 * other users
	 */
	if (o->uid && inode_uid(*p->inode) != o->uid)
		return E4L_SKIP_PERMISSION;
	return E4L_SKIP_NONE;
}

/*
 * Returns whether the file whose first extent is @ex begins like a program.  If
 * the first block is a hole, is unwritten or cannot be read, returns true as a
 * precaution.
 */
static bool is_program(struct e4l_online *o, const struct e4l_extent *ex)
{
	return ex->lblk || ex->unwritten ||
	       io_channel_read_blk64(o->e->fs->io, ex->pblk, 1, o->block) ||
	       e4l_is_program(&o->programs, o->block, o->e->fs->blocksize);
}

bool e4l_online_may_move(ext2_ino_t ino, const struct e4l_extent *ex, size_t n,
			 void *priv)
{
	struct e4l_online *o = priv;

	if (ext2fs_test_inode_bitmap2(o->executable, ino) &&
	    is_program(o, ex))
		return false;
	return e4l_candidates_may_move(&o->candidates, ino, ex, n);
}

errcode_t e4l_online_runs(const struct e4l_online *o, uint64_t size,
			  const struct e4l_extent *ex, size_t n_ex,
			  struct e4l_zero_run **runs, size_t *n, uint64_t *gain)
{
	uint32_t blocksize = o->e->fs->blocksize;
	errcode_t err;
	size_t i;

	*runs = NULL;
	*n = 0;
	*gain = 0;
	err = e4l_find_zero_runs(ex, n_ex, o->run.limits.zero_extent_blocks,
				 e4l_blocks_of(size, blocksize), 0, runs, n);
	for (i = 0; i < *n; i++)
		*gain += (*runs)[i].gain;
	if (err) {
		free(*runs);
		*runs = NULL;
	}
	return err;
}

static uint64_t size_of(const struct e4l_piece *p)
{
	return EXT2_I_SIZE((struct ext2_inode *)p->inode);
}

/*
 * Sets *@gain to the number of extents of the current file that joining would
 * save.  If joining is not allowed, sets *@gain to 0.
 */
static errcode_t weigh_join(const struct e4l_online *o,
			    const struct e4l_candidates *f,
			    const struct e4l_piece *p, unsigned int allowed,
			    uint64_t *gain)
{
	struct e4l_zero_run *runs;
	errcode_t err;
	size_t n;

	*gain = 0;
	if (!(allowed & E4L_MAY_ZERO))
		return 0;
	err = e4l_online_runs(o, size_of(p), f->extents, f->n_extents, &runs,
			      &n, gain);
	free(runs);
	return err;
}

/*
 * Drops extents from block @eof on, because the kernel exchanges no blocks
 * beyond the end of a file.  Returns the number of extents that begin before
 * @eof.  Sets *@cut to the last of these extents, without blocks from @eof on.
 */
static size_t before_end(const struct e4l_extent *ex, size_t n, uint64_t eof,
			 struct e4l_extent *cut)
{
	while (n && ex[n - 1].lblk >= eof)
		n--;
	if (!n)
		return 0;
	*cut = ex[n - 1];
	if (cut->lblk + (uint64_t)cut->len > eof)
		cut->len = (uint32_t)(eof - cut->lblk);
	return n;
}

/*
 * Marks the blocks of a file in o->claimed.  If a block of the file already
 * belongs to another file, returns false and marks no block.
 */
static bool claim(struct e4l_online *o, const struct e4l_extent *ex, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ex[i].pblk + ex[i].len > o->n_claimed ||
		    e4l_map_next(o->claimed, ex[i].pblk,
				 ex[i].pblk + ex[i].len, true) <
		    ex[i].pblk + ex[i].len)
			return false;
	for (i = 0; i < n; i++)
		e4l_map_set(o->claimed, ex[i].pblk, ex[i].pblk + ex[i].len,
			    true);
	return true;
}

static errcode_t add_candidate(struct e4l_online *o, const struct e4l_piece *p,
			       const struct e4l_file_score *s, uint64_t moves,
			       uint64_t joins)
{
	errcode_t err = e4l_grow(&o->v, o->n, sizeof(*o->v));

	if (!err)
		o->v[o->n++] = (struct e4l_candidate) {
			.ino = p->ino, .generation = p->inode->i_generation,
			.moves = (uint32_t)moves, .joins = (uint32_t)joins,
			.extents = (uint32_t)s->extents,
			.fragments = (uint32_t)s->fragments,
			.runs = (uint32_t)s->logical_runs,
			.tree_blocks = (uint32_t)s->tree_blocks,
		};
	return err;
}

static unsigned int plan_flags(const struct e4l_online *o,
			       const struct e4l_piece *p, unsigned int allowed)
{
	bool ask = allowed & E4L_MAY_ASK ||
		   ext2fs_test_inode_bitmap2(o->executable, p->ino);

	return (allowed & E4L_MAY_MOVE ? E4L_PLAN_MOVE : 0) |
	       (allowed & E4L_MAY_AWAY ? E4L_PLAN_AWAY : 0) |
	       (allowed & E4L_MAY_AWAY && ask ? E4L_PLAN_ASK : 0);
}

/* If @allowed permits moves, adds the current file to the plan. */
static errcode_t add_to_plan(struct e4l_online *o,
			     const struct e4l_candidates *f,
			     const struct e4l_piece *p, unsigned int allowed)
{
	ext2_filsys fs = o->e->fs;
	struct e4l_plan_file file = {
		.ino = p->ino, .allowed = plan_flags(o, p, allowed),
		.eof_blk = e4l_blocks_of(size_of(p), fs->blocksize),
		.goal = ext2fs_group_first_block2(fs, (p->ino - 1) /
					fs->super->s_inodes_per_group),
	};
	struct e4l_extent *ex;
	errcode_t err;

	if (!file.allowed)
		return 0;
	ex = e4l_array_alloc(f->n_extents + 1, sizeof(*ex));
	if (!ex)
		return ENOMEM;
	memcpy(ex, f->extents, f->n_extents * sizeof(*ex));
	file.n_extents = before_end(ex, f->n_extents, file.eof_blk,
				    ex + f->n_extents);
	if (file.n_extents)
		ex[file.n_extents - 1] = ex[f->n_extents];
	file.extents = ex;
	err = claim(o, ex, file.n_extents) ?
	      e4l_plan_add_file(o->plan, &file) : 0;
	if (!err && allowed & E4L_MAY_MOVE)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino,
			     E4L_SKIP_BEYOND_END, f->score->fragments -
			     f->score->logical_runs -
			     e4l_count_excess(ex, file.n_extents));
	free(ex);
	return err;
}

/*
 * If the file is not to be moved, returns the reason; otherwise, returns
 * E4L_SKIP_NONE.  Marks files with an execute permission in o->executable.
 */
static enum e4l_skip reason_to_keep(struct e4l_online *o,
				    const struct e4l_candidates *f,
				    const struct e4l_piece *p, uint64_t gain)
{
	enum e4l_skip why = reason_to_leave(o, p);

	if (why || !(p->inode->i_mode & 0111) || !f->n_extents)
		return why;
	ext2fs_mark_inode_bitmap2(o->executable, p->ino);
	return gain && is_program(o, f->extents) ? E4L_SKIP_EXECUTABLE :
						   E4L_SKIP_NONE;
}

static errcode_t offer(const struct e4l_candidates *f,
		       const struct e4l_piece *p, unsigned int allowed,
		       void *priv)
{
	struct e4l_online *o = priv;
	const struct e4l_file_score *s = f->score;
	enum e4l_skip why;
	uint64_t moves, joins;
	errcode_t err = weigh_join(o, f, p, allowed, &joins);

	moves = allowed & E4L_MAY_MOVE ? s->fragments - s->logical_runs : 0;
	if (allowed & E4L_MAY_PACK)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino,
			     E4L_SKIP_OFFLINE_TREES, s->mergeable);
	if (!o->joins) {
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino,
			     E4L_SKIP_OFFLINE_TREES, joins);
		joins = 0;
	}
	why = reason_to_keep(o, f, p, moves + joins);
	if (why)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino, why,
			     moves + joins);
	if (err || why)
		return err;
	o->excess += moves;
	o->excess_blocks += moves ? s->blocks : 0;
	err = add_candidate(o, p, s, moves, joins);
	return err ? err : add_to_plan(o, f, p, allowed);
}

static errcode_t count_free(const struct e4l_block_run *run, void *priv)
{
	const struct e4l_online *o = ((void **)priv)[0];
	struct e4l_layout *l = ((void **)priv)[1];
	uint64_t bs = o->e->fs->blocksize;

	l->free_blocks += run->len;
	l->free_extents++;
	if (run->len > l->largest_free_blocks)
		l->largest_free_blocks = run->len;
	if (run->len * bs >= E4L_LARGE_FREE_BYTES)
		l->large_free_blocks += run->len;
	return 0;
}

/*
 * Counts the free space according to the bitmaps on the device.  The bitmaps
 * may be slightly outdated, because the filesystem is mounted.
 */
static errcode_t look_at_free_space(struct e4l_online *o, struct e4l_layout *l)
{
	void *priv[] = { o, l };

	l->free_blocks = l->free_extents = 0;
	l->largest_free_blocks = l->large_free_blocks = 0;
	return e4l_free_space(o->e, count_free, NULL, priv);
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct e4l_online *o = priv;
	errcode_t err = e4l_candidates_gather(&o->candidates, p);

	if (p->first)
		o->scorer = (struct e4l_scorer) { 0 };
	e4l_score_piece(&o->scorer, p);
	if (err || !p->last)
		return err;
	e4l_score_finish(&o->scorer, p, o->e->fs);
	return e4l_candidates_inode(&o->candidates, p, &o->scorer.score);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	e4l_run_scanned(&((struct e4l_online *)priv)->run, group, groups);
}

/*
 * Fills in result->before: the layout of the scanned files, and the free space.
 */
static errcode_t add_layout(struct e4l_online *o)
{
	o->run.result->before = o->candidates.layout;
	return look_at_free_space(o, &o->run.result->before);
}

static errcode_t find(struct e4l_online *o)
{
	static const struct e4l_scan_ops ops = {
		.piece = scan_piece, .progress = scan_progress,
	};
	errcode_t err;

	o->candidates.offer = offer;
	o->candidates.priv = o;
	err = e4l_scan(o->e, 0, o->run.what.only, &ops, o);
	/*
	 * damage that the scan finds is no error, because other programs change
	 * the filesystem during the scan
	 */
	if (!err)
		err = e4l_candidates_settle_all(&o->candidates);
	e4l_sort(o->v, o->n, sizeof(*o->v), e4l_u32_cmp);
	return err ? err : add_layout(o);
}

/* ----------------------------------------------------------------- 4. count */

static errcode_t recount_piece(const struct e4l_piece *p, void *priv)
{
	struct e4l_online *o = priv;
	struct e4l_layout *after = &o->run.result->after;
	const struct e4l_file_score *is = &o->scorer.score;
	const struct e4l_candidate *was;

	if (p->first)
		o->scorer = (struct e4l_scorer) { 0 };
	e4l_score_piece(&o->scorer, p);
	was = p->last && !p->damaged ?
	      bsearch(&p->ino, o->v, o->n, sizeof(*o->v), e4l_u32_cmp) : NULL;
	if (!was || was->generation != p->inode->i_generation)
		return 0;
	after->extents += is->extents - was->extents;
	after->fragments += is->fragments - was->fragments;
	after->excess_fragments += is->fragments - is->logical_runs -
				   (was->fragments - was->runs);
	after->fragmented_files += is->fragments > is->logical_runs;
	after->fragmented_files -= was->fragments > was->runs;
	after->tree_blocks += is->tree_blocks - was->tree_blocks;
	return 0;
}

/*
 * Counts the extents of the opened files again.  If a file was removed or
 * replaced, or is damaged, uses the counts from before the run.
 */
static errcode_t recount(struct e4l_online *o)
{
	static const struct e4l_scan_ops ops = { .piece = recount_piece };
	struct e4l_repack_result *result = o->run.result;
	ext2fs_inode_bitmap opened = NULL;
	bool any = false;
	errcode_t err;
	size_t i;

	result->after = result->before;
	err = ext2fs_allocate_inode_bitmap(o->e->fs, "opened", &opened);
	for (i = 0; i < o->n && !err; i++)
		if (o->v[i].opened) {
			ext2fs_mark_inode_bitmap2(opened, o->v[i].ino);
			any = true;
		}
	if (!err && any)
		err = e4l_scan(o->e, 0, opened, &ops, o);
	ext2fs_free_inode_bitmap(opened);
	return err ? err : look_at_free_space(o, &result->after);
}

/* ------------------------------------------------------------ the whole run */
/* Returns the ID by which ext4 identifies a mounted filesystem in statfs(2). */
static uint64_t mounted_id(const uint8_t uuid[16])
{
	uint64_t half[2];

	memcpy(half, uuid, sizeof(half));
	return le64toh(half[0]) ^ le64toh(half[1]);
}

/*
 * Whether the filesystem of @e is mounted at the directory @fd, which has the
 * device number @dev.  An image file is mounted through a loop device.
 */
static bool is_mounted_at(const struct e4l *e, int fd, dev_t dev)
{
	struct stat device;
	struct statfs fs;
	uint32_t id[2];

	if (!e4l_stat(e->fs->device_name, &device) && S_ISBLK(device.st_mode))
		return device.st_rdev == dev;
	if (fstatfs(fd, &fs))
		return false;
	memcpy(id, &fs.f_fsid, sizeof(id));
	return ((uint64_t)id[1] << 32 | id[0]) ==
	       mounted_id(e->fs->super->s_uuid);
}

static errcode_t open_root(struct e4l_online *o, const char *mount_point)
{
	struct statvfs vfs;
	struct stat st;

	o->root_fd = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->root_fd < 0 || e4l_fstat(o->root_fd, &st) ||
	    fstatvfs(o->root_fd, &vfs))
		return e4l_fail(o->e, errno, "opening the mount point", 0, 0);
	if (st.st_ino != EXT2_ROOT_INO ||
	    !is_mounted_at(o->e, o->root_fd, st.st_dev))
		return e4l_fail(o->e, E4L_ET_BAD_ARGUMENT,
				"finding the root directory at the mount point",
				0, 0);
	if (vfs.f_flag & ST_RDONLY)
		return e4l_fail(o->e, EROFS, "writing to the mount point", 0,
				0);
	/*
	 * if another program has locked the root directory, another run is
	 * active; this run continues
	 */
	o->other_run = flock(o->root_fd, LOCK_EX | LOCK_NB) &&
		       errno == EWOULDBLOCK;
	return e4l_donor_init(&o->ways.donor, o->root_fd,
			      o->e->fs->blocksize, &o->ways.behind);
}

static bool is_offline_only(const struct e4l_repack_what *what)
{
	return what->flags & (E4L_REPACK_DRY_RUN | E4L_REPACK_DISCARD |
			      E4L_REPACK_INODES | E4L_REPACK_SHRINK) ||
	       what->journal;
}

static errcode_t run(struct e4l_online *o, const char *mount_point)
{
	errcode_t err = open_root(o, mount_point);

	o->joins = !err && e4l_way_joins(o->root_fd);
	if (!err)
		err = e4l_programs_read(&o->programs, E4L_BINFMT_MISC);
	if (!err)
		err = ext2fs_allocate_inode_bitmap(o->e->fs, "executable",
						   &o->executable);
	if (!err)
		err = look_at_free_space(o, &o->run.result->before);
	if (!err)
		err = e4l_online_begin_plan(o);
	if (!err)
		err = find(o);
	if (!err)
		err = e4l_online_plan(o);
	if (!err)
		err = e4l_online_carry_out(o);
	e4l_donor_close(&o->ways.donor);
	return err ? err : recount(o);
}

static void end(struct e4l_online *o)
{
	e4l_names_free(o->names);
	e4l_candidates_end(&o->candidates);
	e4l_programs_free(&o->programs);
	e4l_plan_free(o->plan);
	ext2fs_free_inode_bitmap(o->executable);
	free(o->claimed);
	free(o->block);
	free(o->v);
	e4l_close_fd(o->root_fd);
}

errcode_t e4l_online(struct e4l *e, const char *mount_point,
		     const struct e4l_repack_what *what,
		     const struct e4l_repack_limits *limits,
		     const struct e4l_repack_callbacks *callbacks,
		     bool (*pace)(uint64_t bytes, void *priv),
		     struct e4l_repack_result *result)
{
	struct e4l_online o = {
		.e = e, .root_fd = -1, .uid = geteuid(),
		.ways = {
			.limits = &o.run.limits, .cb = &o.run.cb,
			.pace = pace, .result = result,
			.journal = ext2fs_has_feature_journal(e->fs->super),
			.donor.file.fd = -1,
			.behind = { .failed = e4l_online_failed, .priv = &o },
		},
	};
	const struct e4l_hold *hold = e4l_hold_of(e);
	errcode_t err, err2;

	e4l_fail(e, 0, NULL, 0, 0);
	err = e4l_run_begin(e, what, limits, callbacks, result, &o.run);
	err2 = hold && !err ? e4l_refuse_errors(e->fs, hold) : 0;
	if (!err)
		err = err2;
	o.run.scans = 1;
	if (!err && is_offline_only(what))
		err = E4L_ET_OPTION;
	if (!err)
		err = e4l_candidates_begin(&o.candidates, e, &o.run);
	if (!err)
		err = run(&o, mount_point);
	end(&o);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "repacking the mounted filesystem", 0, 0);
	return err;
}
