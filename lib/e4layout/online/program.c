/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "program.h"
#include "e4layout/base/array.h"

/*
 * Limits of binfmt_misc, in bytes: the longest magic number, and the longest
 * line that has a magic number in hexadecimal.
 */
#define MAGIC_BYTES	128
#define LINE_BYTES	(2 * MAGIC_BYTES + 32)

static size_t parse_hex(const char *text, unsigned char *bytes)
{
	unsigned int byte;
	size_t n = 0;

	for (; n < MAGIC_BYTES && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		bytes[n] = (unsigned char)byte;
	return n;
}

/*
 * A format of executable files, as read from the format's file in binfmt_misc.
 */
struct parsed {
	size_t offset, n_magic, n_mask;
	bool enabled, extension;
	unsigned char magic[MAGIC_BYTES], mask[MAGIC_BYTES];
};

static void parse_line(const char *line, struct parsed *f)
{
	if (!strncmp(line, "enabled", 7))
		f->enabled = true;
	else if (!strncmp(line, "extension ", 10))
		f->extension = true;
	else if (!strncmp(line, "offset ", 7))
		f->offset = strtoul(line + 7, NULL, 10);
	else if (!strncmp(line, "magic ", 6))
		f->n_magic = parse_hex(line + 6, f->magic);
	else if (!strncmp(line, "mask ", 5))
		f->n_mask = parse_hex(line + 5, f->mask);
}

static errcode_t add_format(struct e4l_programs *p, const struct parsed *f)
{
	unsigned char *bytes = malloc(2 * f->n_magic + 1);
	errcode_t err = e4l_grow(&p->v, p->n, sizeof(*p->v));

	if (err || !bytes) {
		free(bytes);
		return ENOMEM;
	}
	memcpy(bytes, f->magic, f->n_magic);
	memset(bytes + f->n_magic, 0xff, f->n_magic);
	if (f->n_mask == f->n_magic)
		memcpy(bytes + f->n_magic, f->mask, f->n_magic);
	p->v[p->n++] = (struct e4l_format) {
		.offset = f->offset, .len = f->n_magic, .magic = bytes,
		.mask = bytes + f->n_magic,
	};
	return 0;
}

static errcode_t read_format(struct e4l_programs *p, FILE *file)
{
	struct parsed f = { 0 };
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), file))
		parse_line(line, &f);
	if (!f.enabled)
		return 0;
	p->by_name |= f.extension;
	return f.n_magic ? add_format(p, &f) : 0;
}

static bool is_format(const char *name)
{
	return name[0] != '.' && strcmp(name, "register") &&
	       strcmp(name, "status");
}

errcode_t e4l_programs_read(struct e4l_programs *p, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	errcode_t err = 0;
	char name[300];
	FILE *file;

	*p = (struct e4l_programs) { 0 };
	while (dir && !err && (d = readdir(dir))) {
		if (!is_format(d->d_name) ||
		    snprintf(name, sizeof(name), "%s/%s", path, d->d_name) >=
		    (int)sizeof(name))
			continue;
		file = fopen(name, "re");
		if (!file)
			continue;
		err = read_format(p, file);
		fclose(file);
	}
	if (dir)
		closedir(dir);
	return err;
}

void e4l_programs_free(struct e4l_programs *p)
{
	while (p->n)
		free(p->v[--p->n].magic);
	free(p->v);
	p->v = NULL;
}

static bool matches(const struct e4l_format *f, const unsigned char *head,
		    size_t len)
{
	size_t i;

	if (f->offset > len || f->len > len - f->offset)
		return false;
	for (i = 0; i < f->len; i++)
		if ((head[f->offset + i] ^ f->magic[i]) & f->mask[i])
			return false;
	return true;
}

bool e4l_is_program(const struct e4l_programs *p, const unsigned char *head,
		    size_t len)
{
	size_t i;

	if (p->by_name || (len >= 4 && !memcmp(head, "\177ELF", 4)) ||
	    (len >= 2 && !memcmp(head, "#!", 2)))
		return true;
	for (i = 0; i < p->n; i++)
		if (matches(&p->v[i], head, len))
			return true;
	return false;
}
