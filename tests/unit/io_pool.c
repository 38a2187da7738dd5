/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/base/io_pool.h"
#include "unit.h"

#define BLOCKS 4096u
#define BLOCKSIZE 1024u

/*
 * A device whose blocks begin with their own numbers.  The io_manager of the
 * device cannot read block @bad.
 */
static blk64_t bad;

static errcode_t fake_read(io_channel io, unsigned long long blk, int count,
			   void *data)
{
	char *p = data;

	ck_assert_uint_le(blk + count, BLOCKS);
	for (; count; count--, blk++, p += BLOCKSIZE) {
		uint64_t number = blk;

		if (blk == bad)
			return EIO;
		memset(p, 0, BLOCKSIZE);
		memcpy(p, &number, sizeof(number));
	}
	return 0;
}

static int written; /* count of the last request; negative: bytes, not blocks */

static errcode_t fake_write(io_channel io, unsigned long long blk, int count,
			    const void *data)
{
	written = count;
	return 0;
}

static struct struct_io_manager fake_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER, .read_blk64 = fake_read,
	.write_blk64 = fake_write,
};
static struct struct_io_channel fake_channel = {
	.magic = EXT2_ET_MAGIC_IO_CHANNEL, .manager = &fake_manager,
	.block_size = BLOCKSIZE,
};
static struct struct_ext2_filsys fake_fs = {
	.io = &fake_channel, .blocksize = BLOCKSIZE,
};

static void setup(struct e4l *e, unsigned int threads)
{
	memset(e, 0, sizeof(*e));
	e->fs = &fake_fs;
	e->threads = threads;
	e->reading = e4l_reading_for(false);
	pthread_mutex_init(&e->io_lock, NULL);
	pthread_mutex_init(&e->detail_lock, NULL);
	bad = BLOCKS;
}

/* ------------------------------------------------------------------- gather */

struct visits {
	unsigned int *count;	/* number of calls for each slot */
	blk64_t last;
	unsigned int failed;
};

static void visit(const struct e4l_want *want, const void *block,
		  errcode_t why, void *priv)
{
	struct visits *v = priv;

	ck_assert_uint_ge(want->blk, v->last);
	v->last = want->blk;
	v->count[want->slot]++;
	if (want->blk == bad) {
		ck_assert_ptr_null(block);
		ck_assert_int_eq(why, EIO);
		v->failed++;
		return;
	}
	ck_assert_ptr_nonnull(block);
	ck_assert_uint_eq(*(const uint64_t *)block, want->blk);
}

static void gather(struct e4l *e, size_t n, const blk64_t *blks,
		   struct visits *v)
{
	struct e4l_want *wants = calloc(n, sizeof(*wants));
	void *scratch = malloc(E4L_GATHER_BYTES);
	size_t i;

	for (i = 0; i < n; i++)
		wants[i] = (struct e4l_want) { .blk = blks[i], .slot = i };
	v->count = calloc(n, sizeof(*v->count));
	e4l_gather(e, wants, n, scratch, visit, v);
	for (i = 0; i < n; i++)
		ck_assert_uint_eq(v->count[i], 1);
	free(v->count);
	free(wants);
	free(scratch);
}

START_TEST(gathers_random_blocks)
{
	blk64_t blks[500];
	struct visits v = { 0 };
	struct e4l e;
	size_t i;

	setup(&e, 1);
	srand(_i);
	for (i = 0; i < 500; i++)
		blks[i] = rand() % BLOCKS; /* some blocks are requested twice */
	bad = blks[_i];
	gather(&e, 500, blks, &v);
	ck_assert_uint_ge(v.failed, 1);
}
END_TEST

START_TEST(coalesces_neighbours)
{
	blk64_t near[] = { 10, 1, 0, 5, 2 }, far[] = { 0, 2000, 4000 };
	struct visits v = { 0 };
	struct e4l e;

	setup(&e, 1);
	gather(&e, 5, near, &v);
	ck_assert_uint_eq(e.reads, 1);
	ck_assert_uint_eq(e.read_bytes, 11 * BLOCKSIZE);
	v.last = 0;
	gather(&e, 3, far, &v);
	ck_assert_uint_eq(e.reads, 4);
	ck_assert_uint_eq(e.read_bytes, 14 * BLOCKSIZE);
}
END_TEST

/* One read never has more than E4L_GATHER_BYTES. */
START_TEST(splits_long_runs)
{
	size_t n = 3 * E4L_GATHER_BYTES / BLOCKSIZE, i;
	blk64_t *blks = calloc(n, sizeof(*blks));
	struct visits v = { 0 };
	struct e4l e;

	setup(&e, 1);
	e.reading = e4l_reading_for(true);
	for (i = 0; i < n; i++)
		blks[i] = i;
	gather(&e, n, blks, &v);
	ck_assert_uint_eq(e.reads, 3);
	free(blks);
}
END_TEST

