/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the image to its file or device. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/fd.h"
#include "e4layout/base/full_io.h"
#include "e4layout/base/stat.h"
#include "e4layout/populate/like.h"
#include "mke4fs_dm_verity.h"
#include "mke4fs_image.h"
#include "support/interrupt.h"
#include "support/progress.h"
#include "support/say.h"
#include "support/target.h"

#define COPY_BYTES (4u << 20)

struct target_file {
	int fd, direct_fd;
	/*
	 * this run has created the file, and removes the file after a failure
	 */
	bool is_new;
};

static bool open_target(const char *name, bool create, struct target_file *tf)
{
	struct stat st;

	tf->is_new = create && e4l_stat(name, &st);
	tf->fd = open(name, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0666);
	if (tf->fd < 0) {
		say_error(name, "cannot open", errno);
		return false;
	}
	/* O_DIRECT avoids a copy in the page cache. */
	tf->direct_fd = open(name, O_WRONLY | O_CLOEXEC | O_DIRECT);
	return true;
}

static bool close_target(const char *name, struct target_file *tf, bool done)
{
	if (done && fsync(tf->fd)) {
		say_write_error(name, name, "writing", errno);
		done = false;
	}
	e4l_close_fd(tf->direct_fd);
	close(tf->fd);
	if (!done && tf->is_new)
		unlink(name);
	return done;
}

/*
 * Copies the prototype, except its holes, to @fd.  The prototype contains the
 * metadata from mke2fs and libext2fs.  Returns false after printing an error.
 */
static bool copy_prototype(const struct image *im, int fd)
{
	char *buf = malloc(COPY_BYTES);
	off_t at, hole = 0;
	ssize_t n = buf ? 0 : -1;

	while (n >= 0 && (at = lseek(im->proto_fd, hole, SEEK_DATA)) >= 0) {
		hole = lseek(im->proto_fd, at, SEEK_HOLE);
		for (; n >= 0 && at < hole; at += n) {
			n = hole - at < COPY_BYTES ? hole - at : COPY_BYTES;
			n = pread(im->proto_fd, buf, n, at);
			if (n > 0)
				n = pwrite(fd, buf, n, at);
			if (n == 0) {
				errno = EIO;
				n = -1;
			}
		}
	}
	if (n < 0 || errno != ENXIO)
		say_write_error(im->name, im->name, "copying the metadata",
				errno);
	free(buf);
	return n >= 0 && errno == ENXIO;
}

/* ------------------------------------------------------------------ filling */

static void show_progress(uint64_t done, uint64_t total, void *priv)
{
	progress_update(priv, done, total, 0);
}

/* Prints the error of writing @im.  Returns false. */
static bool say_failure(const struct config *c, struct e4l_tree *t,
			const struct image *im, const struct e4l *e,
			errcode_t err)
{
	const char *where = e4l_tree_where(t);
	char what[160];

	e4l_detail_text(e, what, sizeof(what));
	if (*where)
		say_error(source_name(c, t), where, err);
	else
		say_write_error(im->name, im->name, *what ? what : "writing",
				err);
	return false;
}

/*
 * Writes the contents of the planned image @im to @tf.  Returns false after
 * printing an error.
 */
static bool write_content(const struct config *c, struct e4l_tree *t,
			  struct image *im, struct target_file *tf)
{
	struct progress progress;
	struct e4l_populate_target target = {
		.fd = tf->fd, .direct_fd = tf->direct_fd,
		.progress = show_progress, .priv = &progress,
	};
	errcode_t err;

	progress_start(&progress, &c->common, "writing");
	err = e4l_populate_write(im->plan, &target);
	progress_end(&progress);
	e4l_populate_get_stats(im->plan, &im->stats);
	if (!err)
		return !c->source_fs || target_is_ours(c->source_fs);
	return say_failure(c, t, im, im->e, err);
}

/*
 * Makes SIGINT and SIGTERM interrupt @e, so that mke4fs cleans up before the
 * process ends.  Returns false after printing an error.
 */
static bool hear_signals(const char *name, struct e4l *e, struct interrupt *in)
{
	errcode_t err = interrupt_start(in, e);

	if (err)
		say_error(name, "waiting for signals", err);
	return !err;
}

static const char no_super[SUPERBLOCK_SIZE];

static errcode_t write_super(const struct config *c, int fd,
			     const char super[SUPERBLOCK_SIZE])
{
	return e4l_write_full(fd, super, SUPERBLOCK_SIZE,
			      c->offset_bytes + SUPERBLOCK_OFFSET);
}

/*
 * Copies the superblock of the prototype to @super, and overwrites the
 * superblock in the prototype with zeroes.  Returns false after printing an
 * error.
 */
