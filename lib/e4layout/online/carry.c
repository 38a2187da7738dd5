/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * carry: carries out the plan for a mounted filesystem.  Each file is opened
 * and mapped again immediately before its moves.  A file that has changed is
 * not moved.  If the target of a file is no longer free, finish_later() moves
 * the file to other blocks at the end of the run.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "e4layout/read/runs.h"
#include "failure.h"
#include "work.h"

static void fail(struct e4l_online *o, struct e4l_candidate *c,
		 enum e4l_skip why, uint64_t extents, int error)
{
	struct e4l_repack_result *result = o->run.result;

	e4l_run_skip(&o->run, E4L_SKIP_FILE, c->ino, why, extents);
	result->failure = error;
	result->files_failed += !c->failed;
	c->failed = true;
}

void e4l_online_skip(struct e4l_online *o, struct e4l_candidate *c,
		     enum e4l_skip why, uint64_t extents)
{
	int failure = e4l_failure_errno(why);

	if (failure)
		fail(o, c, why, extents, failure);
	else if (why)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, c->ino, why, extents);
}

/*
 * Ends the moves of the file.  Reports the reason @why, unless a reason was
 * already reported for the file.
 */
static void give_up(struct e4l_online *o, struct e4l_candidate *c,
		    enum e4l_skip why, uint64_t extents)
{
	if (!c->told)
		e4l_online_skip(o, c, why, extents);
	c->told = true;
}

static struct e4l_candidate *find(const struct e4l_online *o, ext2_ino_t ino)
{
	return bsearch(&ino, o->v, o->n, sizeof(*o->v), e4l_u32_cmp);
}

/*
 * Returns the reason why the run has ended.  If the run continues, returns
 * E4L_SKIP_NONE.
 */
static enum e4l_skip ended(const struct e4l_online *o)
{
	return o->ways.broken ? E4L_SKIP_DEVICE :
	       o->run.result->stopped ? E4L_SKIP_STOPPED : E4L_SKIP_NONE;
}

void e4l_online_failed(ext2_ino_t ino, bool put_back, void *priv)
{
	struct e4l_online *o = priv;
	struct e4l_candidate *c = find(o, ino);

	o->ways.broken = true;
	if (!c)
		return;
	o->run.result->files_done -= c->done;
	/*
	 * if a reason was already reported for the file, the second report is
	 * needed only if data is lost
	 */
	fail(o, c, put_back ? E4L_SKIP_PUT_BACK : E4L_SKIP_LOST,
	     c->told && put_back ? 0 : c->moves ? c->moves : 1, EIO);
	c->done = false;
	c->told = true;
}

/* ----------------------------------------------- opening and mapping files */

/*
 * Reads the block map of the file from the kernel.  Returns E4L_SKIP_NONE, or
 * the reason why the map is incomplete or cannot be read.
 */
static enum e4l_skip map(struct e4l_open_file *f)
{
	int err = e4l_file_map(f->fd, false, f);

	if (!err && f->unsettled)
		err = e4l_file_map(f->fd, true, f);
	if (e4l_failure_skip(err))
		return e4l_failure_skip(err);
	return err ? E4L_SKIP_NOT_MAPPED :
	       f->unsettled ? E4L_SKIP_BEING_WRITTEN : E4L_SKIP_NONE;
}

/*
 * Opens and maps the file.  On failure, reports the reason and returns false.
 */
static bool open_file(struct e4l_online *o, struct e4l_candidate *c,
		      struct e4l_open_file *f)
{
	const char *path = e4l_names_path(o->names, c->ino);
	enum e4l_skip why;

	*f = (struct e4l_open_file) { .fd = -1 };
	do
		why = path ? e4l_file_open(o->root_fd, path, c->ino,
					   c->generation,
					   o->e->fs->blocksize, f) :
			     E4L_SKIP_CHANGED;
	while (e4l_behind_close_for(&o->ways.behind, e4l_failure_errno(why)));
	if (f->failure && !c->told)
		fail(o, c, why, c->moves + c->joins, f->failure);
	else if (!why)
		why = map(f);
	c->opened |= !why;
	if (!why)
		return true;
	if (!f->failure)
		give_up(o, c, why, c->moves + c->joins);
	c->told = true;
	e4l_file_close(f);
	return false;
}

