/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * program: detects files that the kernel could execute.  A run should not open
 * such files for writing, because execve(2) fails with ETXTBSY while a file is
 * open for writing.
 */
#ifndef E4L_PROGRAM_H
#define E4L_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <et/com_err.h>

/* A format registered with binfmt_misc. */
struct e4l_format {
	size_t offset, len;
	unsigned char *magic, *mask;	/* @len bytes each, allocated together */
};

struct e4l_programs {
	struct e4l_format *v;
	size_t n;
	bool by_name;	/* some formats are identified by file name */
};

/*
 * Reads the registered formats from the directory @path; if the directory
 * cannot be read, there are no formats.  Call e4l_programs_free() also after an
 * error.  Errors: ENOMEM.
 */
errcode_t e4l_programs_read(struct e4l_programs *p, const char *path);
void e4l_programs_free(struct e4l_programs *p);

/*
 * Whether a file with an execute permission that begins with the @len bytes
 * @head could be executed: ELF, "#!", or a registered format.  If any format is
 * identified by file name, every file could be executed.
 */
bool e4l_is_program(const struct e4l_programs *p, const unsigned char *head,
		    size_t len);

#define E4L_BINFMT_MISC "/proc/sys/fs/binfmt_misc"

#endif
