/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check, for programs that have written a filesystem. */
#ifndef E4CHECK_VERIFY_H
#define E4CHECK_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Checks the filesystem on @name, @offset_bytes behind the start, which nobody
 * has open.  False after saying what is wrong with it, or why it cannot be
 * checked.
 */
bool verify(const char *name, uint64_t offset_bytes);

#endif
