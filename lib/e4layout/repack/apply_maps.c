/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* apply_maps: carries out the plan for files, batch by batch. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "maps_work.h"
#include "e4layout/base/array.h"
#include "e4layout/journal/change.h"
#include "e4layout/journal/journal.h"

/*
 * maximum number of extents that e4l_maps_reread() reads, unless a single file
 * has more extents
 */
#define REREAD_EXTENTS	(256u << 10)

/* State of the execution of the plan. */
struct work {
	struct e4l_maps *m;
	struct e4l *e;
	struct e4l_apply *a;
	/*
	 * indices of the current file's first move, and of the move after the
	 * file's last move
	 */
	size_t begin, end;
};

errcode_t e4l_maps_reread(struct e4l_maps *m, struct e4l *e,
			  const struct e4l_plan_move *moves, size_t *n,
			  struct e4l_reread *ret)
{
	ext2_ino_t *inos = calloc(*n + 1, sizeof(*inos));
	uint64_t extents = 0;
	size_t i, k = 0;
	errcode_t err;

	*ret = (struct e4l_reread) { .e = e };
	if (!inos)
		return ENOMEM;
	for (i = 0; i < *n; i++) {
		if (i && moves[i].file == moves[i - 1].file)
			continue;
		extents += e4l_plan_extents(m->plan, moves[i].file);
		if (k && extents > REREAD_EXTENTS)
			break;
		inos[k++] = e4l_plan_ino(m->plan, moves[i].file);
	}
	*n = i;
	err = e4l_reread(e, inos, k, e4l_maps_is_changing(m), ret);
	free(inos);
	return err;
}

/* -------------------------------------------------------------------- steps */

static void write_progress(uint64_t blocks, void *priv)
{
	e4l_run_wrote(((struct e4l_maps *)priv)->run, blocks);
}

static bool should_stop(bool inside, void *priv)
{
	return e4l_run_stop(((struct e4l_maps *)priv)->run, inside);
}

/*
 * Records the savings of a step.  If the step is not committed, run_plan()
 * drops the record.
 */
static errcode_t note_step(struct work *w, const struct e4l_step *step)
{
	struct e4l_maps *m = w->m;
	errcode_t err = e4l_grow(&m->done, m->n_done, sizeof(*m->done));

	if (err)
		return err;
	m->done[m->n_done++] = (struct e4l_file_change) {
		.ino = step->ino,
		.extents = (int64_t)step->n_old - (int64_t)step->n_new,
		.fragments = (int64_t)step->old_fragments -
			     (int64_t)step->new_fragments,
		.tree_blocks = -e4l_step_grows(w->e->fs, step),
		.end = w->begin,
	};
	return 0;
}

static errcode_t apply_step(const struct e4l_step *step, void *priv)
{
	struct work *w = priv;
	struct e4l_repack_result *result = w->m->run->result;
	errcode_t err = e4l_apply_make_room(w->a, step, 0);

	if (err)
		return err;
	result->stopped = should_stop(false, w->m);
	if (result->stopped)
		return E4L_ET_INTERRUPTED;
	err = note_step(w, step);
	return err ? err : e4l_apply_step(w->a, step);
}

/* Applies the @n moves @v: all moves of one file in a batch. */
static errcode_t apply_file(struct work *w, const struct e4l_plan_move *v,
			    size_t n, const struct e4l_reread *r)
{
	ext2_ino_t ino = e4l_plan_ino(w->m->plan, v->file);
	struct e4l_plan_now now;
	errcode_t err;

	err = e4l_reread_find(r, ino, &now) ?
	      e4l_plan_steps(w->m->plan, v, n, &now, apply_step, w) :
	      E4L_ET_CHANGED;
	if (err == E4L_ET_CHANGED)
		e4l_fail(w->e, err, "reading a file again", ino, 0);
	if (!err && w->m->n_done)
		w->m->done[w->m->n_done - 1].end = w->end;
	return err;
}

/*
 * Applies the moves from index @i to *@end - 1, all of which belong to one
 * batch.  If the files of these moves have too many extents for one reread,
 * applies fewer moves and sets *@end to the first remaining move.
 */
