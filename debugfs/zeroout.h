/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zeroout: a model of how the kernel converts unwritten extents. */
#ifndef E4DEBUG_ZEROOUT_H
#define E4DEBUG_ZEROOUT_H

#include <e4layout/extents.h>

/*
 * A file in memory.  A write changes its extents as the kernel does on a mount
 * with dioread_lock.  If an adjacent extent is written, the blocks are added to
 * that extent.  Otherwise, short unwritten ranges before and after the write
 * are zeroed by the rule of ext4_ext_convert_to_initialized(), and entries are
 * split and merged.  A merge never crosses the end of a leaf of the extent
 * tree.
 */
struct e4l_zeroout_file;

/*
 * Makes a model of a file with the @n @extents, which must be in logical order.
 * The leaves of the file's extent tree are full, as after a sequential write.
 * @eof_blk is the number of blocks up to the end of the file; a write can
 * increase it.
 *
 * Errors: E4L_ET_BAD_ARGUMENT (@extents are not in order, overlap or are too
 * long; @blocksize is invalid), ENOMEM.
 */
errcode_t e4l_zeroout_file_new(const struct e4l_extent *extents, size_t n,
			       uint32_t blocksize, uint64_t eof_blk,
			       struct e4l_zeroout_file **ret);
/* Frees @f; NULL is allowed. */
void e4l_zeroout_file_free(struct e4l_zeroout_file *f);

/*
 * Called for @len blocks that must be zeroed; @lblk is the first block's
 * position in the file.
 */
typedef void (*e4l_zero_fn)(blk64_t pblk, uint32_t lblk, uint32_t len,
			    void *priv);

/*
 * Writes @len blocks (at least 1) from @lblk on.  @max_blocks is the limit of
 * e4l_zeroout_rule(); @zero may be NULL.  Errors: E4L_ET_BAD_ARGUMENT (a part
 * of the range is a hole; nothing has changed), ENOMEM (a part of the range may
 * have been written; the file is consistent).
 */
errcode_t e4l_zeroout_file_write(struct e4l_zeroout_file *f, uint32_t lblk,
				 uint32_t len, uint32_t max_blocks,
				 e4l_zero_fn zero, void *priv);

/*
 * Returns the number of extents of @f.  If @ret is not NULL, copies the extents
 * to @ret in logical order.
 */
size_t e4l_zeroout_file_extents(const struct e4l_zeroout_file *f,
				struct e4l_extent *ret);

/*
 * The result of a write into an unwritten extent.  @len blocks from @lblk
 * become written.  The first @head and the last @tail of these blocks must be
 * zeroed.
 */
struct e4l_zeroout {
	uint32_t lblk;
	uint32_t len;
	uint32_t head;
	uint32_t tail;
};

/*
 * Applies the kernel's rule (ext4_ext_convert_to_initialized() in Linux 6.12 to
 * 6.18) to a write of @len blocks (at least 1) from @lblk, all inside the
 * unwritten extent @ex.  @max_blocks is extent_max_zeroout_kb in blocks.
 * @eof_blk is the number of blocks up to the end of the file before the write.
 *
 * Nothing is zeroed if @max_blocks is 0, if the write reaches the end of @ex,
 * or if @ex ends after @eof_blk.  Otherwise:
 *  - If the blocks from @lblk to the end of @ex are no more than @max_blocks,
 *    the tail (the blocks of @ex after the write) is zeroed.
 *  - If the blocks from the start of @ex to the end of the write (or of the
 *    tail, if the tail is zeroed) are fewer than @max_blocks, the head (the
 *    blocks of @ex before the write) is zeroed.
 * Does no I/O.
 */
void e4l_zeroout_rule(const struct e4l_extent *ex, uint32_t lblk, uint32_t len,
		      uint32_t max_blocks, uint64_t eof_blk,
		      struct e4l_zeroout *ret);

#endif