/* ----------------------------------------------------------------- pipeline */

#define JOBS 1000

struct count {
	struct e4l *e;
	int next, done, inits, releases;
	int fail_work, fail_done, fail_init, interrupt_at;
	atomic_int in_done;
};

static errcode_t count_init(void *job, void *priv)
{
	struct count *c = priv;

	c->inits++;
	return c->inits == c->fail_init ? ENOMEM : 0;
}

static void count_release(void *job, void *priv)
{
	((struct count *)priv)->releases++;
}

static bool count_next(void *job, void *priv)
{
	struct count *c = priv;

	if (c->next == c->interrupt_at)
		e4l_interrupt(c->e);
	*(int *)job = c->next;
	return c->next++ < JOBS;
}

static errcode_t count_work(void *job, void *priv)
{
	int n = *(int *)job;

	if (n % 7 == 0)
		usleep(10);
	*(int *)job = n + JOBS;
	return n == ((struct count *)priv)->fail_work ? EDOM : 0;
}

static errcode_t count_done(void *job, void *priv)
{
	struct count *c = priv;

	ck_assert_int_eq(atomic_fetch_add(&c->in_done, 1), 0);
	ck_assert_int_eq(*(int *)job, JOBS + c->done);
	atomic_fetch_sub(&c->in_done, 1);
	return c->done++ == c->fail_done ? ERANGE : 0;
}

static errcode_t count_run(struct count *c, unsigned int threads)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(int), .init = count_init,
		.release = count_release, .next = count_next,
		.work = count_work, .done = count_done,
	};
	struct e4l e;
	errcode_t err;

	setup(&e, threads);
	c->e = &e;
	err = e4l_pipe_run(&e, &ops, c);
	ck_assert_int_eq(c->inits, c->releases);
	return err;
}

#define COUNT_NEVER -1, -1, 0, -1

static const unsigned int threads[] = { 1, 2, 4, 16 };

START_TEST(pipe_keeps_the_order)
{
	struct count c = { NULL, 0, 0, 0, 0, COUNT_NEVER, 0 };

	ck_assert_int_eq(count_run(&c, threads[_i]), 0);
	ck_assert_int_eq(c.done, JOBS);
}
END_TEST

START_TEST(pipe_fails_in_order)
{
	struct count w = { NULL, 0, 0, 0, 0, COUNT_NEVER, 0 }, d = w, i = w;

	w.fail_work = 500;
	ck_assert_int_eq(count_run(&w, threads[_i]), EDOM);
	ck_assert_int_eq(w.done, 500);
	d.fail_done = 500;
	ck_assert_int_eq(count_run(&d, threads[_i]), ERANGE);
	ck_assert_int_eq(d.done, 501);
	i.fail_init = 1;
	ck_assert_int_eq(count_run(&i, threads[_i]), ENOMEM);
	ck_assert_int_eq(i.done, 0);
}
END_TEST

START_TEST(pipe_is_interrupted)
{
	struct count c = { NULL, 0, 0, 0, 0, COUNT_NEVER, 0 };

	c.interrupt_at = 300;
	ck_assert_int_eq(count_run(&c, threads[_i]), E4L_ET_INTERRUPTED);
	ck_assert_int_lt(c.done, 320);
}
END_TEST

/*
 * Writes of a few blocks bypass a cache that would write each block separately.
 */
START_TEST(writes_at_once)
{
	char data[8 * BLOCKSIZE] = { 0 };
	struct e4l e;
	int n;

	setup(&e, 2);
	for (n = 1; n <= 8; n++) {
		ck_assert_int_eq(e4l_write(&e, 100, n, data), 0);
		ck_assert_int_eq(written, -n * (int)BLOCKSIZE);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("io_pool");
	TCase *tc = tcase_create("gather");

	tcase_add_loop_test(tc, gathers_random_blocks, 0, 20);
	tcase_add_test(tc, coalesces_neighbours);
	tcase_add_test(tc, splits_long_runs);
	tcase_add_test(tc, writes_at_once);
	suite_add_tcase(suite, tc);
	tc = tcase_create("pipeline");
	tcase_add_loop_test(tc, pipe_keeps_the_order, 0, 4);
	tcase_add_loop_test(tc, pipe_fails_in_order, 0, 4);
	tcase_add_loop_test(tc, pipe_is_interrupted, 0, 4);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
