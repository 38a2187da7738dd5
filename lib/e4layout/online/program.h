/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * program: detects files that the kernel could execute.  A run should not open
 * a program for writing: while a file is open for writing, execve(2) of the
 * file fails with ETXTBSY.
 */
#ifndef E4L_PROGRAM_H
#define E4L_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <et/com_err.h>

/* A format of executable files that is registered with binfmt_misc. */
struct e4l_format {
	size_t offset, len;
	/*
	 * A file has the format if its bytes from @offset on equal @magic in
	 * all bits that are set in @mask.  @magic and @mask have @len bytes
	 * each, in one allocation.
	 */
	unsigned char *magic, *mask;
};

struct e4l_programs {
	struct e4l_format *v;
	size_t n;
	/*
	 * a registered format applies to files with a certain file name
	 * extension
	 */
	bool by_name;
};

/*
 * Reads the formats registered with binfmt_misc from the directory @path.  If
 * the directory cannot be read, *@p has no formats.  The caller calls
 * e4l_programs_free() even after an error.  Errors: ENOMEM.
 */
errcode_t e4l_programs_read(struct e4l_programs *p, const char *path);
void e4l_programs_free(struct e4l_programs *p);

/*
 * Returns whether the kernel could execute a file that has an execute
 * permission and begins with the @len bytes @head.  The kernel executes ELF
 * files, files that begin with "#!", and registered formats.  If a registered
 * format is identified by file name, returns true for all files.
 */
bool e4l_is_program(const struct e4l_programs *p, const unsigned char *head,
		    size_t len);

#define E4L_BINFMT_MISC "/proc/sys/fs/binfmt_misc"

#endif
