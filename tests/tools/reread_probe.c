/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reread_probe IMAGE OFFSET: repacks an image.  After the first scan, copies
 * standard input to OFFSET in the image.  If standard input is empty, truncates
 * the image at OFFSET.  Prints the error and the number of transactions.
 */
#include "config.h"
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <e4layout/e4layout.h>

struct probe {
	int fd;
	off_t offset;
	char buf[65536];
	ssize_t bytes;
};

static void on_progress(bool writing, uint64_t done, uint64_t total, void *priv)
{
	const struct probe *p = priv;

	if (writing || done < total)
		return;
	if (p->bytes ? pwrite(p->fd, p->buf, p->bytes, p->offset) != p->bytes :
		       ftruncate(p->fd, p->offset))
		err(2, "cannot spoil the image");
}

int main(int argc, char **argv)
{
	struct probe p = { .offset = argc == 3 ? atoll(argv[2]) : 0 };
	const struct e4l_repack_what what = {
		.flags = E4L_REPACK_FILES | E4L_REPACK_TREES,
	};
	const struct e4l_repack_limits limits = {
		.copy_blocks = E4L_NO_LIMIT, .zero_blocks = E4L_NO_LIMIT,
		.zero_extent_blocks = 16, .mem_bytes = 1,
	};
	const struct e4l_repack_callbacks callbacks = {
		.progress = on_progress, .priv = &p,
	};
	struct e4l_repack_result result = { 0 };
	struct e4l *e = NULL;
	ext2_filsys fs;
	char text[160];
	errcode_t fail;

	if (argc != 3)
		errx(2, "usage: reread_probe IMAGE OFFSET");
	p.fd = open(argv[1], O_WRONLY);
	p.bytes = read(0, p.buf, sizeof(p.buf));
	if (p.fd < 0 || p.bytes < 0)
		err(2, "%s", argv[1]);
	fail = ext2fs_open2(argv[1], "cache=off", EXT2_FLAG_64BITS |
			    EXT2_FLAG_RW, 0, 0, unix_io_manager, &fs);
	if (fail)
		errx(2, "%s: cannot open", argv[1]);
	fail = e4l_new(fs, &e);
	if (!fail)
		fail = e4l_repack(e, &what, &limits, &callbacks, &result);
	if (fail)
		printf("%s: %s\n", e4l_detail_text(e, text, sizeof(text)),
		       error_message(fail));
	printf("transactions %llu\n",
	       (unsigned long long)result.done.transactions);
	e4l_free(e);
	ext2fs_free(fs);
	return fail ? 1 : 0;
}
