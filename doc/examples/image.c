/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * image DIRECTORY DEVICE: fills a new filesystem on DEVICE, made by mke2fs,
 * with the files of DIRECTORY, each in one fragment if possible.  After a failed
 * write, run mke2fs again.
 *
 *	cc image.c $(pkg-config --cflags --libs e4layout)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <e4layout/e4layout.h>

/* Prints the reason of a refusal or failure, and the remedy. */
static void say(const char *sentence, errcode_t err, void *device)
{
	(void)err;
	fprintf(stderr, "%s: %s\n", (const char *)device, sentence);
}

/* Writes the planned files and the metadata of the filesystem. */
static errcode_t write_all(struct e4l *e, struct e4l_populate *plan, int fd)
{
	const struct e4l_populate_target target = { .fd = fd, .direct_fd = -1 };
	errcode_t err = e4l_populate_write(plan, &target);

	if (!err)
		err = ext2fs_flush(e4l_fs(e));
	if (!err && fsync(fd))
		err = errno;
	return err;
}

static errcode_t fill(struct e4l *e, struct e4l_tree *t, int fd)
{
	const struct e4l_populate_options options = {
		.window = E4L_WINDOW_EXACT, .threads = 2, .now = time(NULL),
	};
	struct e4l_populate *plan = NULL;
	struct e4l_populate_stats stats;
	errcode_t err = ext2fs_read_bitmaps(e4l_fs(e));

	if (!err)
		err = e4l_populate_plan(e, t, &options, &plan);
	if (!err)
		err = write_all(e, plan, fd);
	if (!err) {
		e4l_populate_get_stats(plan, &stats);
		printf("%" PRIu64 " blocks of %" PRIu64 ", %" PRIu64
		       " inodes of %" PRIu64 "\n", stats.wanted_blocks,
		       stats.free_blocks, stats.wanted_inodes,
		       stats.free_inodes);
	}
	e4l_populate_free(plan);
	return err;
}

/*
 * If @err is an error, prints @err with the file that caused the error, if this
 * file is known, and returns false.  Otherwise, returns true.
 */
static bool done(errcode_t err, struct e4l_tree *t, const char *source,
		 const char *device)
{
	const char *where = err && t ? e4l_tree_where(t) : "";

	if (err && *where)
		fprintf(stderr, "%s/%s: %s\n", source, where,
			error_message(err));
	else if (err)
		fprintf(stderr, "%s: %s\n", device, error_message(err));
	return !err;
}

static bool image(struct e4l *e, const char *source, const char *device)
{
	const struct e4l_dir_options options = { .threads = 2 };
	struct e4l_tree *t;
	int fd = open(device, O_RDWR | O_CLOEXEC);
	bool filled;

	if (fd < 0)
		return done(errno, NULL, source, device);
	filled = done(e4l_tree_new(&t), NULL, source, device) &&
		 done(e4l_tree_load_dir(t, source, &options), t, source,
		      source) &&
		 done(fill(e, t, fd), t, source, device);
	e4l_tree_free(t);
	close(fd);
	return filled;
}

int main(int argc, char **argv)
{
	struct e4l_open_options options = {
		.flags = E4L_OPEN_WRITE | E4L_OPEN_UNPROTECTED, .say = say,
	};
	struct e4l *e;
	bool filled;

	if (argc != 3) {
		fprintf(stderr, "Usage: image DIRECTORY DEVICE\n");
		return 2;
	}
	options.priv = argv[2];
	if (e4l_open(argv[2], &options, &e))
		return 1;
	filled = image(e, argv[1], argv[2]);
	if (e4l_close(e))
		filled = false;
	if (fflush(stdout)) {
		perror("image: standard output");
		filled = false;
	}
	return !filled;
}