/* -------------------------------------------------------------------- moves */

/*
 * Returns whether the logical blocks that @m moves still have the physical
 * blocks that they had when the plan was made.
 */
static bool is_in_place(const struct e4l_open_file *f,
			const struct e4l_plan_move *m)
{
	uint64_t first = m->lstart, end = first + m->len, from, to, len = 0;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < f->n; i++) {
		const struct e4l_extent *x = &f->ex[i];

		from = x->lblk > first ? x->lblk : first;
		to = x->lblk + (uint64_t)x->len;
		if (to > end)
			to = end;
		if (from >= to)
			continue;
		sum += e4l_place_sum(x->pblk + (from - x->lblk), to - from);
		len += to - from;
	}
	return len == m->len && sum == m->sum;
}

/*
 * Counts again how many fragments of the file could be saved, because the run
 * may have moved a part of the file.
 */
static void look_again(struct e4l_candidate *c, struct e4l_open_file *f)
{
	if (!map(f))
		c->moves = (uint32_t)e4l_count_excess(f->ex, f->n);
}

static void count_done(struct e4l_online *o, struct e4l_candidate *c)
{
	if (c->left || c->told || c->later || c->joins || c->done)
		return;
	c->done = true;
	o->run.result->files_done++;
}

/*
 * Carries out the move @m.  If the remaining moves of the file in this batch
 * must be skipped, returns false.
 */
static bool move(struct e4l_online *o, struct e4l_candidate *c,
		 struct e4l_open_file *f, const struct e4l_plan_move *m)
{
	uint64_t left = m->len;
	enum e4l_skip why;

	if (ended(o))
		return false;
	if (!is_in_place(f, m)) {
		look_again(c, f);
		/*
		 * If no fragment can be saved, another run has moved the file:
		 * report nothing.  If c->later is true, finish_later() will
		 * move the file or report a reason.
		 */
		if (c->moves && !c->later)
			give_up(o, c, E4L_SKIP_BEING_WRITTEN, c->moves);
		c->later |= !c->moves;
		return false;
	}
	if (!e4l_donor_has_room(&o->ways.donor) ||
	    !e4l_donor_fits(&o->ways.donor, m->lstart, m->to, m->len)) {
		c->later = true;
		c->left--;
		return true;
	}
	why = e4l_way_move(&o->ways, f, m->lstart, &left, m->to);
	e4l_ways_file_done(&o->ways, m->len);
	c->left -= !left;
	if (why) {
		look_again(c, f);
		give_up(o, c, why, c->moves);
	}
	return !why;
}

/* Carries out the @n moves of one file that are in one batch. */
static void move_file(struct e4l_online *o, const struct e4l_plan_move *v,
		      size_t n)
{
	struct e4l_candidate *c = find(o, e4l_plan_ino(o->plan, v->file));
	struct e4l_open_file f;
	size_t i;

	if (!c || c->told || !open_file(o, c, &f))
		return;
	for (i = 0; i < n; i++)
		if (v[i].kind == E4L_MOVE_DATA && !move(o, c, &f, &v[i]))
			break;
	if (c->left || c->later || c->told)
		look_again(c, &f);
	else
		c->moves = 0;
	e4l_file_close(&f);
	count_done(o, c);
}

/* Carries out the @n moves of one batch. */
static void move_batch(struct e4l_online *o, const struct e4l_plan_move *v,
		       size_t n)
{
	size_t i, k;

	for (i = 0; i < n && !ended(o); i += k) {
		for (k = 1; i + k < n && v[i + k].file == v[i].file; k++)
			;
		if (!e4l_ways_stop(&o->ways, 0))
			move_file(o, v + i, k);
	}
}

static void move_all(struct e4l_online *o, const struct e4l_plan_move *v,
		     size_t n)
{
	size_t i, k;

	for (i = 0; i < n && !ended(o); i += k) {
		for (k = 1; i + k < n && v[i + k].batch == v[i].batch; k++)
			;
		move_batch(o, v + i, k);
		/* the next batch may use blocks that this batch has freed */
		if (o->ways.donor.file.fd >= 0 && !ended(o))
			e4l_donor_commit(&o->ways.donor, false);
	}
}

/* ------------------------------------------ moves without a planned target */