static bool take_super(const struct config *c, const struct image *im,
		       char super[SUPERBLOCK_SIZE])
{
	errcode_t err = e4l_read_full(im->proto_fd, super, SUPERBLOCK_SIZE,
				      c->offset_bytes + SUPERBLOCK_OFFSET, EIO);

	if (!err)
		err = write_super(c, im->proto_fd, no_super);
	if (err)
		say_error(im->name, "preparing the superblock", err);
	return !err;
}

/*
 * Writes the superblock last, so that an incomplete new image does not look
 * like a filesystem.  Returns false after printing an error.
 */
static bool put_super(const struct config *c, int fd,
		      const char super[SUPERBLOCK_SIZE])
{
	errcode_t err = fsync(fd) ? errno : write_super(c, fd, super);

	if (err)
		say_write_error(c->device, c->device, "writing the superblock",
				err);
	return !err;
}

/*
 * Writes the image @im to @tf.  First copies the prototype (the filesystem that
 * mke2fs made in memory), because the contents of files overwrite some of its
 * blocks.  Returns false after printing an error.
 */
static bool write_new(const struct config *c, struct e4l_tree *t,
		      struct image *im, struct target_file *tf)
{
	char super[SUPERBLOCK_SIZE];

	return flush_image(c, im) && take_super(c, im, super) &&
	       copy_prototype(im, tf->fd) &&
	       (!fills(c) || write_content(c, t, im, tf)) &&
	       put_super(c, tf->fd, super);
}

bool fill_new(const struct config *c, struct e4l_tree *t, struct image *im)
{
	struct target_file tf;
	struct interrupt in;
	struct stat st;
	bool done;

	if (!hear_signals(im->name, im->e, &in))
		return false;
	done = open_target(c->device, true, &tf);
	if (!done)
		goto out;
	done = !e4l_fstat(im->proto_fd, &st) && !ftruncate(tf.fd, st.st_size);
	if (!done)
		say_error(c->device, "setting the size of the image", errno);
	done = done && write_new(c, t, im, &tf) &&
	       dm_verity_write(c, im, tf.fd, &in);
	/* A file that was empty before the run becomes empty again. */
	if (!done && !tf.is_new && ftruncate(tf.fd, 0))
		say_error(c->device, "emptying the incomplete image", errno);
	done = close_target(c->device, &tf, done);
out:
	interrupt_stop(&in);
	return done;
}

static bool write_like(const struct config *c, struct e4l_tree *t,
		       struct e4l_like *l, const struct target *old,
		       struct image *im, struct target_file *tf)
{
	struct progress progress;
	struct e4l_populate_target target = {
		.fd = tf->fd, .direct_fd = -1,
		.progress = show_progress, .priv = &progress,
	};
	errcode_t err;

	progress_start(&progress, &c->common, "writing");
	err = e4l_like_write(l, &target);
	progress_end(&progress);
	e4l_like_get_stats(l, &im->stats);
	if (err)
		return say_failure(c, t, im, l->e, err);
	return target_is_ours(old) &&
	       (!c->source_fs || target_is_ours(c->source_fs));
}

bool fill_like(const struct config *c, struct e4l_tree *t, struct e4l_like *l,
	       const struct target *old, struct image *im)
{
	struct target_file tf;
	bool done;

	if (!open_target(c->device, true, &tf))
		return false;
	done = write_like(c, t, l, old, im, &tf);
	/* A file that was empty before the run becomes empty again. */
	if (!done && !tf.is_new && ftruncate(tf.fd, 0))
		say_error(c->device, "emptying the incomplete image", errno);
	return close_target(c->device, &tf, done);
}

/*
 * Overwrites the superblock with zeroes, so that an incomplete filesystem
 * cannot be mounted.
 */
static void spoil(const struct config *c, int fd)
{
	errcode_t err = write_super(c, fd, no_super);

	if (err)
		say_error(c->device, "overwriting the incomplete superblock", err);
}

bool fill_device(const struct config *c, struct e4l_tree *t, struct image *im,
		 const struct target *own)
{
	struct target_file tf;
	struct interrupt in;
	bool opened, done;

	drop_image(im);
	if (!hear_signals(im->name, NULL, &in))
		return false;
	opened = format_device(c) && open_target(c->device, false, &tf);
	done = opened && plan_device(c, t, im);
	if (done) {
		interrupt_watch(&in, im->e);
		done = target_is_ours(own) && write_content(c, t, im, &tf) &&
		       target_is_ours(own) && flush_image(c, im) &&
		       dm_verity_write(c, im, tf.fd, &in);
	}
	interrupt_stop(&in);
	if (!opened)
		return false;
	if (!done && !target_is_used(own)) {
		/*
		 * libext2fs must not write after the superblock has been
		 * overwritten.
		 */
		drop_image(im);
		spoil(c, tf.fd);
	}
	return close_target(c->device, &tf, done);
}
