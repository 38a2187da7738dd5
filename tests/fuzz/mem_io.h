/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A read-only io_manager over bytes in memory, so that a fuzzer needs no files.
 */
#ifndef MEM_IO_H
#define MEM_IO_H

#include <stddef.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/* What the next open reads; borrowed until the channel is closed. */
void mem_io_set(const uint8_t *data, size_t size);

extern struct struct_io_manager mem_io_manager;

#endif