/*
 * Finds the logical run that begins with extent @i: extents without a hole
 * between them.  Returns the number of extents of the run.  Sets *@len to the
 * number of blocks of the run before block @eof.
 */
static size_t logical_run(const struct e4l_open_file *f, size_t i, uint64_t eof,
			  uint64_t *len)
{
	size_t k;

	*len = 0;
	for (k = i; k < f->n && f->ex[k].lblk == f->ex[i].lblk + *len; k++)
		*len += f->ex[k].len;
	if (f->ex[i].lblk + *len > eof)
		*len = eof > f->ex[i].lblk ? eof - f->ex[i].lblk : 0;
	return k - i;
}

static enum e4l_skip move_anywhere(struct e4l_online *o, struct e4l_open_file *f,
				   uint64_t lblk, uint64_t len)
{
	uint64_t left = o->run.limits.copy_blocks, pblk;

	if (left != E4L_NO_LIMIT &&
	    (left < o->run.result->done.copied_blocks ||
	     left - o->run.result->done.copied_blocks < len))
		return E4L_SKIP_COPY_LIMIT;
	if (!e4l_donor_has_room(&o->ways.donor))
		return E4L_SKIP_RESERVE;
	if (!e4l_donor_find(&o->ways.donor, lblk, len, &pblk))
		return o->other_run ? E4L_SKIP_OTHER_RUN :
		       o->ways.donor.gave_blocks ? E4L_SKIP_RESERVE :
						   E4L_SKIP_NO_SPACE;
	return e4l_way_move(&o->ways, f, lblk, &len, pblk);
}

static void end_later(struct e4l_online *o, struct e4l_candidate *c)
{
	if (ended(o))
		return;
	c->later = false;
	c->left = 0;
	count_done(o, c);
}

/*
 * Returns whether the reason @why means a lack of free space, so that the file
 * may be moved after other files have moved.
 */
static bool is_space(enum e4l_skip why)
{
	return why == E4L_SKIP_NO_SPACE || why == E4L_SKIP_OTHER_RUN;
}

/*
 * Moves each fragmented logical run of the file to any free extent that is long
 * enough.  If @last is true, the run does not try the file again, so that a
 * lack of space must be reported.
 */
static void finish_file(struct e4l_online *o, struct e4l_candidate *c,
			bool last)
{
	enum e4l_skip why = E4L_SKIP_NONE, first = E4L_SKIP_NONE;
	struct e4l_open_file f;
	uint64_t len, eof;
	size_t i, k;

	if (!open_file(o, c, &f))
		return;
	eof = e4l_blocks_of(f.st.st_size, f.blocksize);
	for (i = 0; i < f.n && !ended(o); i += k) {
		k = logical_run(&f, i, eof, &len);
		why = len && e4l_count_excess(&f.ex[i], k) ?
		      move_anywhere(o, &f, f.ex[i].lblk, len) : E4L_SKIP_NONE;
		if (why)
			first = why;
	}
	look_again(c, &f);
	if (first && (last || !is_space(first)))
		give_up(o, c, first, c->moves);
	if (!first || c->told)
		end_later(o, c);
	e4l_file_close(&f);
}

static void finish_all(struct e4l_online *o, bool last)
{
	size_t i;

	for (i = 0; i < o->n && !ended(o); i++) {
		struct e4l_candidate *c = &o->v[i];

		if (!c->later || c->told)
			continue;
		if (!c->moves)
			end_later(o, c);
		else if (!e4l_ways_stop(&o->ways, 0))
			finish_file(o, c, last);
	}
}

/*
 * Moves the files whose targets were no longer free.  Repeats finish_all()
 * until no file moves.  Before each repetition, reserves free space again: the
 * blocks that moved files have left make the free extents longer.
 */
static void finish_later(struct e4l_online *o)
{
	const uint64_t *copied = &o->run.result->done.copied_blocks;
	uint64_t before;
	bool last = false;

	while (!ended(o)) {
		before = *copied;
		finish_all(o, last);
		if (last)
			break;
		last = *copied == before || o->ways.donor.file.fd < 0 ||
		       ended(o) || !e4l_online_reserve_again(o);
	}
}

/* ---------------------------------------------------------- joining extents */

