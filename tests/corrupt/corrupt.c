/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt --list IMAGE
 *	prints all cases, one per line: number, structure and place, field,
 *	value, state of the checksums, and the written bytes in hexadecimal
 * corrupt --apply N IMAGE
 *	applies case N
 * corrupt --check IMAGE
 *	compares all checksums in the image with those that seal.c computes
 * corrupt --random SEED N IMAGE
 *	prints N random cases, in the format of --list
 * corrupt --set CHANGE... IMAGE
 *	changes fields of the image; see set.c
 * corrupt --where STRUCTURE IMAGE
 *	prints the byte at which the block or inode of STRUCTURE begins
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "corrupt.h"

void die_if(errcode_t err, const char *doing)
{
	if (!err)
		return;
	fprintf(stderr, "corrupt: %s: %s\n", doing, error_message(err));
	exit(1);
}

/* ---- the image ---- */

void put(struct corpus *c, uint64_t at, const void *bytes, uint32_t len)
{
	struct edit *e = &c->edits[c->n_edits++];

	if (c->n_edits > MAX_EDITS || len > sizeof(e->old) ||
	    at + len > c->bytes)
		die_if(EINVAL, "an edit");
	e->at = at;
	e->len = len;
	memcpy(e->old, c->img + at, len);
	memcpy(c->img + at, bytes, len);
}

void undo_case(struct corpus *c)
{
	while (c->n_edits) {
		struct edit *e = &c->edits[--c->n_edits];

		memcpy(c->img + e->at, e->old, e->len);
	}
}

/* Whether any edit from index @first on has changed a byte. */
static bool changed(const struct corpus *c, unsigned int first)
{
	for (; first < c->n_edits; first++) {
		const struct edit *e = &c->edits[first];

		if (memcmp(c->img + e->at, e->old, e->len))
			return true;
	}
	return false;
}

void try_bytes(struct corpus *c, const struct site *s, const char *field,
	       uint64_t at, uint32_t len, const void *bytes, const char *value)
{
	bool sealable;

	if (c->note || !memcmp(c->img + at, bytes, len))
		return;
	put(c, at, bytes, len);
	s->seal(c, s);
	sealable = changed(c, 1) && !memcmp(c->img + at, bytes, len);
	if (sealable)
		c->emit(c, s, field, value, "sealed");
	undo_case(c);
	put(c, at, bytes, len);
	c->emit(c, s, field, value, sealable ? "stale" : "plain");
	undo_case(c);
}

/* ---- use of the cases ---- */

static void print_case(struct corpus *c, const struct site *s,
		       const char *field, const char *value, const char *mode)
{
	unsigned int i, b;

	printf("%" PRIu32 "\t%s\t%" PRIu32 "\t%s\t%s\t%s\t", c->number++,
	       s->name, s->number, field, value, mode);
	for (i = 0; i < c->n_edits; i++) {
		const struct edit *e = &c->edits[i];

		printf("%s%" PRIu64 ":", i ? "," : "", e->at);
		for (b = 0; b < e->len; b++)
			printf("%02x", c->img[e->at + b]);
	}
	putchar('\n');
}

static void write_edits(const struct corpus *c)
{
	const char *name = c->fs->device_name;
	int fd = open(name, O_WRONLY);
	unsigned int i;

	if (fd < 0)
		die_if(errno, name);
	for (i = 0; i < c->n_edits; i++) {
		const struct edit *e = &c->edits[i];

		if (pwrite(fd, c->img + e->at, e->len, e->at) != e->len)
			die_if(errno ? errno : EIO, name);
	}
	if (close(fd))
		die_if(errno, name);
}

static void apply_case(struct corpus *c, const struct site *s,
		       const char *field, const char *value, const char *mode)
{
	if (c->number++ != c->wanted)
		return;
	write_edits(c);
	printf("%s %" PRIu32 ": %s=%s (%s)\n", s->name, s->number, field,
	       value, mode);
	exit(0);
}

/*
 * Checks that seal.c does not change the checksum of a structure in a sound
 * image.  Skips inodes that were never used, because they have no checksum.
 */
static void check_case(struct corpus *c, const struct site *s,
		       const char *field, const char *value, const char *mode)
{
	unsigned int i;

	c->number++;
	undo_case(c);
	if (!strcmp(s->name, "inode-free"))
		return;
	s->seal(c, s);
	for (i = 0; i < c->n_edits; i++) {
		const struct edit *e = &c->edits[i];

		if (!memcmp(c->img + e->at, e->old, e->len))
			continue;
		fprintf(stderr, "corrupt: %s %" PRIu32 ": the checksum at %"
			PRIu64 " is not what is computed\n", s->name,
			s->number, e->at);
		exit(1);
	}
}

static void load(struct corpus *c, const char *name)
{
	struct stat st;
	int fd = open(name, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		die_if(errno, name);
	c->bytes = st.st_size;
	c->img = malloc(c->bytes);
	if (!c->img || read(fd, c->img, c->bytes) != st.st_size)
		die_if(errno ? errno : EIO, name);
	close(fd);
	die_if(ext2fs_open(name, EXT2_FLAG_64BITS, 0, 0, unix_io_manager,
			   &c->fs), name);
	die_if(ext2fs_read_bitmaps(c->fs), name);
}

int main(int argc, char **argv)
{
	struct corpus c = { 0 };

	add_error_table(&et_ext2_error_table);
	if (argc == 3 && !strcmp(argv[1], "--list")) {
		c.emit = print_case;
	} else if (argc == 3 && !strcmp(argv[1], "--check")) {
		c.emit = check_case;
	} else if (argc == 4 && !strcmp(argv[1], "--apply")) {
		c.emit = apply_case;
		c.wanted = strtoul(argv[2], NULL, 10);
	} else if (argc == 5 && !strcmp(argv[1], "--random")) {
		c.emit = print_case;
	} else if (argc < 4 || (strcmp(argv[1], "--set") &&
				strcmp(argv[1], "--where"))) {
		fputs("Usage: corrupt --list|--check|--apply N|--random SEED N|"
		      "--set CHANGE...|--where STRUCTURE IMAGE\n", stderr);
		return 2;
	}
	load(&c, argv[argc - 1]);
	if (!strcmp(argv[1], "--where")) {
		printf("%" PRIu64 "\n", where_is(&c, argv[2]));
	} else if (!c.emit) {
		set_fields(&c, argv + 2, argc - 3);
		write_edits(&c);
	} else if (argc == 5) {
		try_randomly(&c, strtoull(argv[2], NULL, 10),
			     strtoul(argv[3], NULL, 10));
	} else {
		try_image(&c);
	}
	ext2fs_close_free(&c.fs);
	free(c.img);
	if (c.emit == apply_case)
		die_if(EINVAL, "no such case");
	return 0;
}
