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
#include <e4layout/e4layout.h>

/*
 * Opens the filesystem in the @size bytes at @data, which are borrowed until
 * mem_io_close().  If the filesystem cannot be opened, returns NULL.
 */
struct e4l *mem_io_open(const uint8_t *data, size_t size, ext2_filsys *fs);
void mem_io_close(struct e4l *e, ext2_filsys fs);

#endif