static void join(struct e4l_online *o, struct e4l_candidate *c)
{
	struct e4l_zero_run *runs = NULL;
	enum e4l_skip why = E4L_SKIP_NONE;
	uint64_t left = c->joins;
	struct e4l_open_file f;
	size_t n;

	if (!open_file(o, c, &f))
		return;
	if (e4l_online_runs(o, f.st.st_size, f.ex, f.n, &runs, &n, &left))
		why = e4l_failure_skip(ENOMEM);
	else
		why = e4l_way_join(&o->ways, &f, runs, n, &left);
	free(runs);
	if (!why && left)
		why = ended(o);
	e4l_online_skip(o, c, why, left);
	c->told |= why != E4L_SKIP_NONE;
	c->joins = 0;
	e4l_file_close(&f);
	count_done(o, c);
}

static void join_all(struct e4l_online *o)
{
	size_t i;

	for (i = 0; i < o->n && !ended(o); i++)
		if (o->v[i].joins && !o->v[i].failed &&
		    !e4l_ways_stop(&o->ways, 0))
			join(o, &o->v[i]);
}

/* ------------------------------------------------------------ the whole run */

/* Looks up the paths of all files for which @wanted returns true. */
static errcode_t learn_names(struct e4l_online *o,
			     bool (*wanted)(const struct e4l_candidate *c))
{
	ext2_ino_t *inos = e4l_array_zalloc(o->n + 1, sizeof(*inos));
	errcode_t err;
	size_t i, k = 0;

	if (!inos)
		return ENOMEM;
	for (i = 0; i < o->n; i++)
		if (wanted(&o->v[i]))
			inos[k++] = o->v[i].ino;
	o->run.result->files_planned = k;
	err = k ? e4l_names_load(o->e, inos, k, &o->names) : 0;
	free(inos);
	return err;
}

static bool is_planned(const struct e4l_candidate *c)
{
	return c->left || c->later || c->joins;
}

static bool has_excess(const struct e4l_candidate *c)
{
	return c->moves || c->joins;
}

errcode_t e4l_online_learn_excess(struct e4l_online *o)
{
	return o->names ? 0 : learn_names(o, has_excess);
}

errcode_t e4l_online_skip_all(struct e4l_online *o, enum e4l_skip why)
{
	errcode_t err = e4l_online_learn_excess(o);
	struct e4l_open_file f;
	size_t i;

	for (i = 0; i < o->n && !err; i++) {
		if (!o->v[i].moves || !open_file(o, &o->v[i], &f))
			continue;
		give_up(o, &o->v[i], why, o->v[i].moves);
		e4l_file_close(&f);
	}
	return err;
}

/*
 * Counts the planned moves of each file, and looks up the paths of the files
 * that will move.
 */
static errcode_t prepare(struct e4l_online *o, const struct e4l_plan_move *v,
			 size_t n)
{
	struct e4l_candidate *c;
	size_t i;

	for (i = 0; i < n; i++) {
		c = find(o, e4l_plan_ino(o->plan, v[i].file));
		if (!c || v[i].kind != E4L_MOVE_DATA)
			continue;
		c->left++;
		o->ways.all_blocks += v[i].len;
	}
	return o->names ? 0 : learn_names(o, is_planned);
}

/*
 * If the run has ended early, reports the reason for each planned file that the
 * run has not finished.
 */
static void skip_rest(struct e4l_online *o)
{
	size_t i;

	for (i = 0; i < o->n && ended(o); i++)
		if (is_planned(&o->v[i]) && !o->v[i].done && !o->v[i].told)
			give_up(o, &o->v[i], ended(o),
				(uint64_t)o->v[i].moves + o->v[i].joins);
}

errcode_t e4l_online_carry_out(struct e4l_online *o)
{
	const struct e4l_plan_move *v;
	errcode_t err;
	size_t n;

	v = e4l_plan_moves(o->plan, &n);
	err = prepare(o, v, n);
	if (err)
		return err;
	move_all(o, v, n);
	if (o->ways.donor.file.fd >= 0 && !ended(o))
		e4l_donor_commit(&o->ways.donor, true);
	finish_later(o);
	join_all(o);
	e4l_behind_finish(&o->ways.behind);
	skip_rest(o);
	return 0;
}