static errcode_t apply_some(struct work *w, const struct e4l_plan_move *v,
			    size_t i, size_t *end)
{
	struct e4l_reread r;
	size_t n = *end - i, k;
	errcode_t err = e4l_maps_reread(w->m, w->e, v + i, &n, &r);

	*end = i + n;
	for (; i < *end && !err; i += k) {
		for (k = 1; i + k < *end && v[i + k].file == v[i].file; k++)
			;
		w->begin = i;
		w->end = i + k;
		err = apply_file(w, v + i, k, &r);
	}
	e4l_reread_free(&r);
	return err;
}

static errcode_t apply_moves(struct work *w)
{
	const struct e4l_plan_move *v;
	size_t n, i, end, batch;
	errcode_t err = 0;

	v = e4l_plan_moves(w->m->plan, &n);
	for (i = 0; i < n && !err; ) {
		for (batch = i; batch < n && v[batch].batch == v[i].batch; )
			batch++;
		for (; i < batch && !err; i = end) {
			end = batch;
			err = apply_some(w, v, i, &end);
		}
		/* the next batch may use space that this batch frees */
		if (!err)
			err = e4l_apply_commit(w->a);
	}
	if (err != E4L_ET_INTERRUPTED)
		return err;
	/*
	 * If apply_step() has set @stopped, commit the finished steps.  If
	 * @stopped is not set, a commit was interrupted: commit nothing.
	 */
	if (w->m->run->result->stopped)
		err = e4l_apply_commit(w->a);
	w->m->run->result->stopped = true;
	return err == E4L_ET_INTERRUPTED ? 0 : err;
}

/*
 * For each file whose number of tree blocks will change, checks that the quotas
 * can be updated.
 */
static errcode_t check_quota(struct e4l_maps *m, struct e4l *e,
			     struct e4l_quota *q)
{
	ext2_filsys fs = e->fs;
	struct ext2_inode *inode = malloc(EXT2_INODE_SIZE(fs->super));
	errcode_t err = inode ? 0 : ENOMEM;
	size_t i;

	for (i = 0; q && i < m->n_planned && !err; i++) {
		const struct e4l_file_change *f = &m->planned[i];

		if (!f->tree_blocks)
			continue;
		err = ext2fs_read_inode_full(fs, f->ino, inode,
					     EXT2_INODE_SIZE(fs->super));
		if (err)
			e4l_fail(e, err, "reading an inode", f->ino, 0);
		else
			err = e4l_quota_check(q, f->ino, inode,
					-f->tree_blocks *
					EXT2_CLUSTER_SIZE(fs->super));
	}
	free(inode);
	return err;
}

static void count_cost(struct e4l_maps *m, const struct e4l_apply_stats *stats)
{
	struct e4l_repack_cost *done = &m->run->result->done;

	done->copied_blocks += stats->copied_blocks;
	done->zeroed_blocks += stats->zeroed_blocks;
	done->transactions += stats->transactions;
}

/* Runs the plan, and sets m->n_done to the number of committed steps. */
static errcode_t run_plan(struct e4l_maps *m, struct e4l *e,
			  struct e4l_apply_options *opt)
{
	struct work w = { .m = m, .e = e };
	struct e4l_apply_stats stats = { 0 };
	errcode_t err = e4l_apply_open(e, opt, &w.a);

	if (!err) {
		err = apply_moves(&w);
		e4l_apply_stats(w.a, &stats);
	}
	m->n_done = stats.steps;
	count_cost(m, &stats);
	e4l_apply_close(w.a);
	return err;
}

