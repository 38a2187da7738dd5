/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions that repeat pread(2) or pwrite(2) until all bytes are transferred,
 * also after an interruption by a signal.
 */
#ifndef E4L_FULL_IO_H
#define E4L_FULL_IO_H

#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

/*
 * Reads @len bytes at byte @at of the file.  Returns 0, an errno value, or, if
 * the file has fewer bytes, @at_end.
 */
errcode_t e4l_read_full(int fd, void *buf, size_t len, uint64_t at,
			errcode_t at_end);

/* Writes @len bytes at byte @at of the file.  Returns 0 or an errno value. */
errcode_t e4l_write_full(int fd, const void *buf, size_t len, uint64_t at);

#endif
