/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shell_word: names in commands that messages recommend.  A user can paste such
 * a command into bash.
 */
#ifndef E4L_SHELL_WORD_H
#define E4L_SHELL_WORD_H

#include <stdint.h>

/*
 * Returns @name as one word of a shell command; the caller frees it.  NULL: no
 * memory.  A name without special characters is not quoted, and a name that
 * begins with '-' gets "./".  A name with a backslash or with bytes that are not
 * printable ASCII becomes $'...', with these bytes unchanged: the program that
 * prints the word must write control characters, backslashes, and invalid UTF-8
 * as \xNN, which bash decodes inside $'...'.
 */
char *e4l_shell_word(const char *name);

/*
 * As e4l_shell_word(), for the argument that names a filesystem at @offset_bytes
 * of @device to e2fsprogs.  e2fsprogs cuts a name at a '?': such a file is named
 * by a file descriptor, which the shell opens ("/dev/fd/9 9<>NAME").
 */
char *e4l_shell_filesystem(const char *device, uint64_t offset_bytes);

#endif