static errcode_t apply_plan(struct e4l_maps *m, struct e4l *e)
{
	struct e4l_repack_result *result = m->run->result;
	struct e4l_discarded discarded = { 0 };
	struct e4l_apply_options opt = {
		.geo = &m->opt.geo, .part_blocks = m->opt.part_blocks,
		.progress = write_progress, .stop = should_stop, .priv = m,
	};
	errcode_t err, err2;

	err = e4l_quota_new(e, &opt.quota);
	if (!err)
		err = check_quota(m, e, opt.quota);
	if (!err)
		err = e4l_journal_open(e, e4l_run_journal(m->run, e),
				       &opt.journal);
	if (!err && e4l_run_has(m->run, E4L_REPACK_DISCARD))
		e4l_journal_discard(opt.journal, &discarded);
	if (!err)
		err = run_plan(m, e, &opt);
	err2 = e4l_journal_close(opt.journal);
	e4l_quota_free(opt.quota);
	result->done.discarded_blocks += discarded.blocks;
	if (discarded.err)
		result->discard_err = discarded.err;
	return err ? err : err2;
}

/* ---------------------------------------------- remaining work after a stop */

/*
 * @f has the savings of the steps that were not carried out.  Returns the
 * number of saved extents or, if these steps save no extent, the number of
 * saved fragments.  If these steps make the file worse to help other files,
 * returns 0.
 */
static uint64_t could_save(const struct e4l_file_change *f)
{
	int64_t saved = f->extents > 0 ? f->extents : f->fragments;

	return saved > 0 ? saved : 0;
}

/*
 * Reports, for each file, the planned savings that the committed steps have not
 * reached.
 */
static errcode_t skip_the_rest(struct e4l_maps *m)
{
	size_t n = m->n_planned + m->n_done, i, k;
	struct e4l_file_change *v = calloc(n + 1, sizeof(*v)), sum;

	if (!v)
		return ENOMEM;
	for (i = 0; i < n; i++) {
		bool done = i >= m->n_planned;

		v[i] = done ? m->done[i - m->n_planned] : m->planned[i];
		v[i].extents *= done ? -1 : 1;
		v[i].fragments *= done ? -1 : 1;
	}
	qsort(v, n, sizeof(*v), e4l_u32_cmp);
	for (i = 0; i < n; i = k) {
		sum = v[i];
		for (k = i + 1; k < n && v[k].ino == sum.ino; k++) {
			sum.extents += v[k].extents;
			sum.fragments += v[k].fragments;
		}
		e4l_run_skip(m->run, E4L_SKIP_FILE, sum.ino, E4L_SKIP_STOPPED,
			     could_save(&sum));
	}
	free(v);
	return 0;
}

/* Counts the files that have unfinished moves. */
static errcode_t count_left(const struct e4l_maps *m, uint64_t *files)
{
	const struct e4l_plan_move *v;
	size_t n, i = m->n_done ? m->done[m->n_done - 1].end : 0, k = 0;
	uint32_t *left;

	v = e4l_plan_moves(m->plan, &n);
	left = calloc(n + 1, sizeof(*left));
	*files = 0;
	if (!left)
		return ENOMEM;
	for (; i < n; i++)
		left[k++] = v[i].file;
	qsort(left, k, sizeof(*left), e4l_u32_cmp);
	for (i = 0; i < k; i++)
		*files += !i || left[i] != left[i - 1];
	free(left);
	return 0;
}

/*
 * Replaces the planned free space in the result by the actual free space, which
 * may differ.
 */
static errcode_t look_at_free_space(struct e4l_maps *m, struct e4l *e)
{
	errcode_t err;

	m->free = (struct e4l_free_histogram) { 0 };
	m->large_free = 0;
	err = e4l_free_space(e, e4l_maps_count_free, NULL, m);
	e4l_maps_set_free(m, &m->run->result->after);
	return err;
}

errcode_t e4l_maps_apply(struct e4l_maps *m, struct e4l *e)
{
	struct e4l_repack_result *result = m->run->result;
	uint64_t left = 0;
	errcode_t err, err2;

	err = apply_plan(m, e);
	if (!err && result->stopped)
		err = skip_the_rest(m);
	err2 = e4l_maps_set_after(m, m->done, m->n_done);
	if (!err)
		err = err2;
	if (!err && m->n_done)
		err = look_at_free_space(m, e);
	err2 = count_left(m, &left);
	result->files_done = err2 ? 0 : result->files_planned - left;
	return err ? err : err2;
}
