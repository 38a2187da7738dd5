/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shell_word: quotes names for commands that messages recommend, so that a user
 * can paste a command into bash.
 */
#ifndef E4L_SHELL_WORD_H
#define E4L_SHELL_WORD_H

#include <stdint.h>

/*
 * Returns @name as one word of a shell command, to be freed by the caller, or
 * NULL if there is no memory.  A name without special characters is not quoted,
 * and a name that begins with '-' gets the prefix "./".  A name with a
 * backslash or with bytes that are not printable ASCII becomes $'...', with the
 * bytes unchanged.  The program that prints the word must write control
 * characters, backslashes, and invalid UTF-8 as \xNN, which bash decodes inside
 * $'...'.
 */
char *e4l_shell_word(const char *name);

/*
 * Like e4l_shell_word(), but returns the argument that e2fsprogs needs for a
 * filesystem at @offset_bytes of @device.  e2fsprogs cuts a name at a '?'.  If
 * @device contains a '?', the argument is a file descriptor that the shell
 * opens ("/dev/fd/9 9<>NAME").
 */
char *e4l_shell_filesystem(const char *device, uint64_t offset_bytes);

#endif
